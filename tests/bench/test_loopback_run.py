"""That the run of the loopback host runs and tells its figures. They decide nothing here."""

from __future__ import annotations

import asyncio
import sys

from tests.bench.test_run import BOUND_S, ROOT

SHORT = ("--seconds", "0.1", "--rounds", "1", "--calls", "100", "--tokens", "20")


async def test_a_short_run_tells_rates_memory_and_the_price_of_a_token() -> None:
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.loopback", *SHORT),
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
    for figure in ("2025-11-25, 8", "2026-07-28, 1", "100 calls", "RS256:", "ES256:", "EdDSA:"):
        assert f"\n{figure}" in f"\n{told}"
    assert told.count("wanted: ") == 8
