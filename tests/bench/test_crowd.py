"""That the run with crowds of streams runs and tells its figures. They decide nothing here."""

from __future__ import annotations

import asyncio
import sys

from tests.bench.test_run import BOUND_S, ROOT


async def test_a_short_run_tells_what_a_stream_costs_and_when_the_last_one_was_rung() -> None:
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.crowd", "--quick"),
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
    assert "KiB a session" in told
    assert "one todo rings 5 endpoints, the last one after" in told
