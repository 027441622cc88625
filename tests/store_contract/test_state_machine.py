"""Random histories of agents that work, crash, race and are cut off, against a small model.

The model knows who was given which lease. The ledger must never give a live lease twice, never
lose a todo, and keep its attempts and counters in step with what it answered.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType] # untyped upstream
)

from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import State, TodoId
from switchboard.records import Changed, Claimed, NothingReady, TodoFilter
from tests.builders import LEASE_MS, QUEUE, Ledger, found, lease_hash, new_todo
from tests.clocks import FakeClock
from tests.store_contract.engines import ENGINES
from tests.store_contract.outcomes import changed, history

T = TypeVar("T")
SLOTS = st.integers(0, 2)
PICK = st.integers(0, 1_000)
MAX_TODOS = 8
MAX_FAILURES = 2
MAX_LAPSES = 3


@dataclass(frozen=True, slots=True)
class Hold:
    """A lease that the ledger granted and whose token somebody still has."""

    caller: Caller
    token: bytes
    until_ms: int


class Machine(RuleBasedStateMachine):
    engine = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.directory = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.store = ENGINES[self.engine](Path(self.directory.name), self.clock)
        self.run(self.store.start())
        self.ledger: Ledger = self.run(found(self.store, self.clock))
        self.callers = [self.run(self.ledger.vend(f"worker-{n}")) for n in range(3)]
        self.created: list[TodoId] = []
        self.held: dict[TodoId, Hold] = {}
        self.stale: list[tuple[TodoId, Hold]] = []

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.stop())
        self.runner.close()
        self.directory.cleanup()

    # --- the model

    def _drop(self, todo_id: TodoId) -> None:
        if todo_id in self.held:
            self.stale.append((todo_id, self.held.pop(todo_id)))

    def _won(self, answer: Claimed, caller: Caller, token: bytes) -> None:
        before = self.held.get(answer.todo.id)
        assert before is None or before.until_ms <= self.clock.now_ms(), "two holders"
        for buried in answer.buried:
            self._drop(buried.id)
        self._drop(answer.todo.id)
        assert answer.todo.lease_expires_at_ms is not None
        self.held[answer.todo.id] = Hold(caller, token, answer.todo.lease_expires_at_ms)

    def _some_hold(self, pick: int) -> tuple[TodoId, Hold]:
        return sorted(self.held.items(), key=lambda item: item[0])[pick % len(self.held)]

    # --- the rules

    @precondition(lambda self: len(self.created) < MAX_TODOS)
    @rule(priority=st.integers(-1, 1))
    def add(self, priority: int) -> None:
        todo = new_todo(
            self.clock, priority=priority, max_attempts=MAX_FAILURES, max_lapses=MAX_LAPSES
        )
        self.created.append(self.run(self.ledger.add_one(todo)))

    @rule(slots=st.lists(SLOTS, min_size=1, max_size=5))
    def claim_next_together(self, slots: list[int]) -> None:
        asked = [(self.callers[slot], lease_hash()) for slot in slots]

        async def race() -> list[Claimed | NothingReady | Refusal]:
            claim = self.store.claim_next_ready
            return await asyncio.gather(*(claim(c, (QUEUE,), LEASE_MS, k) for c, k in asked))

        answers = self.run(race())
        won = [one.todo.id for one in answers if isinstance(one, Claimed)]
        assert len(won) == len(set(won)), "two holders"
        for (caller, token), answer in zip(asked, answers, strict=True):
            assert not isinstance(answer, Refusal), answer
            for buried in answer.buried:
                self._drop(buried.id)
            if isinstance(answer, Claimed):
                self._won(answer, caller, token)

    @precondition(lambda self: self.created)
    @rule(slot=SLOTS, pick=PICK)
    def claim_by_id(self, slot: int, pick: int) -> None:
        todo_id, caller, token = (
            self.created[pick % len(self.created)],
            self.callers[slot],
            lease_hash(),
        )
        answer = self.run(self.store.claim_if_ready(caller, todo_id, LEASE_MS, token))
        if isinstance(answer, Claimed):
            self._won(answer, caller, token)
        elif self.run(history(self.ledger, todo_id)).todo.state is State.FAILED:
            self._drop(todo_id)

    @precondition(lambda self: bool(set(self.created) - set(self.held)))
    @rule(slot=SLOTS, pick=PICK, turns=st.integers(0, 4))
    def claim_and_leave(self, slot: int, pick: int, turns: int) -> None:
        """Cut off at any moment: either nothing happened or a lease runs that nobody knows."""
        free = sorted(set(self.created) - set(self.held))
        claim = self.store.claim_if_ready(
            self.callers[slot], free[pick % len(free)], LEASE_MS, lease_hash()
        )

        async def leave() -> None:
            task = asyncio.ensure_future(claim)
            for _ in range(turns + 1):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.run(leave())

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def crash(self, pick: int) -> None:
        todo_id, _ = self._some_hold(pick)
        del self.held[todo_id]

    @rule(ms=st.sampled_from([1_000, LEASE_MS // 2, LEASE_MS + 1, 900_000]))
    def time_passes(self, ms: int) -> None:
        self.clock.advance(ms)

    @rule()
    def sweep(self) -> None:
        for todo in self.run(self.store.sweep_lapsed(100)):
            hold = self.held.get(todo.id)
            assert hold is None or hold.until_ms <= self.clock.now_ms(), "swept a live lease"
            if todo.state is State.FAILED:
                self._drop(todo.id)

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def heartbeat(self, pick: int) -> None:
        todo_id, hold = self._some_hold(pick)
        beat = self.store.heartbeat_if_held(hold.caller, todo_id, hold.token, LEASE_MS, None)
        todo = changed(self.run(beat))
        assert todo.lease_expires_at_ms is not None
        assert todo.lease_expires_at_ms >= self.clock.now_ms() + LEASE_MS
        self.held[todo_id] = Hold(hold.caller, hold.token, todo.lease_expires_at_ms)

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def complete(self, pick: int) -> None:
        todo_id, hold = self._some_hold(pick)
        done = self.store.complete_if_held(hold.caller, todo_id, hold.token, "1", None)
        assert changed(self.run(done)).state is State.DONE
        self._drop(todo_id)

    @precondition(lambda self: self.held)
    @rule(pick=PICK, retry=st.booleans())
    def fail(self, pick: int, retry: bool) -> None:
        todo_id, hold = self._some_hold(pick)
        failing = self.store.fail_if_held(hold.caller, todo_id, hold.token, "bad", None, retry)
        self._ended(todo_id, hold, self.run(failing))

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def release(self, pick: int) -> None:
        todo_id, hold = self._some_hold(pick)
        self._ended(
            todo_id,
            hold,
            self.run(self.store.release_if_held(hold.caller, todo_id, hold.token, 0)),
        )

    def _ended(self, todo_id: TodoId, hold: Hold, answer: Changed | Refusal) -> None:
        """A swept todo can be finished but not failed or released, so a lapsed lease may refuse."""
        if isinstance(answer, Changed):
            self._drop(todo_id)
        else:
            assert hold.until_ms <= self.clock.now_ms(), answer

    @precondition(lambda self: self.stale)
    @rule(pick=PICK)
    def a_stale_token_moves_nothing(self, pick: int) -> None:
        todo_id, hold = self.stale[pick % len(self.stale)]
        before = self.run(history(self.ledger, todo_id))
        late = self.store.complete_if_held(hold.caller, todo_id, hold.token, "9", None)
        assert isinstance(self.run(late), Refusal)
        assert self.run(history(self.ledger, todo_id)) == before

    @rule(slot=SLOTS)
    def revoke(self, slot: int) -> None:
        gone, owner = self.callers[slot], self.ledger.owner
        end = self.store.revoke_endpoint_if_active(self.ledger.workspace_id, gone.slug, owner)
        assert not isinstance(self.run(end), Refusal)
        for todo_id in [t for t, hold in self.held.items() if hold.caller == gone]:
            self._drop(todo_id)
        claim = self.store.claim_next_ready(gone, (QUEUE,), LEASE_MS, lease_hash())
        assert not isinstance(self.run(claim), Claimed)
        self.callers[slot] = self.run(self.ledger.vend(f"worker-{slot}"))

    @precondition(lambda self: self.created)
    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        todo_id, ledger = self.created[pick % len(self.created)], self.ledger
        live = self.run(history(ledger, todo_id)).todo.state in (State.PENDING, State.CLAIMED)
        answer = self.run(self.store.cancel_if_live(ledger.workspace_id, todo_id, ledger.owner))
        if live:
            assert isinstance(answer, Changed)
            self._drop(todo_id)

    # --- what always holds

    @invariant()
    def nothing_is_lost(self) -> None:
        wanted = TodoFilter(states=tuple(State), limit=200)
        rows = self.run(self.store.list_todos(self.ledger.workspace_id, wanted))
        assert sorted(row.todo.id for row in rows) == sorted(self.created)

    @invariant()
    def every_live_hold_is_the_ledgers(self) -> None:
        for todo_id, hold in self.held.items():
            todo = self.run(history(self.ledger, todo_id)).todo
            assert todo.holder_id == hold.caller.endpoint_id
            if hold.until_ms > self.clock.now_ms():
                assert todo.state is State.CLAIMED
                assert todo.lease_expires_at_ms == hold.until_ms

    @invariant()
    def attempts_and_counters_are_in_step(self) -> None:
        for todo_id in self.created:
            known = self.run(history(self.ledger, todo_id))
            running = [a for a in known.attempts if a.outcome is None]
            assert len(running) == (1 if known.todo.state is State.CLAIMED else 0)
            numbers = sorted(a.number for a in known.attempts)
            assert numbers == list(range(1, known.todo.attempt + 1))
            assert known.todo.failures <= MAX_FAILURES
            assert known.todo.lapses <= MAX_LAPSES


@pytest.mark.parametrize("engine", list(ENGINES))
def test_no_history_gives_two_holders_or_loses_a_todo(engine: str) -> None:
    machine = type("EngineMachine", (Machine,), {"engine": engine})
    profile = settings(
        max_examples=25,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(machine, settings=profile)
