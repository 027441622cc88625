"""Durations and times as people type them."""

from __future__ import annotations

import pytest

from switchboard.cli.duration import parse_duration_ms, parse_moment_ms
from tests.clocks import START_MS


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("30m", 1_800_000), ("12h", 43_200_000), ("7d", 604_800_000)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms
    assert parse_moment_ms(text, START_MS) == START_MS + ms


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "1.5h", "7 d", "7y", "٣d"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration_ms(text)


def test_a_time_is_read_with_its_offset_and_refused_without() -> None:
    assert parse_moment_ms("2026-01-02T03:04:05.678Z", 0) == START_MS
    assert parse_moment_ms("2026-01-02T04:04:05.678+01:00", 0) == START_MS
    with pytest.raises(ValueError, match="is no time"):
        parse_moment_ms("2026-01-02T03:04:05", 0)
