"""Todos that were rung and that nobody took yet: when each is rung again.

Kept in memory alone: a new process learns of them when streams open, and how often a todo was
rung stands in the ledger.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from switchboard.domain.todo import Todo, TodoId
from switchboard.domain.workspace import WorkspaceId

AGAIN_AFTER_MS = (300_000, 1_200_000, 3_600_000, 21_600_000, 21_600_000)
"""After how long the first, second, … ring is repeated. A todo rung once more than that is left
to whoever asks."""
WIDEN_AFTER_MS = 30_000
"""A pool's todo that one endpoint heard of and did not take is then told to all."""
REMEMBERED = 4_096


@dataclass(frozen=True, slots=True)
class Again:
    """A todo whose time has come. `widen`: until now only one of a pool was told."""

    workspace_id: WorkspaceId
    todo_id: TodoId
    due_ms: int
    widen: bool


class Unclaimed:
    """The schedule. A todo stands in it once; the last word counts."""

    def __init__(self) -> None:
        self._entries: dict[TodoId, Again] = {}
        self._heap: list[tuple[int, TodoId]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def ring_later(self, todo: Todo, rings: int, now_ms: int) -> None:
        """Plan the next ring of a todo that `rings` were taken of; beyond the last one, none."""
        if rings > len(AGAIN_AFTER_MS):
            self._entries.pop(todo.id, None)
            return
        self._plan(todo, now_ms + AGAIN_AFTER_MS[max(rings - 1, 0)], widen=False)

    def widen_later(self, todo: Todo, now_ms: int) -> None:
        """Plan to tell everybody."""
        self._plan(todo, now_ms + WIDEN_AFTER_MS, widen=True)

    def take_due(self, now_ms: int, most: int) -> list[Again]:
        """The entries whose time has come, longest overdue first; they are forgotten here."""
        due: list[Again] = []
        while self._heap and self._heap[0][0] <= now_ms and len(due) < most:
            due_ms, todo_id = heapq.heappop(self._heap)
            entry = self._entries.get(todo_id)
            if entry is not None and entry.due_ms == due_ms:
                due.append(self._entries.pop(todo_id))
        return due

    def _plan(self, todo: Todo, due_ms: int, *, widen: bool) -> None:
        self._entries.pop(todo.id, None)
        self._entries[todo.id] = Again(todo.workspace_id, todo.id, due_ms, widen)
        heapq.heappush(self._heap, (due_ms, todo.id))
        if len(self._entries) > REMEMBERED:
            del self._entries[next(iter(self._entries))]
        if len(self._heap) > 2 * REMEMBERED:
            self._heap = [(entry.due_ms, entry.todo_id) for entry in self._entries.values()]
            heapq.heapify(self._heap)
