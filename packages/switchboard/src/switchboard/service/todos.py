"""What people do with todos. Everything that makes one ready is told to the notifier."""

from __future__ import annotations

from collections.abc import Sequence

from switchboard.clock import Clock
from switchboard.domain.actor import Actor
from switchboard.domain.credential import RandomBytes
from switchboard.domain.identifier import mint_identifier
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import DEFAULT_JSON_BYTES, State, TodoId
from switchboard.domain.workspace import WorkspaceId
from switchboard.notifier import Notifier, TodoReady
from switchboard.records import Changed, Created, NewTodo, TodoFilter, TodoHistory, TodoRow
from switchboard.service.draft import Origin, TodoDraft, new_todo
from switchboard.service.validation import invalid
from switchboard.store import PeopleTodos

MAX_BULK = 1_000


class Todos:
    """The verbs of people. One object per process."""

    def __init__(
        self,
        store: PeopleTodos,
        notifier: Notifier,
        clock: Clock,
        random_bytes: RandomBytes,
        *,
        max_json_bytes: int = DEFAULT_JSON_BYTES,
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._clock = clock
        self._random_bytes = random_bytes
        self._max_json_bytes = max_json_bytes

    async def create(
        self, workspace_id: WorkspaceId, draft: TodoDraft, origin: Origin
    ) -> Created | Refusal:
        """Add one todo."""
        answer = await self.create_many(workspace_id, (draft,), origin)
        return answer if isinstance(answer, Refusal) else answer[0]

    async def create_many(
        self, workspace_id: WorkspaceId, drafts: Sequence[TodoDraft], origin: Origin
    ) -> Sequence[Created] | Refusal:
        """Add todos, all or none. Of several, a fault names the todo too: `todos.3.title`."""
        if not 0 < len(drafts) <= MAX_BULK:
            return invalid("todos")
        rows: list[NewTodo] = []
        for index, draft in enumerate(drafts):
            row = new_todo(draft, origin, self._new_id(), self._max_json_bytes)
            if isinstance(row, Refusal):
                return row if len(drafts) == 1 else invalid(f"todos.{index}.{row.field}")
            rows.append(row)
        created = await self._store.create_todos(workspace_id, rows, origin.actor)
        for one in created:
            if one.created:
                tell_if_due(self._notifier, one)
        return created

    async def show(self, workspace_id: WorkspaceId, todo_id: TodoId) -> TodoHistory | None:
        """A todo with its attempts and events."""
        return await self._store.todo(workspace_id, todo_id)

    async def list_rows(
        self, workspace_id: WorkspaceId, wanted: TodoFilter
    ) -> tuple[Sequence[TodoRow], bool]:
        """A page of rows, and whether there are more."""
        rows = await self._store.list_todos(workspace_id, wanted)
        return rows[: wanted.limit], len(rows) > wanted.limit

    async def retry(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        """Make a dead letter ready again."""
        return self._told(await self._store.retry_if_failed(workspace_id, todo_id, actor))

    async def release(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        """Take a todo from its holder."""
        return self._told(await self._store.release_if_claimed(workspace_id, todo_id, actor))

    async def cancel(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        """End a live todo for good."""
        return await self._store.cancel_if_live(workspace_id, todo_id, actor)

    def _told(self, answer: Changed | Refusal) -> Changed | Refusal:
        if isinstance(answer, Changed) and not answer.repeated:
            self._notifier.publish(TodoReady(answer.todo))
        return answer

    def _new_id(self) -> TodoId:
        return TodoId(mint_identifier("td", self._clock.now_ms(), self._random_bytes))


def tell_if_due(notifier: Notifier, created: Created) -> None:
    """Tell of a new todo that may be claimed at once."""
    todo = created.todo
    if todo.state is State.PENDING and todo.available_at_ms <= todo.created_at_ms:
        notifier.publish(TodoReady(created.todo))
