"""What the API answers when it does not do what was asked: RFC 9457 documents with a code."""

from __future__ import annotations

from dataclasses import dataclass

import orjson
from pydantic import BaseModel, Field

from agent_transport.admission import Headers
from agent_transport.admission.asgi import Send
from switchboard.domain.refusal import Code, Reason, Refusal
from switchboard.domain.todo import (
    MAX_KEY_CHARS,
    MAX_KIND_CHARS,
    MAX_PRIORITY,
    MAX_SOURCE_CHARS,
    MAX_TITLE_CHARS,
    MIN_PRIORITY,
)

MEDIA_TYPE = "application/problem+json"
UNAUTHORIZED = "unauthorized"
"""The one code that no other surface has: agents without a credential get an empty answer."""

_MAX_FIELD_CHARS = 100

_STATUS = {
    Code.FORBIDDEN: 403,
    Code.NOT_FOUND: 404,
    Code.CONFLICT: 409,
    Code.INVALID_ARGUMENT: 422,
    Code.RATE_LIMITED: 429,
    Code.UNAVAILABLE: 503,
    Code.INTERNAL: 500,
}
_DETAIL = {
    Code.FORBIDDEN: "this token's role does not allow that",
    Code.NOT_FOUND: "there is nothing of that name in this workspace",
    Code.CONFLICT: "the current state does not allow this step",
    Code.INVALID_ARGUMENT: "an argument is not valid",
    Code.RATE_LIMITED: "too many requests; wait and try again",
    Code.UNAVAILABLE: "the ledger cannot answer now; try again in a few seconds",
    Code.INTERNAL: "the request failed; the service's log has the cause",
}
_CODE_OF_STATUS = {status: code for code, status in _STATUS.items()} | {
    400: Code.INVALID_ARGUMENT,
    405: Code.INVALID_ARGUMENT,
    408: Code.INVALID_ARGUMENT,
    413: Code.INVALID_ARGUMENT,
    415: Code.INVALID_ARGUMENT,
}
_CONFLICTS = {
    Reason.ALREADY_DONE: "it has ended already",
    Reason.CANCELLED: "it was cancelled",
    Reason.HELD_BY_OTHER: "somebody holds it",
}
_QUEUE_RULE = "1 to 64 of a-z, 0-9, dot, dash and underscore, a letter or digit at both ends"
_RULES = {
    "title": f"one line of 1 to {MAX_TITLE_CHARS} characters",
    "queue": _QUEUE_RULE,
    "queues": f"at least one queue name: {_QUEUE_RULE}",
    "kind": f"one line of 1 to {MAX_KIND_CHARS} characters",
    "source": f"one line of 1 to {MAX_SOURCE_CHARS} characters",
    "idempotency_key": f"one line of 1 to {MAX_KEY_CHARS} characters",
    "priority": f"a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}",
    "payload": "JSON within the size limit, without NUL characters",
    "available_at": "an RFC 3339 time with its offset, such as 2026-01-31T09:00:00Z",
    "assignee": "the slug of an active endpoint that was granted the queue",
    "max_attempts": "a whole number from 1 to 100",
    "max_lapses": "a whole number from 1 to 100",
    "agent": "1 to 40 of a-z, 0-9 and dash, a letter or digit at both ends",
    "verbs": "at least one agent verb",
    "lease_seconds": "10 to 86400 seconds",
    "expires_in": "1 second to 3660 days",
    "overlap_seconds": "0 seconds to 30 days",
    "cursor": "the next_cursor of an earlier answer",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One refused request. `headers` holds only what this refusal adds."""

    status: int
    code: str
    detail: str
    reason: str | None = None
    field: str | None = None
    headers: Headers = ()

    def document(self) -> bytes:
        """The JSON body."""
        body: dict[str, object] = {
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        if self.reason is not None:
            body["reason"] = self.reason
        if self.field is not None:
            body["field"] = self.field
        return orjson.dumps(body)


class ProblemDocument(BaseModel):
    """The shape of `Problem.document`, for the OpenAPI description."""

    status: int = Field(description="The HTTP status.")
    code: str = Field(description="Stable: what scripts decide on.")
    detail: str = Field(description="For people.")
    reason: str | None = Field(None, description="What stood in the way, with code conflict.")
    field: str | None = Field(None, description="The argument at fault.")


class Refused(Exception):
    """Leaves a handler with a problem as its answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def of_code(code: Code, headers: Headers = ()) -> Problem:
    """The problem of a code."""
    return Problem(_STATUS[code], code.value, _DETAIL[code], headers=headers)


def of_status(status: int, detail: str) -> Problem:
    """The problem of an HTTP status that the web framework or the gate decided on."""
    code = _CODE_OF_STATUS.get(status, Code.INTERNAL)
    return Problem(status, code.value, detail)


def of_refusal(refusal: Refusal) -> Problem:
    """The problem of a step that was not taken."""
    code, reason, field = refusal.code, refusal.reason, refusal.field
    detail = _DETAIL[code]
    if field is not None:
        return of_field(field)
    if reason is not None:
        detail = _CONFLICTS.get(reason, detail)
    return Problem(_STATUS[code], code.value, detail, reason.value if reason else None)


def of_field(field: str, rule: str | None = None) -> Problem:
    """The problem of one argument. `field` may be dotted, and may come from the client."""
    shown = field[:_MAX_FIELD_CHARS]
    known = rule or _RULES.get(field.rpartition(".")[2], "is not valid")
    code = Code.INVALID_ARGUMENT
    return Problem(_STATUS[code], code.value, f"{shown}: {known}", field=shown)


async def send_problem(send: Send, problem: Problem, *, close: bool = False) -> None:
    """Answer with the document; `close` when the request's body is left unread."""
    body = problem.document()
    headers = [
        (b"content-type", MEDIA_TYPE.encode("ascii")),
        (b"content-length", str(len(body)).encode("ascii")),
        *problem.headers,
    ]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
