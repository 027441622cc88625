"""What a model is told to do about a refusal: the last words of each tool error."""

from __future__ import annotations

from switchboard.domain.endpoint import Caller, Verb
from switchboard.domain.refusal import Code, Reason, Refusal
from switchboard.mcp.schemas import PROPERTIES, REQUIRED, Schema

_ADVICE = {
    Code.FORBIDDEN: "This is outside what the endpoint was granted; do not try it again.",
    Code.NOT_FOUND: "There is no such todo in scope; take another.",
    Code.CONFLICT: "Stop working on this todo and take another.",
    Code.INVALID_ARGUMENT: "Correct the argument and call again.",
    Code.RATE_LIMITED: "Wait, then call again.",
    Code.UNAVAILABLE: "The ledger cannot answer now; call again in a few seconds.",
    Code.INTERNAL: "The call failed; tell the operator if it happens again.",
}


def advice(refusal: Refusal, verb: Verb, caller: Caller) -> str:
    """One or two sentences. What is granted and what fits stand in them, so nobody has to guess."""
    if refusal.reason is Reason.STALE_TOKEN:
        return "Pass the lease_token your last claim returned, or stop."
    if refusal.reason is Reason.HELD_BY_OTHER and verb is Verb.CLAIM:
        # The other may be a session of this endpoint, or this very one that forgot its claim.
        return "Somebody works on it. If that is you, go on; if not, take another."
    if refusal.code is Code.FORBIDDEN and refusal.field == "queue":
        return f"This endpoint was granted {', '.join(caller.queues)}; do not try others again."
    if refusal.code is Code.INVALID_ARGUMENT and refusal.field is not None:
        return _rule(verb, refusal.field)
    return _ADVICE[refusal.code]


def _rule(verb: Verb, name: str) -> str:
    if name == "lease_token":
        return "Pass the lease_token your last claim returned."
    schema = PROPERTIES[verb].get(name)
    if schema is None:
        return f"There is no such argument; {verb.value} takes {', '.join(PROPERTIES[verb])}."
    needed = "Required" if name in REQUIRED[verb] else "Optional"
    return f"{needed}, {_kind(schema)}. {schema['description']} Correct it and call again."


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    match schema.get("type"):
        case "integer":
            return f"an integer from {schema['minimum']} to {schema['maximum']}"
        case "boolean":
            return "true or false"
        case "string" if "maxLength" in schema:
            return f"a string of at most {schema['maxLength']} characters, in one line"
        case "string":
            return "a string"
        case _:
            return "any JSON value that is not too large or too deep, without NUL"
