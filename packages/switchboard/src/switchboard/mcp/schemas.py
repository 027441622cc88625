"""What each tool takes: closed objects without unions. `arguments` checks by this table."""

from __future__ import annotations

from typing import Any

from switchboard.domain.endpoint import MAX_LEASE_MS, MIN_LEASE_MS, Verb
from switchboard.domain.todo import (
    MAX_KEY_CHARS,
    MAX_KIND_CHARS,
    MAX_PRIORITY,
    MAX_TITLE_CHARS,
    MIN_PRIORITY,
    State,
)

Schema = dict[str, Any]

MAX_ROWS = 200
MAX_WAIT_S = 25
MAX_DELAY_S = 86_400

_ID: Schema = {"type": "string", "description": "The todo's id: td_ and 26 characters."}
_QUEUE: Schema = {"type": "string", "description": "One of this endpoint's queues."}
_TOKEN: Schema = {
    "type": "string",
    "description": "The lease_token your last claim returned. Needed once you have claimed this "
    "todo more than once; always checked when given.",
}
_LEASE: Schema = {
    "type": "integer",
    "minimum": MIN_LEASE_MS // 1000,
    "maximum": MAX_LEASE_MS // 1000,
    "description": "How long the lease runs from now; the endpoint's default when absent.",
}
_SUMMARY: Schema = {
    "type": "string",
    "description": "What was done or learnt, for whoever looks at this todo next; at most 2 KiB.",
}


def _integer(minimum: int, maximum: int, description: str) -> Schema:
    return {
        "type": "integer",
        "minimum": minimum,
        "maximum": maximum,
        "description": description,
    }


def _text(description: str, max_chars: int | None = None) -> Schema:
    limit = {} if max_chars is None else {"maxLength": max_chars}
    return {"type": "string", **limit, "description": description}


PROPERTIES: dict[Verb, dict[str, Schema]] = {
    Verb.LIST_TODOS: {
        "queue": _QUEUE,
        "state": {
            "type": "string",
            "enum": [state.value for state in State],
            "description": "Only this state; pending and claimed when absent.",
        },
        "limit": _integer(1, MAX_ROWS, "Rows of a page; 50 when absent."),
        "cursor": _text("next_cursor of the page before."),
    },
    Verb.CLAIM: {
        "id": {**_ID, "description": "The todo to claim; the next ready one when absent."},
        "queue": {**_QUEUE, "description": "Only from this queue; without id."},
        "lease_seconds": _LEASE,
        "wait_seconds": _integer(
            0, MAX_WAIT_S, "How long to wait for a todo when none is ready; without id only."
        ),
        "claim_key": _text(
            "A name of your own for this claim. Asking again with it, while the lease runs, "
            "returns the same todo with a new lease_token.",
            MAX_KEY_CHARS,
        ),
    },
    Verb.COMPLETE: {
        "id": _ID,
        "result": {"description": "The result: any JSON value."},
        "summary": _SUMMARY,
        "lease_token": _TOKEN,
    },
    Verb.FAIL: {
        "id": _ID,
        "reason": _text("Why it did not work; at most 2 KiB."),
        "retry": {"type": "boolean", "description": "false: nobody shall try again."},
        "summary": _SUMMARY,
        "lease_token": _TOKEN,
    },
    Verb.HEARTBEAT: {
        "id": _ID,
        "lease_seconds": _LEASE,
        "note": _text("Where the work stands, in one line."),
        "include_payload": {
            "type": "boolean",
            "description": "true: payload and prior_attempts come along again.",
        },
        "lease_token": _TOKEN,
    },
    Verb.RELEASE: {
        "id": _ID,
        "delay_seconds": _integer(0, MAX_DELAY_S, "How long nobody shall get it."),
        "lease_token": _TOKEN,
    },
    Verb.GET_TODO: {"id": _ID},
    Verb.CREATE_TODO: {
        "queue": _QUEUE,
        "title": _text("What is to be done, in one line.", MAX_TITLE_CHARS),
        "payload": {"description": "What its worker needs to know: any JSON value."},
        "kind": _text("A short word for what sort of work it is.", MAX_KIND_CHARS),
        "priority": _integer(MIN_PRIORITY, MAX_PRIORITY, "Higher goes first; 0 when absent."),
        "available_at": _text("RFC 3339 time before which nobody gets it."),
        "idempotency_key": _text(
            "While a todo with this key is unfinished, asking again returns that one.",
            MAX_KEY_CHARS,
        ),
        "parent_id": {
            **_ID,
            "description": "A todo that you hold. Only below one does new work wake other agents.",
        },
    },
}

REQUIRED: dict[Verb, tuple[str, ...]] = {
    Verb.LIST_TODOS: (),
    Verb.CLAIM: (),
    Verb.COMPLETE: ("id",),
    Verb.FAIL: ("id",),
    Verb.HEARTBEAT: ("id",),
    Verb.RELEASE: ("id",),
    Verb.GET_TODO: ("id",),
    Verb.CREATE_TODO: ("queue", "title"),
}


def input_schema(verb: Verb) -> Schema:
    """The arguments of a tool."""
    return {
        "type": "object",
        "properties": PROPERTIES[verb],
        "required": list(REQUIRED[verb]),
        "additionalProperties": False,
    }
