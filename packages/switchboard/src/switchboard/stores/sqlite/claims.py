"""Claiming: finding the next ready todo, leasing it, taking a claim back, sweeping lapsed ones.

A *lane* is one queue with one assignee (nobody, or the caller); a *band* is one priority in it.
Bands are found by index seeks, so work that is not due or not ours costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from sqlite3 import Row

from switchboard.domain.actor import CARRIER, SWEEPER, Actor
from switchboard.domain.endpoint import Caller, EndpointId
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import MAX_PRIORITY, Attempt, Outcome, State, Step, Todo, TodoId
from switchboard.records import Claimed, NothingReady
from switchboard.stores.refusals import claim_obstacle
from switchboard.stores.rows import attempt_of, todo_of
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.history import end_attempt, write_event

Lane = tuple[str, EndpointId | None]


def claim_next_ready(
    tx: Transaction,
    caller: Caller,
    queues: Sequence[str],
    lease_ms: int,
    token_hash: bytes,
    claim_key: str | None = None,
) -> Claimed | NothingReady | Refusal:
    """See `AgentTodos.claim_next_ready`."""
    if claim_key is not None:
        known = _live_claim(tx, caller, claim_key)
        if known is not None:
            return _regrant(tx, caller, known, token_hash, fits=known["queue"] in queues)
    buried: list[Todo] = []
    while True:
        found = _next_ready(tx, caller, queues)
        if found is None:
            break
        if found["state"] == State.CLAIMED and found["lapses"] + 1 >= found["max_lapses"]:
            buried += bury_lapsed(tx, found["id"], caller.actor)
            continue
        claimed = _lease(tx, caller, found["id"], lease_ms, token_hash, claim_key)
        if claimed is None:  # ready, in scope and not paused: only the endpoint can have ended
            return Refusal(Code.FORBIDDEN)
        return Claimed(claimed, _prior(tx, claimed), tuple(buried))
    if not endpoint_is_active(tx, caller):
        return Refusal(Code.FORBIDDEN)
    next_ready_at = _next_ready_at(tx, caller, lanes_of(tx, caller, queues))
    return NothingReady(next_ready_at, tx.now_ms, tuple(buried))


def claim_if_ready(
    tx: Transaction,
    caller: Caller,
    todo_id: TodoId,
    lease_ms: int,
    token_hash: bytes,
    claim_key: str | None = None,
) -> Claimed | Refusal:
    """See `AgentTodos.claim_if_ready`."""
    if claim_key is not None:
        known = _live_claim(tx, caller, claim_key)
        if known is not None:
            return _regrant(tx, caller, known, token_hash, fits=known["id"] == todo_id)
    claimed = _lease(tx, caller, todo_id, lease_ms, token_hash, claim_key)
    if claimed is not None:
        return Claimed(claimed, _prior(tx, claimed))
    row = tx.one("todo_in_workspace", todo_id=todo_id, workspace_id=caller.workspace_id)
    if row is None or not caller.covers(row["queue"]):
        return Refusal(Code.NOT_FOUND)
    if not endpoint_is_active(tx, caller):
        return Refusal(Code.FORBIDDEN)
    todo = todo_of(row)
    reason = claim_obstacle(todo, caller, tx.now_ms, is_paused(tx, todo))
    if reason is None:
        bury_lapsed(tx, todo_id, caller.actor)
    return Refusal(Code.CONFLICT, reason)


def undo_claim(tx: Transaction, caller: Caller, todo_id: TodoId, token_hash: bytes) -> Todo | None:
    """See `AgentTodos.undo_claim`."""
    row = tx.one(
        "undo_claim_if_held",
        todo_id=todo_id,
        workspace_id=caller.workspace_id,
        endpoint_id=caller.endpoint_id,
        token_hash=token_hash,
    )
    if row is None:
        return None
    todo = todo_of(row)
    tx.run("delete_attempt", todo_id=todo_id, number=todo.attempt + 1)
    write_event(tx, todo, Step.UNDO_CLAIM, CARRIER, State.CLAIMED, caller.slug)
    return todo


def sweep_lapsed(tx: Transaction, limit: int) -> list[Todo]:
    """See `PeopleTodos.sweep_lapsed`."""
    swept: list[Todo] = []
    for lapsed in tx.all("lapsed_todos", limit=limit):
        row = tx.one("return_if_lapsed", todo_id=lapsed["id"])
        if row is None:
            swept += bury_lapsed(tx, lapsed["id"], SWEEPER)
            continue
        todo = todo_of(row)
        end_attempt(tx, todo, Outcome.LAPSED)
        write_event(tx, todo, Step.LAPSE, SWEEPER, State.CLAIMED)
        swept.append(todo)
    return swept


def bury_lapsed(tx: Transaction, todo_id: TodoId, actor: Actor) -> list[Todo]:
    """Give up a todo at its lapse cap; empty when it is not there."""
    row = tx.one("bury_if_lapsed", todo_id=todo_id)
    if row is None:
        return []
    todo = todo_of(row)
    end_attempt(tx, todo, Outcome.LAPSED)
    write_event(tx, todo, Step.LAPSE, actor, State.CLAIMED, "lapsed")
    return [todo]


def ready_for(tx: Transaction, caller: Caller, limit: int) -> tuple[list[Todo], int]:
    """See `PeopleTodos.ready_for`."""
    ready: list[Todo] = []
    total = 0
    for (queue, assignee), priority in _bands(tx, caller, lanes_of(tx, caller, caller.queues)):
        band = _band(caller, queue, assignee, priority)
        total += tx.all("count_ready_in_band", **band)[0]["ready"]
        ready += [todo_of(row) for row in tx.all("ready_in_band", **band, limit=limit)]
    ready.sort(key=lambda todo: (-todo.priority, todo.ready_at_ms, todo.id))
    return ready[:limit], total


def lanes_of(tx: Transaction, caller: Caller, queues: Sequence[str]) -> list[Lane]:
    """The lanes an endpoint may take from, paused queues left out."""
    paused = {row["name"] for row in tx.all("paused_queues", workspace_id=caller.workspace_id)}
    open_queues = [queue for queue in queues if caller.covers(queue) and queue not in paused]
    return [(queue, assignee) for queue in open_queues for assignee in (None, caller.endpoint_id)]


def is_paused(tx: Transaction, todo: Todo) -> bool:
    """Whether the todo's queue hands nothing out."""
    return any(
        row["name"] == todo.queue for row in tx.all("paused_queues", workspace_id=todo.workspace_id)
    )


@lru_cache(4096)
def scope_text(queues: tuple[str, ...]) -> str:
    """A scope as statements ask it: the names in quotes, looked up as text.

    No name has a quote in it, and reading the list as JSON costs each statement 4 µs.
    """
    return json.dumps(queues)


def endpoint_is_active(tx: Transaction, caller: Caller) -> bool:
    """Whether endpoint and credential may still write."""
    return (
        tx.one(
            "endpoint_is_active",
            workspace_id=caller.workspace_id,
            endpoint_id=caller.endpoint_id,
            credential_id=caller.credential_id,
        )
        is not None
    )


def _next_ready(tx: Transaction, caller: Caller, queues: Sequence[str]) -> Row | None:
    ready = [
        row
        for queue in queues
        if caller.covers(queue)
        for assignee in (None, caller.endpoint_id)
        if (row := _first_ready(tx, caller, queue, assignee)) is not None
    ]
    return min(
        ready, key=lambda row: (-row["priority"], row["ready_at_ms"], row["id"]), default=None
    )


def _first_ready(
    tx: Transaction, caller: Caller, queue: str, assignee: EndpointId | None
) -> Row | None:
    below = MAX_PRIORITY + 1
    while True:
        row = tx.one(
            "first_below",
            workspace_id=caller.workspace_id,
            queue=queue,
            assignee_id=assignee,
            below=below,
        )
        if row is None or row["ready_at_ms"] <= tx.now_ms:
            return row
        below = row["priority"]  # the first of a band is not ready, so none of it is


def _next_ready_at(tx: Transaction, caller: Caller, lanes: list[Lane]) -> int | None:
    times = [
        tx.all("next_ready_at", **_band(caller, queue, assignee, priority))[0]["at_ms"]
        for (queue, assignee), priority in _bands(tx, caller, lanes)
    ]
    return min((at_ms for at_ms in times if at_ms is not None), default=None)


def _bands(tx: Transaction, caller: Caller, lanes: list[Lane]) -> Iterator[tuple[Lane, int]]:
    for queue, assignee in lanes:
        below: int | None = MAX_PRIORITY + 1
        while (below := _next_band(tx, caller, queue, assignee, below)) is not None:
            yield (queue, assignee), below


def _next_band(
    tx: Transaction, caller: Caller, queue: str, assignee: EndpointId | None, below: int
) -> int | None:
    row = tx.one(
        "next_band",
        workspace_id=caller.workspace_id,
        queue=queue,
        assignee_id=assignee,
        below=below,
    )
    return None if row is None else row["priority"]


def _band(
    caller: Caller, queue: str, assignee: EndpointId | None, priority: int
) -> dict[str, object]:
    return {
        "workspace_id": caller.workspace_id,
        "queue": queue,
        "assignee_id": assignee,
        "priority": priority,
    }


def _live_claim(tx: Transaction, caller: Caller, claim_key: str) -> Row | None:
    return tx.one(
        "live_claim_by_key",
        workspace_id=caller.workspace_id,
        endpoint_id=caller.endpoint_id,
        claim_key=claim_key,
    )


def _regrant(
    tx: Transaction, caller: Caller, known: Row, token_hash: bytes, *, fits: bool
) -> Claimed | Refusal:
    """The same claim once more, for a caller that did not hear of it."""
    if not fits:  # the key was used for another question, whose answer would mislead
        return Refusal(Code.INVALID_ARGUMENT, field="claim_key")
    row = tx.one(
        "regrant_if_held",
        todo_id=known["id"],
        workspace_id=caller.workspace_id,
        endpoint_id=caller.endpoint_id,
        credential_id=caller.credential_id,
        queues=scope_text(caller.queues),
        claim_key=known["claim_key"],
        token_hash=token_hash,
    )
    if row is None:  # its own, running, in scope: only the endpoint can have ended
        return Refusal(Code.FORBIDDEN)
    todo = todo_of(row)
    tx.run("retoken_attempt", todo_id=todo.id, number=todo.attempt, token_hash=token_hash)
    write_event(tx, todo, Step.REGRANT, caller.actor, State.CLAIMED)
    return Claimed(todo, _prior(tx, todo), regranted=True)


def _lease(
    tx: Transaction,
    caller: Caller,
    todo_id: TodoId,
    lease_ms: int,
    token_hash: bytes,
    claim_key: str | None,
) -> Todo | None:
    row = tx.one(
        "claim_if_ready",
        todo_id=todo_id,
        workspace_id=caller.workspace_id,
        endpoint_id=caller.endpoint_id,
        credential_id=caller.credential_id,
        queues=scope_text(caller.queues),
        lease_ms=lease_ms,
        token_hash=token_hash,
        claim_key=claim_key,
    )
    if row is None:
        return None
    todo = todo_of(row)
    previous = tx.one("latest_attempt", todo_id=todo_id) if todo.attempt > 1 else None
    taken_over = previous is not None and previous["ended_at_ms"] is None
    if taken_over:
        tx.run(
            "end_attempt",
            todo_id=todo_id,
            number=todo.attempt - 1,
            outcome=Outcome.LAPSED,
            summary=None,
            digest=None,
        )
    tx.run(
        "insert_attempt",
        todo_id=todo_id,
        number=todo.attempt,
        holder_id=caller.endpoint_id,
        holder_name=caller.slug,
        token_hash=token_hash,
    )
    was = State.CLAIMED if taken_over else State.PENDING
    write_event(tx, todo, Step.TAKEOVER if taken_over else Step.CLAIM, caller.actor, was)
    return todo


def _prior(tx: Transaction, todo: Todo) -> tuple[Attempt, ...]:
    if todo.attempt == 1:
        return ()
    rows = tx.all("prior_attempts", todo_id=todo.id, number=todo.attempt)
    return tuple(attempt_of(row) for row in rows)
