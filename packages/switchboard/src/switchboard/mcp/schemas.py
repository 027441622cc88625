"""The tools as they are advertised. Roots are closed objects without unions."""

from __future__ import annotations

from typing import Any

from switchboard.domain.endpoint import Verb

_ID = {"type": "string", "description": "The todo's id, td_ and 26 characters."}
_TOKEN = {"type": "string", "description": "The lease_token your last claim returned."}
_LEASE = {"type": "integer", "minimum": 10, "maximum": 86_400}
_TEXT = {"type": "string"}

PROPERTIES: dict[Verb, dict[str, dict[str, Any]]] = {
    Verb.LIST_TODOS: {
        "queue": _TEXT,
        "state": {
            "type": "string",
            "enum": ["pending", "claimed", "done", "failed", "cancelled"],
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 200},
        "cursor": _TEXT,
    },
    Verb.CLAIM: {
        "id": _ID,
        "queue": _TEXT,
        "lease_seconds": _LEASE,
        "wait_seconds": {"type": "integer", "minimum": 0, "maximum": 25},
    },
    Verb.COMPLETE: {"id": _ID, "result": {}, "summary": _TEXT, "lease_token": _TOKEN},
    Verb.FAIL: {
        "id": _ID,
        "reason": _TEXT,
        "retry": {"type": "boolean"},
        "summary": _TEXT,
        "lease_token": _TOKEN,
    },
    Verb.HEARTBEAT: {"id": _ID, "lease_seconds": _LEASE, "note": _TEXT, "lease_token": _TOKEN},
    Verb.RELEASE: {
        "id": _ID,
        "delay_seconds": {"type": "integer", "minimum": 0, "maximum": 86_400},
        "lease_token": _TOKEN,
    },
}
REQUIRED = dict.fromkeys(PROPERTIES, ("id",)) | {Verb.LIST_TODOS: (), Verb.CLAIM: ()}

_ABOUT = {
    Verb.LIST_TODOS: ("List todos", "Todos of your queues, newest first. Takes no lease."),
    Verb.CLAIM: (
        "Claim a todo",
        "Lease the named todo, or the next ready one. Only one endpoint holds a todo at a time; "
        "the lease ends at lease_expires_at unless you call heartbeat.",
    ),
    Verb.COMPLETE: ("Complete a todo", "Finish a todo that you hold. Repeating it is harmless."),
    Verb.FAIL: ("Fail a todo", "Give up this attempt; it is tried again later unless retry=false."),
    Verb.HEARTBEAT: ("Extend a lease", "Extend the lease of a todo that you hold."),
    Verb.RELEASE: ("Release a todo", "Give a todo back without an attempt being counted."),
}


def tool(verb: Verb) -> dict[str, Any]:
    """One tool as `tools/list` shows it."""
    title, description = _ABOUT[verb]
    return {
        "name": verb.value,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": PROPERTIES[verb],
            "required": list(REQUIRED[verb]),
            "additionalProperties": False,
        },
        "annotations": {
            "title": title,
            "readOnlyHint": verb is Verb.LIST_TODOS,
            "destructiveHint": False,
            "idempotentHint": verb in (Verb.LIST_TODOS, Verb.COMPLETE, Verb.FAIL),
            "openWorldHint": False,
        },
    }
