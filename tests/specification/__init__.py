"""What the two specifications promise, and the tie from each promise to the tests that prove it."""

from tests.specification.requirements import (
    REQUIREMENTS,
    Requirement,
    Status,
    requirement,
)

__all__ = ["REQUIREMENTS", "Requirement", "Status", "requirement"]
