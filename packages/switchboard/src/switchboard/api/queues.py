"""`/queues`."""

from __future__ import annotations

from fastapi import APIRouter

from switchboard.api.answers import OneQueue, QueueList
from switchboard.api.bodies import QueueChange
from switchboard.api.problem import Refused, of_code
from switchboard.api.reach import Reach, Reached, found
from switchboard.api.strict_json import StrictRoute
from switchboard.api.views import queue_view
from switchboard.domain.actor import Actor
from switchboard.domain.queue import is_queue_name
from switchboard.domain.refusal import Code
from switchboard.domain.workspace import WorkspaceId

router = APIRouter(prefix="/queues", tags=["queues"], route_class=StrictRoute)


@router.get("")
async def list_queues(reach: Reached) -> QueueList:
    """List the queues by name."""
    queues = await reach.services.queues.list_all(reach.workspace_id)
    return QueueList(queues=[queue_view(queue) for queue in queues])


@router.post("/{name}/pause")
async def pause(name: str, reach: Reached) -> OneQueue:
    """Hand out nothing of this queue until it is resumed."""
    desk = reach.services.queues
    return OneQueue(queue=queue_view(found(await desk.pause(*_named(name, reach)))))


@router.post("/{name}/resume")
async def resume(name: str, reach: Reached) -> OneQueue:
    """Hand out todos of this queue again."""
    desk = reach.services.queues
    return OneQueue(queue=queue_view(found(await desk.resume(*_named(name, reach)))))


@router.patch("/{name}")
async def change(name: str, body: QueueChange, reach: Reached) -> OneQueue:
    """Say whom a ready todo of this queue wakes."""
    workspace_id, known, actor = _named(name, reach)
    set_ring = reach.services.queues.set_ring
    return OneQueue(queue=queue_view(found(await set_ring(workspace_id, known, body.ring, actor))))


def _named(name: str, reach: Reach) -> tuple[WorkspaceId, str, Actor]:
    if not is_queue_name(name):
        raise Refused(of_code(Code.NOT_FOUND))
    return reach.workspace_id, name, reach.actor
