"""The table of a run, and how far it is from what we want to be true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.load import Round

REFERENCE = "SDK echo"
MODERN_REFERENCE = "SDK echo, 2026-07-28"
MODERN = "heartbeat, 2026-07-28"
COLUMNS = ("case", "conns", "calls/s", "p50 ms", "p99 ms", "CPU µs", "× SDK", "× SDK CPU")

WANTED_RATIO = {
    "heartbeat": 2.0,
    MODERN: 1.5,
    "claim + complete": 2.0,
    "list_todos of 20": 1.5,
}
"""Calls per second against the SDK's own transport of the same era with an echo that does
nothing."""
WANTED_P99_MS = 40.0
"""At 32 connections while 1,000 sessions are open."""


@dataclass(frozen=True, slots=True)
class Line:
    """One round of one case. `crowd`: sessions that were open beside the load's own."""

    case: str
    connections: int
    measured: Round
    crowd: int = 0


def rendered(lines: Sequence[Line]) -> str:
    """The table as text."""
    rows = [COLUMNS, *(_cells(line, _reference(line, lines)) for line in lines)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS))]
    return "\n".join(_aligned(row, widths) for row in rows)


def verdicts(lines: Sequence[Line]) -> list[str]:
    """One sentence per wanted figure that this run has measured."""
    told: list[str] = []
    for line in lines:
        reference = _reference(line, lines)
        wanted = WANTED_RATIO.get(line.case)
        if line.crowd:
            reached_ms = line.measured.percentile_ms(0.99)
            told.append(
                f"{_mark(reached_ms <= WANTED_P99_MS)} {line.case}, {line.crowd} sessions: "
                f"p99 {reached_ms:.1f} ms, wanted {WANTED_P99_MS:.0f} or less"
            )
        elif wanted is not None and reference is not None:
            ratio = line.measured.calls_per_s / reference.calls_per_s
            told.append(
                f"{_mark(ratio >= wanted)} {line.case}, {line.connections} connections: "
                f"{ratio:.2f} times the SDK's echo, wanted {wanted}"
            )
    return told


def _mark(reached: bool) -> str:
    return "reached" if reached else "MISSED "


def _reference(line: Line, lines: Sequence[Line]) -> Round | None:
    reference = MODERN_REFERENCE if line.case in (MODERN, MODERN_REFERENCE) else REFERENCE
    for other in lines:
        if other.case == reference and other.connections == line.connections:
            return other.measured
    return None


def _cells(line: Line, reference: Round | None) -> tuple[str, ...]:
    one = line.measured
    ratios = ("", "")
    if reference is not None:
        ratios = (
            f"{one.calls_per_s / reference.calls_per_s:.2f}",
            f"{reference.cpu_us_per_call / max(one.cpu_us_per_call, 1e-9):.2f}",
        )
    return (
        line.case + (f", {line.crowd} sessions" if line.crowd else ""),
        str(line.connections),
        f"{one.calls_per_s:.0f}",
        f"{one.percentile_ms(0.5):.2f}",
        f"{one.percentile_ms(0.99):.2f}",
        f"{one.cpu_us_per_call:.0f}",
        *ratios,
    )


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)])
