"""What the real process does when its ledger is locked by a stranger, or its disk is full."""

from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.raw_agent import RawAgent, message_of
from tests.service_process import ServiceProcess, serving
from tests.specification import requirement

SUBMIT_BOUND_S = 10.0
SLACK_S = 5.0


@contextmanager
def locked_by_a_stranger(service: ServiceProcess) -> Generator[None]:
    """Another process is in the middle of a write."""
    stranger = sqlite3.connect(service.data_dir / "switchboard.db", isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        stranger.execute("ROLLBACK")
        stranger.close()


@contextmanager
def no_file_may_grow(service: ServiceProcess) -> Generator[None]:
    """The disk is full for this process: its log file, being shorter, has room left."""
    pid = service.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    longest = max(one.stat().st_size for one in service.data_dir.glob("switchboard.db*"))
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (longest, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def is_unavailable(result: dict[str, Any]) -> bool:
    """Whether a call was told to come again, in words that give nothing of the inside away."""
    text = json.dumps(result).lower()
    assert not any(word in text for word in ("sqlite", "database", "disk", "lock"))
    return result.get("isError") is True and (
        result["_meta"]["switchboard/error"]["code"] == "unavailable"
    )


def records_of(service: ServiceProcess, event: str) -> list[dict[str, Any]]:
    """What was logged of one event."""
    records = [json.loads(line) for line in service.log().splitlines()]
    return [record for record in records if record["event"] == event]


@requirement("SPEC-0014/errors/store-failure", "SPEC-0014/errors/structured-log")
async def test_a_ledger_locked_by_a_stranger_keeps_nobody_waiting_and_the_service_goes_on(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service, httpx.AsyncClient(trust_env=False) as probe:
        vended = await service.vend("inbox")
        held, free = await service.add("held"), await service.add("free")
        async with RawAgent.connected(vended) as agent:
            await agent.call("claim", id=held)

            with locked_by_a_stranger(service):
                began = time.monotonic()
                # The first is with the writer, which waits for the lock; the others wait for it.
                calls = [
                    await agent.begin("claim"),
                    await agent.begin("complete", id=held),
                    await agent.begin("heartbeat", id=held),
                ]
                assert len((await agent.call("list_todos"))["todos"]) == 2
                assert (await probe.get(f"{service.url}/readyz")).status_code == 200
                ends = [message_of(await call)["result"] for call in calls]
                assert time.monotonic() - began < SUBMIT_BOUND_S + SLACK_S
            assert all(is_unavailable(end) for end in ends), ends
            assert (await agent.call("claim"))["id"] == free
            assert (await agent.call("complete", id=held))["state"] == "done"
        records = records_of(service, "tool_unavailable")
        assert sorted(record["tool"] for record in records) == ["claim", "complete", "heartbeat"]
        for record in records:
            assert record["slug"] == vended["endpoint"]["slug"]
            assert record["request_id"]
            assert "StoreUnavailable" in record["exception"]
        assert "sqlite3.OperationalError: database is locked" in records[0]["exception"]
        assert await service.stop() == 0


@requirement("SPEC-0014/errors/store-failure")
async def test_a_full_disk_acknowledges_nothing_and_is_over_when_there_is_room_again(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend("inbox")
        ids = [await service.add(f"number {number}") for number in range(8)]
        async with RawAgent.connected(vended) as agent:
            for todo_id in ids:
                await agent.call("claim", id=todo_id)
            result = "x" * 60_000
            with no_file_may_grow(service):
                ends = await asyncio.gather(
                    *(agent.result("complete", id=todo_id, result=result) for todo_id in ids)
                )
                assert all(is_unavailable(end) for end in ends), ends
                assert len((await agent.call("list_todos"))["todos"]) == len(ids)
            for todo_id in ids:
                assert (await service.todo(todo_id))["state"] == "claimed"
                assert (await agent.call("complete", id=todo_id, result=result))["state"] == "done"
        records = records_of(service, "tool_unavailable")
        assert {record["todo_id"] for record in records} == set(ids)
        assert all("sqlite3.OperationalError" in record["exception"] for record in records)
        assert await service.stop() == 0
