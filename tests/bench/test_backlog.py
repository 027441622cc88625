"""That the run over a backlog runs and tells its figures. They decide nothing here."""

from __future__ import annotations

import asyncio
import sys

from tests.bench.test_run import BOUND_S, ROOT


async def test_a_short_run_tells_what_a_claim_takes_beside_an_almost_empty_queue() -> None:
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.backlog", "--quick"),
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
    assert "claim, ledger full" in told
    assert "times the claim of an almost empty queue" in told
