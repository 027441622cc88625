"""What people do with todos. Everything that makes one ready is told to the notifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from switchboard.clock import Clock
from switchboard.domain.actor import Actor
from switchboard.domain.credential import RandomBytes
from switchboard.domain.endpoint import EndpointId
from switchboard.domain.identifier import mint_identifier
from switchboard.domain.queue import is_queue_name
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import (
    DEFAULT_JSON_BYTES,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_LAPSES,
    MAX_KEY_CHARS,
    MAX_KIND_CHARS,
    MAX_PRIORITY,
    MAX_SOURCE_CHARS,
    MAX_TITLE_CHARS,
    MIN_PRIORITY,
    TodoId,
    Trust,
)
from switchboard.domain.workspace import PersonId, WorkspaceId
from switchboard.notifier import Notifier, TodoReady
from switchboard.records import Changed, Created, NewTodo, TodoFilter, TodoHistory, TodoRow
from switchboard.service.validation import invalid, is_one_line, json_text
from switchboard.store import PeopleTodos

MAX_BULK = 1_000


@dataclass(frozen=True, slots=True)
class TodoDraft:
    """A todo as it is asked for; nothing in it has been checked."""

    queue: str
    title: str
    payload: object = None
    kind: str | None = None
    source: str | None = None
    priority: int = 0
    available_at_ms: int | None = None
    delay_ms: int = 0
    idempotency_key: str | None = None
    assignee_id: EndpointId | None = None
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    max_lapses: int = DEFAULT_MAX_LAPSES


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a todo comes from: it decides whether the todo may ring."""

    actor: Actor
    trust: Trust
    person_id: PersonId | None
    key_space: str = "person"
    parent_id: TodoId | None = None


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
            row = self._checked(draft, origin)
            if isinstance(row, Refusal):
                return row if len(drafts) == 1 else invalid(f"todos.{index}.{row.field}")
            rows.append(row)
        created = await self._store.create_todos(workspace_id, rows, origin.actor)
        for one in created:
            if one.created:
                self._tell_if_due(one)
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

    def _tell_if_due(self, one: Created) -> None:
        if one.todo.available_at_ms <= one.todo.created_at_ms:
            self._notifier.publish(TodoReady(one.todo))

    def _checked(self, draft: TodoDraft, origin: Origin) -> NewTodo | Refusal:
        fault = _field_at_fault(draft)
        if fault is not None:
            return invalid(fault)
        payload = None
        if draft.payload is not None:
            payload = json_text(draft.payload, self._max_json_bytes)
            if payload is None:
                return invalid("payload")
        return NewTodo(
            id=TodoId(mint_identifier("td", self._clock.now_ms(), self._random_bytes)),
            queue=draft.queue,
            title=draft.title,
            trust=origin.trust,
            person_id=origin.person_id,
            kind=draft.kind,
            source=draft.source,
            payload_json=payload,
            payload_bytes=len(payload.encode()) if payload else 0,
            priority=draft.priority,
            available_at_ms=draft.available_at_ms,
            delay_ms=draft.delay_ms,
            assignee_id=draft.assignee_id,
            parent_id=origin.parent_id,
            key_space=origin.key_space,
            idempotency_key=draft.idempotency_key,
            max_attempts=draft.max_attempts,
            max_lapses=draft.max_lapses,
        )


def _field_at_fault(draft: TodoDraft) -> str | None:
    checks = (
        ("queue", is_queue_name(draft.queue)),
        ("title", is_one_line(draft.title, MAX_TITLE_CHARS)),
        ("kind", draft.kind is None or is_one_line(draft.kind, MAX_KIND_CHARS)),
        ("source", draft.source is None or is_one_line(draft.source, MAX_SOURCE_CHARS)),
        (
            "idempotency_key",
            draft.idempotency_key is None or is_one_line(draft.idempotency_key, MAX_KEY_CHARS),
        ),
        ("priority", MIN_PRIORITY <= draft.priority <= MAX_PRIORITY),
        ("delay_ms", 0 <= draft.delay_ms <= 366 * 86_400_000),
        ("available_at", draft.available_at_ms is None or 0 <= draft.available_at_ms < 1 << 47),
        ("max_attempts", 1 <= draft.max_attempts <= 100),
        ("max_lapses", 1 <= draft.max_lapses <= 100),
    )
    return next((field for field, holds in checks if not holds), None)
