"""`/queues`."""

from __future__ import annotations

from fastapi import APIRouter

from switchboard.api.answers import OneQueue, QueueList
from switchboard.api.problem import Refused, of_code
from switchboard.api.reach import Reach, Reached, found
from switchboard.api.strict_json import StrictRoute
from switchboard.api.views import queue_view
from switchboard.domain.queue import is_queue_name
from switchboard.domain.refusal import Code

router = APIRouter(prefix="/queues", tags=["queues"], route_class=StrictRoute)


@router.get("")
async def list_queues(reach: Reached) -> QueueList:
    """List the queues by name."""
    queues = await reach.services.people.queues(reach.workspace_id)
    return QueueList(queues=[queue_view(queue) for queue in queues])


@router.post("/{name}/pause")
async def pause(name: str, reach: Reached) -> OneQueue:
    """Hand out nothing of this queue until it is resumed."""
    return await _set_paused(name, reach, paused=True)


@router.post("/{name}/resume")
async def resume(name: str, reach: Reached) -> OneQueue:
    """Hand out todos of this queue again."""
    return await _set_paused(name, reach, paused=False)


async def _set_paused(name: str, reach: Reach, *, paused: bool) -> OneQueue:
    if not is_queue_name(name):
        raise Refused(of_code(Code.NOT_FOUND))
    people = reach.services.people
    queue = found(await people.set_queue_paused(reach.workspace_id, name, paused, reach.actor))
    return OneQueue(queue=queue_view(queue))
