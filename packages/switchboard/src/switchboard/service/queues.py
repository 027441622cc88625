"""What people do with queues."""

from __future__ import annotations

from collections.abc import Sequence

from switchboard.domain.actor import Actor
from switchboard.domain.queue import Queue, RingPolicy
from switchboard.domain.workspace import WorkspaceId
from switchboard.notifier import Notifier, QueueResumed
from switchboard.store import People


class QueueDesk:
    """The verbs of people for queues. One object per process."""

    def __init__(self, store: People, notifier: Notifier) -> None:
        self._store = store
        self._notifier = notifier

    async def list_all(self, workspace_id: WorkspaceId) -> Sequence[Queue]:
        """All queues, by name."""
        return await self._store.queues(workspace_id)

    async def pause(self, workspace_id: WorkspaceId, name: str, actor: Actor) -> Queue | None:
        """Hand out nothing of a queue; None when there is none of that name."""
        return await self._store.set_queue_paused(workspace_id, name, True, actor)

    async def resume(self, workspace_id: WorkspaceId, name: str, actor: Actor) -> Queue | None:
        """Hand out a queue's todos again; whoever listens is told of what waits."""
        queue = await self._store.set_queue_paused(workspace_id, name, False, actor)
        if queue is not None:
            self._notifier.publish(QueueResumed(workspace_id, name))
        return queue

    async def set_ring(
        self, workspace_id: WorkspaceId, name: str, ring: RingPolicy, actor: Actor
    ) -> Queue | None:
        """Say whom a ready todo of a queue wakes; None when there is none of that name."""
        return await self._store.set_queue_ring(workspace_id, name, ring, actor)
