"""Tool results as plain dictionaries: rows, claims, errors."""

from __future__ import annotations

from typing import Any

import orjson

from switchboard.clock import rfc3339
from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Code, Reason, Refusal
from switchboard.domain.todo import State, Todo
from switchboard.service.leases import Lease

_RETRYABLE = (Code.UNAVAILABLE, Code.RATE_LIMITED)
_ADVICE = {
    Code.FORBIDDEN: "This is outside what the endpoint was granted; do not try it again.",
    Code.NOT_FOUND: "There is no such todo in scope; take another.",
    Code.CONFLICT: "Stop working on this todo and take another.",
    Code.INVALID_ARGUMENT: "Correct the argument and call again.",
    Code.RATE_LIMITED: "Wait, then call again.",
    Code.UNAVAILABLE: "The ledger cannot answer now; call again in a few seconds.",
    Code.INTERNAL: "The call failed; tell the operator if it happens again.",
}


def row(todo: Todo, caller: Caller, *, claimable: bool | None = None) -> dict[str, Any]:
    """A todo without its payload, so that 200 of them stay small."""
    held = todo.state is State.CLAIMED and todo.holder_id == caller.endpoint_id
    shown: dict[str, Any] = {
        "id": todo.id,
        "queue": todo.queue,
        "title": todo.title,
        "state": todo.state.value,
        "attempt": todo.attempt,
        "kind": todo.kind,
        "source": todo.source,
        "priority": todo.priority,
        "created_at": rfc3339(todo.created_at_ms),
        "available_at": _pending_time(todo),
        "lease_expires_at": _time(todo.lease_expires_at_ms),
        "payload_bytes": todo.payload_bytes,
        "yours": held,
        "claimable": claimable,
    }
    return {name: value for name, value in shown.items() if value is not None}


def claim_answer(lease: Lease, caller: Caller) -> dict[str, Any]:
    """What a model must copy stands first: clients cut long results at the end."""
    todo = lease.claimed.todo
    first = {
        "id": todo.id,
        "lease_token": lease.token,
        "lease_expires_at": _time(todo.lease_expires_at_ms),
        "empty": False,
    }
    prior = [
        {
            "outcome": attempt.outcome.value if attempt.outcome else None,
            "endpoint": attempt.holder_name,
            "summary": attempt.summary,
            "ended_at": _time(attempt.ended_at_ms),
        }
        for attempt in lease.claimed.prior
    ]
    payload = orjson.loads(todo.payload_json) if todo.payload_json is not None else None
    return first | row(todo, caller) | {"payload": payload, "prior_attempts": prior}


def success(structured: dict[str, Any]) -> dict[str, Any]:
    """A result with its JSON as text beside it."""
    text = orjson.dumps(structured).decode()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "resultType": "complete",
    }


def failure(refusal: Refusal) -> dict[str, Any]:
    """A tool error: code, what stood in the way, what to do."""
    code, reason = refusal.code, refusal.reason
    parts = [reason.value if reason else None, refusal.field]
    what = ", ".join(part for part in parts if part)
    told = f"{code.value}: {what + '. ' if what else ''}{_advice(refusal)}"
    error: dict[str, Any] = {"code": code.value, "retryable": code in _RETRYABLE}
    if reason is not None:
        error["reason"] = reason.value
    if code in _RETRYABLE:
        error["retry_after_seconds"] = 2
    return {
        "content": [{"type": "text", "text": told}],
        "isError": True,
        "resultType": "complete",
        "_meta": {"switchboard/error": error},
    }


def _advice(refusal: Refusal) -> str:
    if refusal.code is Code.INVALID_ARGUMENT and refusal.field == "lease_token":
        return "Pass the lease_token your last claim returned."
    if refusal.reason is Reason.STALE_TOKEN:
        return "Pass the lease_token your last claim returned, or stop."
    return _ADVICE[refusal.code]


def _pending_time(todo: Todo) -> str | None:
    return rfc3339(todo.available_at_ms) if todo.state is State.PENDING else None


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
