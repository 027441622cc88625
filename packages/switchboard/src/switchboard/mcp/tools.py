"""The agent verbs: guards in order, then one use case, then the answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from agent_transport.mcp import Call
from switchboard.domain.endpoint import MIN_LEASE_MS, Caller, Verb
from switchboard.domain.identifier import TODO_ID
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import DEFAULT_JSON_BYTES, MAX_SUMMARY_BYTES, State, TodoId
from switchboard.errors import StoreUnavailable
from switchboard.mcp.answers import claim_answer, failure, row, success
from switchboard.mcp.schemas import PROPERTIES, REQUIRED
from switchboard.records import Changed, NothingReady, TodoFilter
from switchboard.service.leases import Lease, Leases, Wanted
from switchboard.service.validation import invalid, is_storable, json_text
from switchboard.store import AgentTodos

_log = logging.getLogger(__name__)
_SHORT_TEXTS = ("summary", "reason", "note")


class Tools:
    """Answers `tools/call`. One object per process."""

    def __init__(
        self, store: AgentTodos, leases: Leases, *, max_json_bytes: int = DEFAULT_JSON_BYTES
    ) -> None:
        self._store = store
        self._leases = leases
        self._max_json_bytes = max_json_bytes

    async def call(
        self, verb: Verb, given: Mapping[str, Any], call: Call[Caller]
    ) -> dict[str, Any]:
        """Run one verb. Nothing is read or written before the guards have passed."""
        caller = call.caller
        if verb not in caller.verbs:
            return failure(Refusal(Code.FORBIDDEN))
        checked = self._checked(verb, given, caller)
        if isinstance(checked, Refusal):
            return failure(checked)
        try:
            answer = await self._run(verb, checked, call)
        except StoreUnavailable:
            _log.warning("tool_unavailable", exc_info=True, extra=_who(caller, verb))
            return failure(Refusal(Code.UNAVAILABLE))
        except Exception:
            _log.exception("tool_failed", extra=_who(caller, verb))
            return failure(Refusal(Code.INTERNAL))
        return failure(answer) if isinstance(answer, Refusal) else success(answer)

    def _checked(
        self, verb: Verb, given: Mapping[str, Any], caller: Caller
    ) -> dict[str, Any] | Refusal:
        arguments: dict[str, Any] = {}
        for name, value in given.items():
            if name not in PROPERTIES[verb]:
                return invalid(name if is_storable(name) and len(name) <= 64 else "arguments")
            if value is None:
                continue
            fitted = self._fitted(name, value, PROPERTIES[verb][name])
            if isinstance(fitted, Refusal):
                return fitted
            arguments[name] = fitted
        for name in REQUIRED[verb]:
            if name not in arguments:
                return invalid(name)
        if "queue" in arguments and not caller.covers(arguments["queue"]):
            return Refusal(Code.FORBIDDEN, field="queue")
        return arguments

    def _fitted(self, name: str, value: object, schema: Mapping[str, Any]) -> object | Refusal:
        if name == "result":
            text = json_text(value, self._max_json_bytes)
            return invalid(name) if text is None else text
        kind = schema["type"]
        if kind == "integer":
            return _whole(name, value, schema)
        if kind == "boolean":
            value = (
                {"true": True, "false": False}.get(value, value)
                if isinstance(value, str)
                else value
            )
            return value if isinstance(value, bool) else invalid(name)
        if not isinstance(value, str) or not is_storable(value):
            return invalid(name)
        if "enum" in schema and value not in schema["enum"]:
            return invalid(name)
        if name in ("id", "cursor") and TODO_ID.fullmatch(value) is None:
            return invalid(name) if name == "cursor" else Refusal(Code.NOT_FOUND)
        if name in _SHORT_TEXTS and len(value.encode()) > MAX_SUMMARY_BYTES:
            return invalid(name)
        return value

    async def _run(
        self, verb: Verb, args: dict[str, Any], call: Call[Caller]
    ) -> dict[str, Any] | Refusal:
        caller = call.caller
        if verb is Verb.LIST_TODOS:
            return await self._list(args, caller)
        if verb is Verb.CLAIM:
            return await self._claim(args, call)
        todo_id, token = TodoId(args["id"]), cast("str | None", args.get("lease_token"))
        summary = args.get("summary")
        if verb is Verb.COMPLETE:
            changed = await self._leases.complete(
                caller, todo_id, token, args.get("result"), summary
            )
        elif verb is Verb.FAIL:
            changed = await self._leases.fail(
                caller, todo_id, token, args.get("reason"), summary, retry=args.get("retry", True)
            )
        elif verb is Verb.HEARTBEAT:
            changed = await self._leases.heartbeat(
                caller, todo_id, token, _lease_ms(args, caller), args.get("note")
            )
        else:
            delay_ms = args.get("delay_seconds", 0) * 1000
            changed = await self._leases.release(caller, todo_id, token, delay_ms)
        return row(changed.todo, caller) if isinstance(changed, Changed) else changed

    async def _list(self, args: dict[str, Any], caller: Caller) -> dict[str, Any]:
        queues = (args["queue"],) if "queue" in args else caller.queues
        states = (State(args["state"]),) if "state" in args else (State.PENDING, State.CLAIMED)
        limit = args.get("limit", 50)
        before = TodoId(args["cursor"]) if "cursor" in args else None
        rows = await self._store.list_in_scope(caller, TodoFilter(queues, states, limit, before))
        shown = [row(one.todo, caller, claimable=one.claimable) for one in rows[:limit]]
        more = {"next_cursor": shown[-1]["id"]} if len(rows) > limit else {}
        return {"todos": shown, **more}

    async def _claim(self, args: dict[str, Any], call: Call[Caller]) -> dict[str, Any] | Refusal:
        caller = call.caller
        wanted = Wanted(
            todo_id=TodoId(args["id"]) if "id" in args else None,
            queues=(args["queue"],) if "queue" in args else caller.queues,
            lease_ms=_lease_ms(args, caller),
            wait_s=args.get("wait_seconds", 0),
        )
        answer = await self._leases.claim(caller, wanted, call.ended, call.undo_if_unsent)
        if isinstance(answer, Lease):
            return claim_answer(answer, caller)
        if isinstance(answer, NothingReady):
            return {"empty": True, "retry_after_seconds": _retry_s(answer)}
        return answer


def _whole(name: str, value: object, schema: Mapping[str, Any]) -> int | Refusal:
    """ "5" and 5.0 are 5; true is not 1."""
    if isinstance(value, str) and len(value) <= 8 and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return invalid(name)
    return value if schema["minimum"] <= value <= schema["maximum"] else invalid(name)


def _lease_ms(args: Mapping[str, Any], caller: Caller) -> int:
    return (
        max(args["lease_seconds"] * 1000, MIN_LEASE_MS)
        if "lease_seconds" in args
        else caller.lease_ms
    )


def _retry_s(nothing: NothingReady) -> int:
    if nothing.next_ready_at_ms is None:
        return 30
    return min(max((nothing.next_ready_at_ms - nothing.now_ms + 999) // 1000, 1), 30)


def _who(caller: Caller, verb: Verb) -> dict[str, str]:
    return {"slug": caller.slug, "tool": verb.value}
