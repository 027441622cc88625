"""The agent verbs: guards in order, then one use case, then the answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent_transport.mcp import Call, CallEnded, EndReason
from switchboard.domain.endpoint import Caller, Verb
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import State, Todo, TodoId
from switchboard.errors import StoreUnavailable
from switchboard.mcp.advice import advice
from switchboard.mcp.answers import (
    RETRY_FROM_S,
    Answer,
    claim_answer,
    failure,
    history_answer,
    page,
    row,
    success,
    work_again,
)
from switchboard.mcp.arguments import Arguments, check
from switchboard.records import Changed, Created, NothingReady, TodoFilter
from switchboard.request_scope import RequestScope, request_at_hand
from switchboard.service.agent_work import AgentWork
from switchboard.service.draft import TodoDraft
from switchboard.service.leases import Lease, Leases, Wanted
from switchboard.store import AgentTodos

_log = logging.getLogger(__name__)
DEFAULT_ROWS = 50
RETRY_AT_MOST_S = 30
RETRY_SPREAD_S = 4
"""A batch that is lost fails hundreds of calls in one moment; they shall not return in one."""
_LOGGED = (Code.UNAVAILABLE, Code.INTERNAL)
"""These have a record of their own, with the cause."""

Run = Callable[[Arguments, Call[Caller]], Awaitable[Answer | Refusal]]


class Tools:
    """Answers `tools/call`. One object per process."""

    def __init__(
        self,
        store: AgentTodos,
        leases: Leases,
        work: AgentWork,
        *,
        max_json_bytes: int,
        random: Callable[[], float],
    ) -> None:
        self._store = store
        self._leases = leases
        self._work = work
        self._max_json_bytes = max_json_bytes
        self._random = random
        self._verbs: dict[Verb, Run] = {
            Verb.LIST_TODOS: self._list,
            Verb.CLAIM: self._claim,
            Verb.COMPLETE: self._complete,
            Verb.FAIL: self._fail,
            Verb.HEARTBEAT: self._heartbeat,
            Verb.RELEASE: self._release,
            Verb.GET_TODO: self._get,
            Verb.CREATE_TODO: self._create,
        }

    async def call(self, verb: Verb, given: Mapping[str, Any], call: Call[Caller]) -> Answer:
        """Run one verb. Nothing is read or written before the guards have passed."""
        request = request_at_hand() or RequestScope()
        request.tool, request.session = verb.value, call.session and call.session.id[:8]
        answer = await self._answer(verb, given, call, request)
        if isinstance(answer, Refusal):
            return self._refused(answer, verb, call.caller)
        return answer

    async def _answer(
        self, verb: Verb, given: Mapping[str, Any], call: Call[Caller], request: RequestScope
    ) -> Answer | Refusal:
        if verb not in call.caller.verbs:
            return Refusal(Code.FORBIDDEN)
        checked = check(verb, given, call.caller, self._max_json_bytes)
        if isinstance(checked, Refusal):
            return checked
        request.todo_id = checked.get("id")
        try:
            answer = await self._verbs[verb](checked, call)
            if not isinstance(answer, Refusal):
                return success(answer)
        except CallEnded:
            raise
        except StoreUnavailable:
            _log.warning("tool_unavailable", exc_info=True)
            return Refusal(Code.UNAVAILABLE)
        except Exception:
            _log.exception("tool_failed")
            return Refusal(Code.INTERNAL)
        if answer.code is Code.FORBIDDEN:
            # Scope was judged above, so the credential has ended since it was admitted, and
            # the ledger knows before the signal is here: 401 like the next call.
            call.ended.set(EndReason.REVOKED)
            raise CallEnded
        return answer

    def _refused(self, refusal: Refusal, verb: Verb, caller: Caller) -> Answer:
        if refusal.code not in _LOGGED:
            _log.info("tool_refused", extra=_why(refusal))
        retry_after_s = RETRY_FROM_S + round(self._random() * RETRY_SPREAD_S)
        return failure(refusal, advice(refusal, verb, caller), retry_after_s=retry_after_s)

    # With a lease

    async def _claim(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        caller = call.caller
        wanted = Wanted(
            todo_id=_id(args) if "id" in args else None,
            queues=(args["queue"],) if "queue" in args else caller.queues,
            lease_ms=_lease_ms(args, caller),
            wait_s=args.get("wait_seconds", 0),
            claim_key=args.get("claim_key"),
        )
        answer = await self._leases.claim(caller, wanted, call.ended, call.undo_if_unsent)
        if isinstance(answer, Lease):
            return claim_answer(answer, caller)
        if isinstance(answer, Refusal):
            return answer
        if call.ended.is_set() and call.ended.reason is not EndReason.DRAINED:
            raise CallEnded
        return {"empty": True, "retry_after_seconds": _retry_s(answer)}

    async def _complete(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        result, summary = args.get("result"), args.get("summary")
        changed = await self._leases.complete(call.caller, _id(args), _token(args), result, summary)
        return changed if isinstance(changed, Refusal) else row(changed.todo, call.caller)

    async def _fail(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        changed = await self._leases.fail(
            call.caller,
            _id(args),
            _token(args),
            args.get("reason"),
            args.get("summary"),
            retry=args.get("retry", True),
        )
        return await self._changed(changed, call.caller)

    async def _heartbeat(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        caller, todo_id = call.caller, _id(args)
        changed = await self._leases.heartbeat(
            caller, todo_id, _token(args), _lease_ms(args, caller), args.get("note")
        )
        if isinstance(changed, Refusal):
            return changed
        shown = row(changed.todo, caller)
        if not args.get("include_payload", False):
            return shown
        history = await self._work.show(caller, todo_id)
        return shown | (work_again(history) if history else {})

    async def _release(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        delay_ms = args.get("delay_seconds", 0) * 1000
        changed = await self._leases.release(call.caller, _id(args), _token(args), delay_ms)
        return await self._changed(changed, call.caller)

    # Without one

    async def _list(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        caller = call.caller
        queues = (args["queue"],) if "queue" in args else caller.queues
        states = (State(args["state"]),) if "state" in args else (State.PENDING, State.CLAIMED)
        limit = args.get("limit", DEFAULT_ROWS)
        before = TodoId(args["cursor"]) if "cursor" in args else None
        rows = await self._store.list_in_scope(caller, TodoFilter(queues, states, limit, before))
        shown = [row(one.todo, caller, claimable=one.claimable) for one in rows[:limit]]
        return page(shown, more=len(rows) > limit)

    async def _get(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        history = await self._work.show(call.caller, _id(args))
        if history is None:
            return Refusal(Code.NOT_FOUND)
        return history_answer(await self._row(history.todo, call.caller), history)

    async def _create(self, args: Arguments, call: Call[Caller]) -> Answer | Refusal:
        draft = TodoDraft(
            queue=args["queue"],
            title=args["title"],
            payload=args.get("payload"),
            kind=args.get("kind"),
            priority=args.get("priority", 0),
            available_at_ms=args.get("available_at"),
            idempotency_key=args.get("idempotency_key"),
        )
        parent_id = TodoId(args["parent_id"]) if "parent_id" in args else None
        created = await self._work.create(call.caller, draft, parent_id)
        if not isinstance(created, Created):
            return created
        return await self._row(created.todo, call.caller) | {"created": created.created}

    async def _changed(self, changed: Changed | Refusal, caller: Caller) -> Answer | Refusal:
        return changed if isinstance(changed, Refusal) else await self._row(changed.todo, caller)

    async def _row(self, todo: Todo, caller: Caller) -> Answer:
        claimable = await self._work.is_claimable(caller, todo)
        return row(todo, caller, claimable=claimable)


def _why(refusal: Refusal) -> dict[str, str]:
    why = {"code": refusal.code, "reason": refusal.reason, "field": refusal.field}
    return {key: str(value) for key, value in why.items() if value is not None}


def _id(args: Arguments) -> TodoId:
    return TodoId(args["id"])


def _token(args: Arguments) -> str | None:
    return args.get("lease_token")


def _lease_ms(args: Arguments, caller: Caller) -> int:
    return args["lease_seconds"] * 1000 if "lease_seconds" in args else caller.lease_ms


def _retry_s(nothing: NothingReady) -> int:
    if nothing.next_ready_at_ms is None:
        return RETRY_AT_MOST_S
    wait_s = (nothing.next_ready_at_ms - nothing.now_ms + 999) // 1000
    return min(max(wait_s, 1), RETRY_AT_MOST_S)
