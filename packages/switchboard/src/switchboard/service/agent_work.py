"""What an endpoint does beside its leases: look at a todo, add one."""

from __future__ import annotations

from switchboard.clock import Clock
from switchboard.domain.credential import RandomBytes
from switchboard.domain.endpoint import Caller
from switchboard.domain.identifier import mint_identifier
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import State, Todo, TodoId, Trust
from switchboard.notifier import Notifier
from switchboard.records import Created, TodoHistory
from switchboard.service.draft import Origin, TodoDraft, new_todo
from switchboard.service.todos import tell_if_due
from switchboard.store import Store

AGENT_KEYS = "agent"
"""Keys of agents are their own: an agent cannot squat on a key that a person uses."""


class AgentWork:
    """The verbs of endpoints that need no lease. One object per process."""

    def __init__(
        self,
        store: Store,
        notifier: Notifier,
        clock: Clock,
        random_bytes: RandomBytes,
        *,
        max_json_bytes: int,
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._clock = clock
        self._random_bytes = random_bytes
        self._max_json_bytes = max_json_bytes

    async def show(self, caller: Caller, todo_id: TodoId) -> TodoHistory | None:
        """A todo of the caller's queues with its attempts."""
        return await self._store.todo_in_scope(caller, todo_id)

    async def create(
        self, caller: Caller, draft: TodoDraft, parent_id: TodoId | None
    ) -> Created | Refusal:
        """Add a todo. It may ring only below a parent that the caller holds."""
        todo_id = TodoId(mint_identifier("td", self._clock.now_ms(), self._random_bytes))
        origin = Origin(caller.actor, Trust.AGENT, None, AGENT_KEYS, parent_id)
        new = new_todo(draft, origin, todo_id, self._max_json_bytes)
        if isinstance(new, Refusal):
            return new
        created = await self._store.create_in_scope(caller, new)
        if isinstance(created, Created) and created.created:
            tell_if_due(self._notifier, created)
        return created

    async def is_claimable(self, caller: Caller, todo: Todo) -> bool:
        """Whether a claim of this todo by this caller would succeed now."""
        now_ms = self._clock.now_ms()
        is_lapsed = todo.state is State.CLAIMED and todo.lapses + 1 < todo.max_lapses
        if todo.ready_at_ms > now_ms or not (todo.state is State.PENDING or is_lapsed):
            return False
        if todo.assignee_id not in (None, caller.endpoint_id):
            return False
        queues = await self._store.queues(todo.workspace_id)
        return not any(queue.name == todo.queue and queue.paused for queue in queues)
