"""The manifest: every promise of both specifications, and the mark that ties a test to one.

The entries stand in `spec_0014.py` and `agent_transport.py`; `test_manifest.py` keeps both
directions true.
"""

from __future__ import annotations

import pytest

from tests.specification.agent_transport import AGENT_TRANSPORT
from tests.specification.entry import Requirement, Status
from tests.specification.spec_0014 import SPEC_0014

__all__ = ["REQUIREMENTS", "Requirement", "Status", "requirement"]

REQUIREMENTS: tuple[Requirement, ...] = (*SPEC_0014, *AGENT_TRANSPORT)


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Marks a test function or class as proof of the named entries.

    Ids are written as literals: the manifest test reads them from the source without running it.
    """
    return pytest.mark.requirement(*ids)
