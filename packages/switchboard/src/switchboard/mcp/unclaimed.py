"""Todos that were rung and that nobody took yet: when each is rung again.

Kept in memory alone: a new process learns of them when streams open, and how often a todo was
rung stands in the ledger.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.todo import Todo, TodoId
from switchboard.domain.workspace import WorkspaceId

AGAIN_AFTER_MS = (300_000, 1_200_000, 3_600_000, 21_600_000, 21_600_000)
"""After how long the first, second, … ring is repeated. A todo rung once more than that is left
to whoever asks."""
WIDEN_AFTER_MS = 30_000
"""A pool's todo that one endpoint heard of and did not take is then told to all."""
REMEMBERED = 4_096

Lane = tuple[WorkspaceId, str, EndpointId | None]
"""Workspace, queue, assignee: todos of one lane are heard by the same endpoints."""


@dataclass(frozen=True, slots=True)
class Again:
    """A todo whose time has come, if it still waits."""

    workspace_id: WorkspaceId
    todo_id: TodoId
    due_ms: int


class _Waiting:
    """The todos of one lane. An entry of the heap counts only while it is the todo's last word."""

    def __init__(self) -> None:
        self.entries: dict[TodoId, Again] = {}
        self._heap: list[tuple[int, TodoId]] = []

    def put(self, again: Again) -> None:
        self.entries.pop(again.todo_id, None)
        self.entries[again.todo_id] = again
        heapq.heappush(self._heap, (again.due_ms, again.todo_id))
        if len(self._heap) > 2 * len(self.entries) + 64:
            self._heap = [(one.due_ms, one.todo_id) for one in self.entries.values()]
            heapq.heapify(self._heap)

    def drop_oldest(self) -> TodoId:
        todo_id = next(iter(self.entries))
        del self.entries[todo_id]
        return todo_id

    def take_due(self, now_ms: int) -> Again | None:
        while self._heap and self._heap[0][0] <= now_ms:
            due_ms, todo_id = heapq.heappop(self._heap)
            entry = self.entries.get(todo_id)
            if entry is not None and entry.due_ms == due_ms:
                return self.entries.pop(todo_id)
        return None


class Unclaimed:
    """The schedule. A todo stands in it once; the last word counts.

    Lanes are served in turn and the longest one gives way: a queue that nobody works on can
    neither use up the rings of the others nor push them out.
    """

    def __init__(self) -> None:
        self._lanes: dict[Lane, _Waiting] = {}
        self._lane_of: dict[TodoId, Lane] = {}

    def __len__(self) -> int:
        return len(self._lane_of)

    def __contains__(self, todo_id: TodoId) -> bool:
        return todo_id in self._lane_of

    def ring_later(self, todo: Todo, rings: int, now_ms: int) -> None:
        """Plan the next ring of a todo that `rings` were taken of; beyond the last one, none."""
        if rings > len(AGAIN_AFTER_MS):
            self.forget(todo.id)
            return
        self._plan(todo, now_ms + AGAIN_AFTER_MS[max(rings - 1, 0)])

    def widen_later(self, todo: Todo, now_ms: int) -> None:
        """Plan to tell everybody."""
        self._plan(todo, now_ms + WIDEN_AFTER_MS)

    def forget(self, todo_id: TodoId) -> None:
        """Plan nothing more for a todo."""
        lane = self._lane_of.pop(todo_id, None)
        if lane is not None:
            self._lanes[lane].entries.pop(todo_id, None)
            self._drop_if_empty(lane)

    def take_due(self, now_ms: int, most: int) -> list[Again]:
        """The entries whose time has come, a lane at a time in turn; they are forgotten here."""
        due: list[Again] = []
        lanes = list(self._lanes)
        while lanes and len(due) < most:
            lanes = [lane for lane in lanes if self._take_one(lane, now_ms, most, due)]
        return due

    def _take_one(self, lane: Lane, now_ms: int, most: int, due: list[Again]) -> bool:
        if len(due) >= most:
            return False
        # Last in the order of lanes from now on: the next pass begins where this one ended.
        waiting = self._lanes.pop(lane)
        entry = waiting.take_due(now_ms)
        if waiting.entries:
            self._lanes[lane] = waiting
        if entry is None:
            return False
        del self._lane_of[entry.todo_id]
        due.append(entry)
        return bool(waiting.entries)

    def _plan(self, todo: Todo, due_ms: int) -> None:
        self.forget(todo.id)
        lane = (todo.workspace_id, todo.queue, todo.assignee_id)
        self._lane_of[todo.id] = lane
        waiting = self._lanes.setdefault(lane, _Waiting())
        waiting.put(Again(todo.workspace_id, todo.id, due_ms))
        if len(self._lane_of) > REMEMBERED:
            longest = max(self._lanes, key=lambda lane: len(self._lanes[lane].entries))
            del self._lane_of[self._lanes[longest].drop_oldest()]
            self._drop_if_empty(longest)

    def _drop_if_empty(self, lane: Lane) -> None:
        if not self._lanes[lane].entries:
            del self._lanes[lane]
