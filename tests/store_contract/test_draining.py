"""Many workers, few endpoints, shuffled turns: each todo is done once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from switchboard.domain.endpoint import Caller
from switchboard.domain.todo import Outcome, State, TodoId
from switchboard.records import Claimed
from tests.builders import LEASE_MS, QUEUE, Ledger, lease_hash, new_todo
from tests.store_contract.outcomes import changed, history

TODOS = 200
WORKERS = 8


async def _drain(ledger: Ledger, caller: Caller, seed: int, done: Counter[TodoId]) -> None:
    turns = random.Random(seed)
    while True:
        token = lease_hash()
        for _ in range(turns.randrange(4)):
            await asyncio.sleep(0)
        answer = await ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, token)
        if not isinstance(answer, Claimed):
            return
        for _ in range(turns.randrange(4)):
            await asyncio.sleep(0)
        todo_id = answer.todo.id
        changed(await ledger.store.complete_if_held(caller, todo_id, token, None, None))
        done[todo_id] += 1


@pytest.mark.concurrency
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_eight_workers_on_two_endpoints_do_each_todo_once(ledger: Ledger, seed: int) -> None:
    assert asyncio.get_running_loop().get_debug()
    callers = [await ledger.vend("one"), await ledger.vend("two")]
    ids = await ledger.add(*(new_todo(ledger.clock, f"todo {n}") for n in range(TODOS)))
    done: Counter[TodoId] = Counter()
    async with asyncio.TaskGroup() as group:
        for n in range(WORKERS):
            group.create_task(_drain(ledger, callers[n % 2], seed * 100 + n, done))
    assert done == Counter(ids)
    for todo_id in ids:
        known = await history(ledger, todo_id)
        assert (known.todo.state, known.todo.attempt) == (State.DONE, 1)
        assert [a.outcome for a in known.attempts] == [Outcome.DONE]
