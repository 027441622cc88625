from __future__ import annotations

import random

import pytest

from switchboard.domain.todo import BACKOFF_CAP_MS, BACKOFF_FIRST_MS, BACKOFF_JITTER, backoff_ms


class _Fixed(random.Random):
    """Always the given place between the two ends, 0 to 1."""

    def __init__(self, place: float) -> None:
        super().__init__()
        self._place = place

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self._place


@pytest.mark.parametrize(
    ("failures", "expected_ms"),
    [(1, 30_000), (2, 60_000), (3, 120_000), (4, 240_000), (5, 480_000), (6, 900_000)],
)
def test_each_failure_doubles_the_wait_up_to_fifteen_minutes(
    failures: int, expected_ms: int
) -> None:
    assert backoff_ms(failures, _Fixed(0.5)) == expected_ms


def test_a_thousandth_failure_waits_no_longer_than_the_cap() -> None:
    assert backoff_ms(1_000, _Fixed(0.5)) == BACKOFF_CAP_MS


def test_jitter_reaches_a_tenth_on_either_side() -> None:
    assert backoff_ms(1, _Fixed(0.0)) == round(BACKOFF_FIRST_MS * (1 - BACKOFF_JITTER))
    assert backoff_ms(1, _Fixed(1.0)) == round(BACKOFF_FIRST_MS * (1 + BACKOFF_JITTER))


def test_jitter_spreads_todos_that_fail_together() -> None:
    source = random.Random(7)
    waits = [backoff_ms(3, source) for _ in range(200)]
    assert all(108_000 <= wait <= 132_000 for wait in waits)
    assert len(set(waits)) > 150
