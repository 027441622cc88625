"""How the process ends, and what is left of it: drained, refused, killed, started again."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx

from tests.raw_agent import RawAgent, Stream
from tests.service_process import PROGRAM, ServiceProcess, run_command, serving
from tests.specification import requirement

STREAMS = 20
WRITERS = 4
ENOUGH_WRITES = 40


@requirement("SPEC-0014/concurrency/stream-ends-on-shutdown")
async def test_sigterm_with_open_streams_and_a_waiting_claim_ends_them_and_exits_0(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service, AsyncExitStack() as stack:
        vended = await service.vend("inbox")
        streams: list[Stream] = []
        for _ in range(STREAMS):
            agent = await stack.enter_async_context(RawAgent.connected(vended))
            streams.append(await stack.enter_async_context(agent.stream()))
        waiter = await stack.enter_async_context(RawAgent.connected(vended))
        waiting = await waiter.begin("claim", wait_seconds=25)
        async with asyncio.timeout(5):  # half of the grace: nothing had to be cut short
            assert await service.stop() == 0
            for stream in streams:
                await stream.ended(1.0)
            assert (await waiting).json()["result"]["structuredContent"]["empty"] is True
        assert '"event": "stopped"' in service.log()
        assert "calls_cut_short" not in service.log()


async def test_a_second_process_on_the_same_data_is_refused_and_names_the_first(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        code, _, err = await run_command(
            "serve", "--port", "0", "--data-dir", str(service.data_dir)
        )
        assert code == 1
        assert f"process {service.process.pid}" in err
        assert await service.stop() == 0


async def test_a_taken_port_is_told_in_one_line(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        other = str(tmp_path / "other")
        code, _, err = await run_command("serve", "--port", str(service.port), "--data-dir", other)
        assert code == 1
        assert err.splitlines()[-1].startswith(f"cannot listen on 127.0.0.1:{service.port}")
        assert "Traceback" not in err


async def test_after_a_clean_stop_the_next_start_takes_up_the_same_data(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        first_token = service.token
        await service.stop()
    async with serving(tmp_path) as again:
        assert again.token == first_token


async def test_after_a_kill_under_load_every_acknowledged_change_is_there(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend("inbox")
        port = service.port
        async with RawAgent.connected(vended) as agent:
            acknowledged = await _kill_under_load(service, agent)
            assert len(acknowledged["added"]) >= ENOUGH_WRITES
        async with serving(tmp_path, port=port) as again, again.operator() as operator:
            for todo_id in acknowledged["added"]:
                answer = await operator.get(f"/todos/{todo_id}")
                assert answer.status_code == 200, todo_id
            for todo_id in acknowledged["completed"]:
                todo = (await operator.get(f"/todos/{todo_id}")).json()["todo"]
                assert todo["state"] == "done"
            await _the_session_goes_on(agent, again)


@requirement("SPEC-0014/errors/no-credential-in-log", "SPEC-0014/secrets/never-emitted")
async def test_no_minted_secret_is_in_the_log_or_in_the_database(tmp_path: Path) -> None:
    async with serving(tmp_path, settings={"log_level": "debug"}) as service:
        vended = await service.vend("inbox")
        todo_id = await service.add()
        async with RawAgent.connected(vended) as agent, agent.stream() as stream:
            await stream.next_message()
            claimed = await agent.call("claim")
            secrets = [vended["credential"], service.token, claimed["lease_token"]]
            await agent.result("heartbeat", id=todo_id, lease_token="lt_" + "a" * 20)
            await agent.result("complete", id=todo_id, lease_token=claimed["lease_token"])
            listed = await agent.result("list_todos", state="done")
            wrong = await agent.http.post(
                agent.url.replace("scout", "other"), headers=agent.headers, json={}
            )
            assert wrong.status_code == 403
        shown = f"{listed} {await service.todo(todo_id)}"
        async with service.operator() as operator:
            shown += (await operator.get("/endpoints")).text
        assert await service.stop() == 0
        kept = b"".join(one.read_bytes() for one in service.data_dir.glob("switchboard.db*"))
        for secret in secrets:
            assert secret not in service.log()
            assert secret not in shown
            assert secret.encode() not in kept
        assert not re.search(r"sb[ko]_[A-Za-z0-9_-]{6,}", service.log())


def test_the_program_under_test_is_installed() -> None:
    assert PROGRAM.is_file()


async def _kill_under_load(service: ServiceProcess, agent: RawAgent) -> dict[str, list[str]]:
    """Writers that note only what was acknowledged, until the process is killed under them."""
    done: dict[str, list[str]] = {"added": [], "completed": []}
    enough = asyncio.Event()

    async def add(operator: httpx.AsyncClient) -> None:
        body: dict[str, Any] = {"title": "Survive", "queue": "inbox", "payload": "x" * 500}
        while (answer := await operator.post("/todos", json=body)).status_code == 201:
            done["added"].append(answer.json()["todo"]["id"])
            if len(done["added"]) >= ENOUGH_WRITES:
                enough.set()

    async def complete() -> None:
        while True:
            claimed = await agent.result("claim", wait_seconds=5)
            held = claimed["structuredContent"]
            await agent.call("complete", id=held["id"], lease_token=held["lease_token"])
            done["completed"].append(held["id"])

    async with service.operator() as operator:
        writers = [asyncio.create_task(add(operator)) for _ in range(WRITERS)]
        writers.append(asyncio.create_task(complete()))
        async with asyncio.timeout(30):
            await enough.wait()
        await service.kill()
        ends = await asyncio.gather(*writers, return_exceptions=True)
    assert all(isinstance(end, httpx.TransportError) for end in ends), ends
    return done


async def _the_session_goes_on(agent: RawAgent, service: ServiceProcess) -> None:
    """The same session id works in the new process, and its stream opens again."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        same = RawAgent(agent.url, agent.credential, http, agent.session)
        assert (await same.post("tools/list")).status_code == 200
        async with same.stream() as stream:
            todo_id = await service.add("After the restart", priority=100)
            ids: set[str] = set()
            while todo_id not in ids:
                ids.add((await stream.next_message())["params"]["meta"]["todo_id"])
