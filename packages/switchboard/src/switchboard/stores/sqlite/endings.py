"""What a holder does with its lease: heartbeat, complete, fail, release; and why it may not."""

from __future__ import annotations

import random
from sqlite3 import Row
from typing import Any

from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import Outcome, State, Step, TodoId, backoff_ms
from switchboard.records import Changed
from switchboard.stores.digests import canonical_json, ending_digest
from switchboard.stores.refusals import not_held
from switchboard.stores.rows import todo_of
from switchboard.stores.sqlite.claims import endpoint_is_active, scope_text
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.history import end_attempt, write_event


def heartbeat_if_held(
    tx: Transaction,
    caller: Caller,
    todo_id: TodoId,
    token_hash: bytes | None,
    lease_ms: int,
    note: str | None,
) -> Changed | Refusal:
    """See `AgentTodos.heartbeat_if_held`."""
    said = {"lease_ms": lease_ms}
    row, was = _held_or_swept(tx, "heartbeat_if_held", caller, todo_id, token_hash, **said)
    if row is None:
        return _why_not(tx, caller, _before(tx, caller, todo_id), token_hash)
    todo = todo_of(row)
    revived = was is State.PENDING
    if revived:
        tx.run("reopen_attempt", todo_id=todo_id, number=todo.attempt)
    if note is not None:
        tx.run("note_attempt", todo_id=todo_id, number=todo.attempt, note=note)
    write_event(tx, todo, Step.REVIVE if revived else Step.HEARTBEAT, caller.actor, was)
    return Changed(todo)


def complete_if_held(
    tx: Transaction,
    caller: Caller,
    todo_id: TodoId,
    token_hash: bytes | None,
    result_json: str | None,
    summary: str | None,
) -> Changed | Refusal:
    """See `AgentTodos.complete_if_held`."""
    digest = ending_digest(Step.COMPLETE, canonical_json(result_json), summary)
    said = {"result_json": result_json, "summary": summary}
    row, was = _held_or_swept(tx, "complete_if_held", caller, todo_id, token_hash, **said)
    if row is None:
        return _repeated(tx, caller, _before(tx, caller, todo_id), token_hash, digest)
    todo = todo_of(row)
    end_attempt(tx, todo, Outcome.DONE, summary=summary, digest=digest)
    write_event(tx, todo, Step.COMPLETE, caller.actor, was)
    return Changed(todo)


def fail_if_held(
    tx: Transaction,
    caller: Caller,
    todo_id: TodoId,
    token_hash: bytes | None,
    reason: str | None,
    summary: str | None,
    retry: bool,
    jitter: random.Random,
) -> Changed | Refusal:
    """See `AgentTodos.fail_if_held`."""
    digest = ending_digest(Step.FAIL, reason, summary, retry)
    before = _before(tx, caller, todo_id)
    said = {"reason": reason, "summary": summary}
    row = None
    if retry and before is not None:
        wait_ms = backoff_ms(before["failures"] + 1, jitter)
        row = _held(
            tx, "fail_for_retry_if_held", caller, todo_id, token_hash, backoff_ms=wait_ms, **said
        )
    if row is None and before is not None and _fails_for_good(before, retry):
        row = _held(tx, "fail_for_good_if_held", caller, todo_id, token_hash, **said)
    if row is None:
        return _repeated(tx, caller, before, token_hash, digest)
    todo = todo_of(row)
    end_attempt(tx, todo, Outcome.FAILED, summary=summary or reason, digest=digest)
    write_event(tx, todo, Step.FAIL, caller.actor, State.CLAIMED, reason and reason[:200])
    return Changed(todo)


def release_if_held(
    tx: Transaction, caller: Caller, todo_id: TodoId, token_hash: bytes | None, delay_ms: int
) -> Changed | Refusal:
    """See `AgentTodos.release_if_held`."""
    digest = ending_digest(Step.RELEASE, delay_ms)
    row = _held(tx, "release_if_held", caller, todo_id, token_hash, delay_ms=delay_ms)
    if row is None:
        return _repeated(tx, caller, _before(tx, caller, todo_id), token_hash, digest)
    todo = todo_of(row)
    end_attempt(tx, todo, Outcome.RELEASED, digest=digest)
    write_event(tx, todo, Step.RELEASE, caller.actor, State.CLAIMED)
    return Changed(todo)


def _fails_for_good(before: Row, retry: bool) -> bool:
    return not retry or before["failures"] + 1 >= before["max_attempts"]


def _before(tx: Transaction, caller: Caller, todo_id: TodoId) -> Row | None:
    row = tx.one("todo_in_workspace", todo_id=todo_id, workspace_id=caller.workspace_id)
    return row if row is not None and caller.covers(row["queue"]) else None


def _held_or_swept(
    tx: Transaction,
    name: str,
    caller: Caller,
    todo_id: TodoId,
    token_hash: bytes | None,
    **values: Any,
) -> tuple[Row | None, State]:
    """The changed row and the state it was in; swept todos are rare, so they are tried second."""
    for was in (State.CLAIMED, State.PENDING):
        row = _held(tx, name, caller, todo_id, token_hash, state=was, **values)
        if row is not None:
            return row, was
    return None, State.CLAIMED


def _held(
    tx: Transaction,
    name: str,
    caller: Caller,
    todo_id: TodoId,
    token_hash: bytes | None,
    **values: Any,
) -> Row | None:
    return tx.one(
        name,
        todo_id=todo_id,
        workspace_id=caller.workspace_id,
        endpoint_id=caller.endpoint_id,
        credential_id=caller.credential_id,
        queues=scope_text(caller.queues),
        token_hash=token_hash,
        **values,
    )


def _repeated(
    tx: Transaction, caller: Caller, before: Row | None, token_hash: bytes | None, digest: bytes
) -> Changed | Refusal:
    """Success when this very ending was already told; the answer got lost, not the work."""
    if before is not None and before["state"] != State.CLAIMED:
        latest = tx.one("latest_attempt", todo_id=before["id"])
        if (
            latest is not None
            and latest["holder_id"] == caller.endpoint_id
            and latest["ended_digest"] == digest
            and token_hash in (None, latest["token_hash"])
            and endpoint_is_active(tx, caller)
        ):
            return Changed(todo_of(before), repeated=True)
    return _why_not(tx, caller, before, token_hash)


def _why_not(
    tx: Transaction, caller: Caller, before: Row | None, token_hash: bytes | None
) -> Refusal:
    if before is None:
        return Refusal(Code.NOT_FOUND)
    if not endpoint_is_active(tx, caller):
        return Refusal(Code.FORBIDDEN)
    mine = tx.all("count_attempts_by", todo_id=before["id"], holder_id=caller.endpoint_id)
    return not_held(before, caller, token_hash, mine[0]["attempts"])
