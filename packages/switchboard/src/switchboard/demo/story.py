"""What happens, step by step. Each step leaves behind what the next ones need."""

from __future__ import annotations

import json
import signal
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from switchboard.demo.agent import Agent, connected
from switchboard.demo.child import child
from switchboard.demo.happened import DidNotHappen, happened
from switchboard.demo.operator import QUEUE, Operator, Vended, operating
from switchboard.demo.scratch_service import ScratchService, scratch_service
from switchboard.domain.endpoint import CORE_VERBS, MIN_LEASE_MS

TITLES = ("Read the release notes", "Answer the question of Monday", "Water the plants")
CRASHING_TITLE = "Lift the heavy box"
REVOKED_TITLE = "Paint the fence"
LONGER_LEASE_S = 900
Step = tuple[str, Callable[[], Awaitable[None]]]


class Story:
    """One telling. `stack` ends whatever a step has started, also when a step fails."""

    _operator: Operator
    _scouting: Vended
    _scout: Agent
    _added: tuple[str, ...]
    _dead: Vended
    _left_behind: str

    def __init__(self, say: Callable[[str], None], stack: AsyncExitStack) -> None:
        self._say = say
        self._stack = stack
        self._started: ScratchService | None = None

    def steps(self) -> tuple[Step, ...]:
        """Titles and what happens, in order."""
        return (
            ("Start a scratch service", self._start),
            ("Vend an endpoint", self._vend),
            ("Connect an agent with the official MCP client", self._connect),
            ("Add todos through the API", self._add),
            ("Doorbell, claim, heartbeat, complete", self._work),
            ("A worker crashes while it holds a lease", self._crash),
            ("Its lease lapses and another agent takes over", self._take_over),
            ("Revoke the endpoint while it holds a claim", self._revoke),
            ("Count the todos", self._count),
            ("Stop the service and remove its data", self._stop),
        )

    def left(self) -> str:
        """What is left when the story is over, in a sentence."""
        if self._started is None or self._started.is_gone():
            return "No process and no file is left."
        pid, directory = self._started.process.pid, self._started.directory
        return f"Look for what may be left: process {pid}, directory {directory}."

    @property
    def _service(self) -> ScratchService:
        assert self._started is not None, "the first step starts it"
        return self._started

    async def _start(self) -> None:
        service = await self._stack.enter_async_context(scratch_service(self._say))
        self._started = service
        self._say(f"process {service.process.pid} serves at {service.url}")
        self._say(f"its data lie in {service.directory}")
        token = service.data.read_token()
        if token is None:
            raise DidNotHappen("the service left no operator token")
        self._operator = await self._stack.enter_async_context(operating(service.url, token))

    async def _vend(self) -> None:
        self._scouting = await self._operator.vend("scout")
        self._say(f"{self._scouting.slug} may take todos from {QUEUE}, at {self._scouting.url}")
        self._say(f"its credential begins with {self._scouting.prefix}; the rest is not shown here")

    async def _connect(self) -> None:
        vended = self._scouting
        self._scout = await self._stack.enter_async_context(
            connected(vended.url, vended.credential)
        )
        tools = await self._scout.tools()
        happened(tools == list(CORE_VERBS), "the client was shown the five core tools")
        self._say(f"its notification stream is open; it may call {', '.join(tools)}")

    async def _add(self) -> None:
        self._added = tuple([await self._operator.add(title) for title in TITLES])
        for todo_id, title in zip(self._added, TITLES, strict=True):
            self._say(f"added {todo_id}: {title}")

    async def _work(self) -> None:
        for todo_id in self._added:
            ring, claimed = await self._scout.claim_when_rung(todo_id)
            self._say(f"rang: {ring.content}")
            held = _held(claimed)
            longer = await self._scout.call("heartbeat", **held, lease_seconds=LONGER_LEASE_S)
            until = longer["lease_expires_at"]
            happened(until > claimed["lease_expires_at"], "the heartbeat extended the lease")
            await self._complete(claimed)
            self._say(f"claimed, held on to until {until} by a heartbeat, and completed")

    async def _crash(self) -> None:
        lease_s = MIN_LEASE_MS // 1000
        self._dead = await self._operator.vend("doomed", lease_seconds=lease_s)
        command = (sys.executable, "-m", "switchboard.demo.doomed_worker")
        async with child(*command, directory=self._service.directory) as worker:
            await self._have_claimed(worker)
            worker.kill()
            code = await worker.wait()
        happened(code == -signal.SIGKILL, "the worker died by SIGKILL")
        self._say(f"process {worker.pid} was killed; nobody works on the todo, and no one told")
        todo = await self._operator.todo(self._left_behind)
        happened(todo["state"] == "claimed", "the dead worker's lease still holds")

    async def _have_claimed(self, worker: Process) -> None:
        vended = self._dead
        told = {"url": vended.url, "credential": vended.credential}
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(told).encode() + b"\n")
        happened(await _word(worker) == "ready", "the worker connected")
        self._left_behind = await self._operator.add(CRASHING_TITLE)
        happened(await _word(worker) == self._left_behind, "the worker claimed the todo")
        todo = await self._operator.todo(self._left_behind)
        happened(todo["holder"] == vended.slug, "the ledger names the worker as holder")
        self._say(f"{vended.slug} has claimed {self._left_behind}: {CRASHING_TITLE}")

    async def _take_over(self) -> None:
        self._say(f"waiting for the lease of {MIN_LEASE_MS // 1000} s to run out, and for the bell")
        began_s = time.monotonic()
        _, claimed = await self._scout.claim_when_rung(self._left_behind)
        self._say(f"rang again after {time.monotonic() - began_s:.1f} s")
        await self._complete(claimed)
        attempts = (await self._operator.todo(self._left_behind))["attempts"]
        ran = [(attempt["holder"], attempt["outcome"]) for attempt in attempts]
        expected = [(self._dead.slug, "lapsed"), (self._scouting.slug, "done")]
        happened(ran == expected, "the first attempt lapsed and the second was done by another")
        for number, (holder, outcome) in enumerate(ran, 1):
            self._say(f"attempt {number} by {holder}: {outcome}")

    async def _revoke(self) -> None:
        todo_id = await self._operator.add(REVOKED_TITLE)
        await self._scout.claim_when_rung(todo_id)
        self._say(f"{self._scouting.slug} holds {todo_id}: {REVOKED_TITLE}")
        ended = await self._operator.revoke(self._scouting.slug)
        happened(ended["released"] == 1, "the revocation took the claim back")
        happened(ended["sessions_closed"] == 1, "the revocation ended the session")
        status = await self._scout.refused_call_status()
        happened(status == 401, f"its next request was refused with 401 ({status})")
        self._say("revoked: the todo went back, and the agent's next request got 401")
        status = await self._scout.next_stream_status()
        happened(status == 401, f"its stream cannot be opened again ({status})")
        self._say("its stream was cut; when its client opened it again, that got 401")
        todo = await self._operator.todo(todo_id)
        happened(todo["state"] == "pending", "the todo waits for another agent")

    async def _count(self) -> None:
        counts = await self._service.count_todos()
        told = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        self._say(f"todo list: {told}")
        expected = Counter(done=len(TITLES) + 1, pending=1)
        happened(counts == expected, "all are done but the one that was taken back")

    async def _stop(self) -> None:
        await self._stack.aclose()
        code = self._service.process.returncode
        happened(code == 0, f"the service drained and ended with 0 ({code})")
        happened(self._service.is_gone(), "the service and its directory are gone")
        self._say(f"the service drained and ended with 0. {self.left()}")

    async def _complete(self, claimed: dict[str, Any]) -> None:
        done = await self._scout.call("complete", **_held(claimed), summary="done by the demo")
        happened(done["state"] == "done", f"{claimed['id']} was completed")


def _held(claimed: dict[str, Any]) -> dict[str, str]:
    """What proves that this claim, and not a later one, is meant."""
    return {"id": claimed["id"], "lease_token": claimed["lease_token"]}


async def _word(worker: Process) -> str:
    assert worker.stdout is not None
    return (await worker.stdout.readline()).decode().strip()
