"""That a run runs and shows its table. What it measures decides nothing here."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from bench.load import Round
from bench.table import COLUMNS, REFERENCE, Line, rendered, verdicts

ROOT = Path(__file__).resolve().parents[2]
BOUND_S = 100.0


async def test_a_quick_run_measures_every_case_beside_its_peers() -> None:
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench", "--quick"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(BOUND_S):
            out, err = await run.communicate()
    finally:
        if run.returncode is None:
            run.terminate()
            await run.wait()
    assert run.returncode == 0, err.decode()
    told = out.decode()
    assert all(column in told for column in COLUMNS)
    for case in ("bare ASGI answer", "SDK echo", "heartbeat", "claim + complete", "list_todos"):
        assert f"\n{case}" in told
    assert "idle at" in told
    assert "ready after" in told


def test_a_case_is_set_against_the_sdk_at_the_same_number_of_connections() -> None:
    lines = [
        Line(REFERENCE, 1, Round([0.001] * 100, 1.0, 0.04)),
        Line(REFERENCE, 8, Round([0.004] * 200, 1.0, 0.08)),
        Line("heartbeat", 8, Round([0.002] * 500, 1.0, 0.1)),
    ]
    last = rendered(lines).splitlines()[-1].split()
    assert last == ["heartbeat", "8", "500", "2.00", "2.00", "200", "2.50", "2.00"]
    assert verdicts(lines) == [
        "reached heartbeat, 8 connections: 2.50 times the SDK's echo, wanted 2.0"
    ]


def test_the_slowest_hundredth_is_judged_where_many_sessions_are_open() -> None:
    slow = Round([0.001] * 98 + [0.05] * 2, 1.0, 0.1)
    told = verdicts([Line("heartbeat", 32, slow, crowd=1_000)])
    assert told == ["MISSED  heartbeat, 1000 sessions: p99 50.0 ms, wanted 40 or less"]
