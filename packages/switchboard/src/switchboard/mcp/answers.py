"""Tool results as plain dictionaries: rows, claims, errors."""

from __future__ import annotations

from typing import Any

import orjson

from switchboard.clock import rfc3339
from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import Attempt, State, Todo
from switchboard.records import TodoHistory
from switchboard.service.leases import Lease

Answer = dict[str, Any]

MAX_PAGE_BYTES = 63 * 1024
"""A list with its frame stays under 64 KiB: clients cut longer results in the middle."""
PRIOR_SHOWN = 5

RETRY_FROM_S = 2
"""Long enough for a lock or a restart, short enough to go unnoticed."""

_STATES = {state: state.value for state in State}
_RETRYABLE = (Code.UNAVAILABLE, Code.RATE_LIMITED)


def row(todo: Todo, caller: Caller, *, claimable: bool = False) -> Answer:
    """A todo without its payload, so that 200 of them stay small."""
    shown: Answer = {
        "id": todo.id,
        "queue": todo.queue,
        "title": todo.title,
        "state": _STATES[todo.state],
        "attempt": todo.attempt,
    }
    if todo.kind is not None:
        shown["kind"] = todo.kind
    if todo.source is not None:
        shown["source"] = todo.source
    shown["priority"] = todo.priority
    shown["created_at"] = rfc3339(todo.created_at_ms)
    if todo.state is State.PENDING:
        shown["available_at"] = rfc3339(todo.available_at_ms)
    if todo.lease_expires_at_ms is not None:
        shown["lease_expires_at"] = rfc3339(todo.lease_expires_at_ms)
    shown["payload_bytes"] = todo.payload_bytes
    shown["yours"] = todo.state is State.CLAIMED and todo.holder_id == caller.endpoint_id
    shown["claimable"] = claimable
    return shown


def page(rows: list[Answer], *, more: bool) -> Answer:
    """Rows of a list; a page that would be cut off by clients is made shorter instead."""
    fitting = rows
    while len(text := orjson.dumps(fitting)) > MAX_PAGE_BYTES and len(fitting) > 1:
        fitting = fitting[: len(fitting) * 3 // 4]
    shown: Answer = {"todos": orjson.Fragment(text)}
    if more or len(fitting) < len(rows):
        shown["next_cursor"] = fitting[-1]["id"]
    return shown


def claim_answer(lease: Lease, caller: Caller) -> Answer:
    """What a model must copy stands first: clients cut long results at the end."""
    todo = lease.claimed.todo
    first = {
        "id": todo.id,
        "lease_token": lease.token,
        "lease_expires_at": _time(todo.lease_expires_at_ms),
        "empty": False,
    }
    prior = [_attempt(attempt) for attempt in lease.claimed.prior]
    return (
        first | row(todo, caller) | {"payload": _json(todo.payload_json), "prior_attempts": prior}
    )


def work_again(history: TodoHistory) -> Answer:
    """What the claim had told, for a holder that has lost it."""
    todo = history.todo
    earlier = [attempt for attempt in history.attempts if attempt.number < todo.attempt]
    prior = [_attempt(attempt) for attempt in earlier[::-1][:PRIOR_SHOWN]]
    return {"payload": _json(todo.payload_json), "prior_attempts": prior}


def history_answer(shown: Answer, history: TodoHistory) -> Answer:
    """A todo's row with everything that an agent may know of it."""
    todo = history.todo
    ended = _known({"summary": todo.summary, "failure_reason": todo.failure_reason})
    if todo.result_json is not None:
        ended["result"] = _json(todo.result_json)
    attempts = [_attempt(attempt) for attempt in history.attempts]
    return shown | {"payload": _json(todo.payload_json)} | ended | {"attempts": attempts}


def success(structured: Answer) -> Answer:
    """A result with its JSON as text beside it, written once for both."""
    text = orjson.dumps(structured)
    return {
        "content": [{"type": "text", "text": text.decode()}],
        "structuredContent": orjson.Fragment(text),
        "resultType": "complete",
    }


def spelled_out(answer: Answer) -> Answer:
    """The answer with its JSON as values, for whoever has to look into it."""
    if "structuredContent" not in answer:
        return answer
    return answer | {"structuredContent": orjson.loads(answer["content"][0]["text"])}


def failure(refusal: Refusal, what_to_do: str, *, retry_after_s: int = RETRY_FROM_S) -> Answer:
    """A tool error: code, what stood in the way, what to do and, if that helps, when."""
    code, reason = refusal.code, refusal.reason
    parts = [reason.value if reason else None, refusal.field]
    what = ", ".join(part for part in parts if part)
    told = f"{code.value}: {what + '. ' if what else ''}{what_to_do}"
    error: dict[str, Any] = {"code": code.value, "retryable": code in _RETRYABLE}
    if reason is not None:
        error["reason"] = reason.value
    if code in _RETRYABLE:
        error["retry_after_seconds"] = retry_after_s
    return {
        "content": [{"type": "text", "text": told}],
        "isError": True,
        "resultType": "complete",
        "_meta": {"switchboard/error": error},
    }


def _attempt(attempt: Attempt) -> Answer:
    return _known(
        {
            "number": attempt.number,
            "outcome": attempt.outcome.value if attempt.outcome else None,
            "endpoint": attempt.holder_name,
            "summary": attempt.summary,
            "note": attempt.note,
            "started_at": rfc3339(attempt.started_at_ms),
            "ended_at": _time(attempt.ended_at_ms),
        }
    )


def _known(fields: Answer) -> Answer:
    return {name: value for name, value in fields.items() if value is not None}


def _json(text: str | None) -> Any:
    """Kept JSON as it stands: it was checked and written when it came in."""
    return None if text is None else orjson.Fragment(text)


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
