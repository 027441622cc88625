"""Why a step was not taken, told from the rows that were found: the same on every engine."""

from __future__ import annotations

from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Code, Reason, Refusal
from switchboard.domain.todo import LIVE, State, Todo
from switchboard.stores.rows import Row, todo_of


def claim_obstacle(todo: Todo, caller: Caller, now_ms: int, paused: bool) -> Reason | None:
    """What keeps `caller` from claiming a todo of its scope; None: nothing that has a name."""
    match todo.state:
        case State.DONE:
            return Reason.ALREADY_DONE
        case State.CANCELLED:
            return Reason.CANCELLED
        case State.FAILED:
            return None
        case State.CLAIMED if todo.ready_at_ms > now_ms:
            return Reason.HELD_BY_OTHER
        case _:
            pass
    if todo.assignee_id not in (None, caller.endpoint_id):
        return Reason.ASSIGNED_ELSEWHERE
    if paused:
        return Reason.PAUSED
    return Reason.NOT_DUE if todo.ready_at_ms > now_ms else None


def claimable(todo: Todo, caller: Caller | None, now_ms: int, paused: bool) -> bool:
    """Whether a claim by id would succeed now; without a caller: somebody's."""
    takers = (None, caller.endpoint_id) if caller is not None else (None, todo.assignee_id)
    below_cap = todo.state is State.PENDING or todo.lapses + 1 < todo.max_lapses
    return (
        todo.state in LIVE
        and todo.ready_at_ms <= now_ms
        and not paused
        and todo.assignee_id in takers
        and below_cap
    )


def not_held(before: Row, caller: Caller, token_hash: bytes | None, claimed_times: int) -> Refusal:
    """Why an active endpoint may not move a todo of its scope that it says it holds.

    `claimed_times`: how often it has claimed this todo.
    """
    if before["state"] == State.DONE:
        return Refusal(Code.CONFLICT, Reason.ALREADY_DONE)
    if before["state"] == State.CANCELLED:
        return Refusal(Code.CONFLICT, Reason.CANCELLED)
    held = before["lease_token_hash"] is not None
    if held and before["holder_id"] == caller.endpoint_id:
        if token_hash is None and claimed_times > 1:
            return Refusal(Code.INVALID_ARGUMENT, field="lease_token")
        if token_hash not in (None, before["lease_token_hash"]):
            return Refusal(Code.CONFLICT, Reason.STALE_TOKEN)
        return Refusal(Code.CONFLICT, Reason.LEASE_LOST)
    if before["state"] == State.CLAIMED and not claimed_times:
        return Refusal(Code.CONFLICT, Reason.HELD_BY_OTHER)
    return Refusal(Code.CONFLICT, Reason.LEASE_LOST)


def held_parent(row: Row | None, caller: Caller, now_ms: int) -> Todo | Refusal:
    """The todo below which a caller adds another, if it holds that under a running lease."""
    if row is None or not caller.covers(row["queue"]):
        return Refusal(Code.NOT_FOUND, field="parent_id")
    parent = todo_of(row)
    ends_ms = parent.lease_expires_at_ms
    if parent.holder_id != caller.endpoint_id or ends_ms is None or ends_ms <= now_ms:
        return Refusal(Code.CONFLICT, Reason.LEASE_LOST, field="parent_id")
    return parent


def refused_to_person(row: Row | None) -> Refusal:
    """Why a person's step does not apply to a todo of the workspace. None: there is none."""
    if row is None:
        return Refusal(Code.NOT_FOUND)
    reasons = {State.DONE: Reason.ALREADY_DONE, State.CANCELLED: Reason.CANCELLED}
    return Refusal(Code.CONFLICT, reasons.get(State(row["state"])))
