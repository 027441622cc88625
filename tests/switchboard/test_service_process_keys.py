"""Credentials of the real process: rotated, replaced, expired by time, and never written down."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.raw_agent import INITIALIZE, RawAgent
from tests.service_process import BOUND_S, ServiceProcess, serving
from tests.specification import requirement


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[ServiceProcess]:
    async with serving(tmp_path) as one:
        yield one


async def answered(service: ServiceProcess, *arguments: str) -> dict[str, Any]:
    """The document that a command prints for scripts; it must succeed."""
    code, out, err = await service.command(*arguments, "--json")
    assert (code, err) == (0, ""), (code, err)
    return json.loads(out)


async def test_a_vend_takes_every_option_and_answers_in_the_form_that_scripts_rely_on(
    service: ServiceProcess,
) -> None:
    vended = await answered(
        service,
        *("endpoint", "vend", "scout", "--queue", "a", "--queue", "b", "--verb", "claim"),
        *("--verb", "list_todos", "--expires", "7d", "--lease", "30m", "--protocol", "legacy"),
    )
    assert set(vended) >= {"endpoint", "url", "credential", "mcp_json"}
    endpoint = vended["endpoint"]
    assert endpoint["slug"].startswith("scout-")
    assert vended["url"] == f"{service.url}/mcp/{endpoint['slug']}"
    assert (endpoint["agent"], endpoint["state"]) == ("scout", "active")
    assert (endpoint["queues"], endpoint["verbs"]) == (["a", "b"], ["list_todos", "claim"])
    assert (endpoint["protocol"], endpoint["lease_seconds"]) == ("legacy", 1800)
    assert endpoint["expires_at"] > endpoint["created_at"]
    listed = await answered(service, "endpoint", "list")
    assert [one["slug"] for one in listed["endpoints"]] == [endpoint["slug"]]
    changed = await answered(service, "endpoint", "set", endpoint["slug"], "--protocol", "auto")
    assert changed["endpoint"]["protocol"] == "auto"
    revoked = await answered(service, "endpoint", "revoke", endpoint["slug"])
    assert revoked["endpoint"]["state"] == "revoked"


async def test_commands_on_what_is_over_or_never_was_say_so_by_their_exit_code(
    service: ServiceProcess,
) -> None:
    slug = (await service.vend())["endpoint"]["slug"]
    await answered(service, "endpoint", "revoke", slug)
    heir = ("endpoint", "vend", "heir", "--queue", "inbox", "--replace")
    for arguments, expected in (
        (("endpoint", "revoke", slug), 5),
        (("endpoint", "rotate", slug), 5),
        ((*heir, slug), 5),
        (("endpoint", "rotate", "nobody-00000000"), 4),
        ((*heir, "nobody-00000000"), 4),
        (("endpoint", "show", "nobody-00000000"), 4),
        (("endpoint", "set", slug), 2),
        (("endpoint", "rotate", slug, "--overlap", "soon"), 2),
        (("endpoint", "rotate", slug, "--overlap", "31d"), 2),
        (("queue", "pause", "nobody"), 4),
        (("todo", "cancel", "td_nobody"), 4),
    ):
        code, out, err = await service.command(*arguments)
        assert (code, out) == (expected, ""), (arguments, err)
        assert "Traceback" not in err


async def test_a_rotation_with_overlap_lets_an_agent_change_its_key_without_a_pause(
    service: ServiceProcess,
) -> None:
    vended = await service.vend()
    slug = vended["endpoint"]["slug"]
    async with RawAgent.connected(vended) as agent, agent.stream() as stream:
        rotated = await answered(service, "endpoint", "rotate", slug, "--overlap", "10m")
        assert rotated["endpoint"]["previous_until"] is not None
        todo_id = await service.add()
        assert (await stream.next_message())["params"]["meta"]["todo_id"] == todo_id
        agent.credential = rotated["credential"]
        claimed = await agent.call("claim")
        assert claimed["id"] == todo_id
        again = await answered(service, "endpoint", "rotate", slug)
        assert again["endpoint"]["previous_until"] is None
        await stream.ended(1.0)
        assert (await agent.post("ping")).status_code == 401
        agent.credential = again["credential"]
        await agent.call("complete", id=todo_id, lease_token=claimed["lease_token"])


async def test_an_endpoint_ends_by_itself_when_its_time_has_come(service: ServiceProcess) -> None:
    vended = await service.vend(expires_in_seconds=2)
    todo_id = await service.add()
    async with RawAgent.connected(vended) as agent, agent.stream() as stream:
        began = time.monotonic()
        await agent.call("claim", id=todo_id)
        waiting = await agent.begin("claim", wait_seconds=25)
        await stream.ended(3.0)
        assert (await waiting).status_code == 401
        assert time.monotonic() - began < 3.0
        assert (await agent.post("ping")).status_code == 401
    todo = await service.todo(todo_id)
    assert (todo["state"], todo["lapses"]) == ("pending", 0)
    assert [one["outcome"] for one in todo["attempts"]] == ["revoked"]
    shown = await answered(service, "endpoint", "show", vended["endpoint"]["slug"])
    assert shown["endpoint"]["state"] == "expired"


async def test_an_expiry_that_passes_while_nobody_serves_is_carried_out_at_the_next_start(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend(expires_in_seconds=86_400)
        todo_id = await service.add()
        async with RawAgent.connected(vended) as agent:
            await agent.call("claim", id=todo_id)
        await service.kill()
    _let_all_expire(service.data_dir / "switchboard.db")
    async with serving(tmp_path) as again:
        await _until_pending(again, todo_id)
        slug = vended["endpoint"]["slug"]
        shown = await answered(again, "endpoint", "show", slug)
        assert shown["endpoint"]["state"] == "expired"


async def test_what_was_acknowledged_just_before_a_kill_holds_after_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        port, vended, gone = service.port, await service.vend(), await service.vend()
        slug = vended["endpoint"]["slug"]
        todo_id = await service.add()
        async with RawAgent.connected(vended) as agent, service.operator() as operator:
            held = await agent.call("claim", id=todo_id)
            await operator.post(f"/endpoints/{gone['endpoint']['slug']}/revoke")
            rotated = (await operator.post(f"/endpoints/{slug}/rotate")).json()
            await service.kill()
        async with (
            serving(tmp_path, port=port) as again,
            httpx.AsyncClient(trust_env=False) as http,
        ):
            old = RawAgent(agent.url, vended["credential"], http, agent.session)
            new = RawAgent(agent.url, rotated["credential"], http, agent.session)
            over = RawAgent(gone["url"], gone["credential"], http)
            assert (await old.post("ping")).status_code == 401
            assert (await over.post("initialize", INITIALIZE)).status_code == 401
            await new.call("heartbeat", id=todo_id, lease_token=held["lease_token"])
            await new.call("complete", id=todo_id, lease_token=held["lease_token"])
            todo = await again.todo(todo_id)
    assert (todo["state"], todo["attempt"], todo["lapses"]) == ("done", 1, 0)


@requirement("SPEC-0014/errors/no-credential-in-log", "SPEC-0014/secrets/never-emitted")
async def test_no_rotated_or_replaced_secret_is_in_a_log_an_answer_or_the_database(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, settings={"log_level": "debug"}) as service:
        vended = await service.vend()
        slug = vended["endpoint"]["slug"]
        rotated = await answered(service, "endpoint", "rotate", slug, "--overlap", "10m")
        async with RawAgent.connected(vended) as agent:
            heir = await answered(
                service, "endpoint", "vend", "heir", "--queue", "inbox", "--replace", slug
            )
            assert (await agent.post("ping")).status_code == 401
        secrets = [one["credential"] for one in (vended, rotated, heir)]
        shown = ""
        for arguments in (("list",), ("show", slug), ("rotate", slug), ("revoke", slug)):
            code, out, err = await service.command("endpoint", *arguments)
            shown += f"{code} {out} {err}"
        async with service.operator() as operator:
            shown += (await operator.get("/endpoints")).text
        assert await service.stop() == 0
        kept = b"".join(one.read_bytes() for one in service.data_dir.glob("switchboard.db*"))
        assert len(set(secrets)) == 3
        for secret in (*secrets, service.token):
            assert secret not in service.log()
            assert secret not in shown
            assert secret.encode() not in kept
        assert not re.search(r"sb[ko]_[A-Za-z0-9_-]{6,}", service.log())


def _let_all_expire(database: Path) -> None:
    """As if nobody had served for a long time."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE endpoint SET expires_at_ms = created_at_ms + 1")


async def _until_pending(service: ServiceProcess, todo_id: str) -> None:
    async with asyncio.timeout(BOUND_S):
        while (await service.todo(todo_id))["state"] != "pending":
            pass
