"""The two probes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent_transport.admission.asgi import Application, Message
from switchboard import health
from switchboard.errors import StoreUnavailable
from switchboard.health import Health


async def _answers() -> None:
    return None


async def _fails() -> None:
    raise StoreUnavailable("busy")


async def _hangs() -> None:
    await asyncio.Event().wait()


async def _ask(probe: Application, method: str = "GET") -> tuple[int, bytes]:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("a probe has no body to read")

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": method, "headers": []}
    await probe(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize(
    ("ping", "status"),
    [(_answers, 200), (_fails, 503), (_hangs, 503)],
    ids=["ok", "fails", "hangs"],
)
async def test_readiness_is_whether_the_ledger_answers_in_time(
    ping: Callable[[], Awaitable[None]], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PING_BOUND_S", 0.05)
    one = Health(ping)
    assert (await _ask(one.ready))[0] == status
    assert (await _ask(one.alive))[0] == 200


async def test_a_draining_process_is_alive_but_not_ready() -> None:
    one = Health(_answers)
    one.is_draining = True
    assert await _ask(one.ready) == (503, b'{"status":"draining"}')
    assert (await _ask(one.alive))[0] == 200


async def test_a_process_whose_writer_has_ended_is_not_ready_though_reads_work() -> None:
    one = Health(_answers)
    one.has_failed = True
    assert (await _ask(one.ready))[0] == 503


async def test_probes_take_head_and_nothing_that_writes() -> None:
    one = Health(_answers)
    assert await _ask(one.ready, "HEAD") == (200, b"")
    assert (await _ask(one.alive, "POST"))[0] == 405
