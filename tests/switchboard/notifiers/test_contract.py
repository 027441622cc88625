"""What every notifier does for the parts of one process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.workspace import WorkspaceId
from switchboard.notifier import Notifier, QueueResumed, Signal, TodoReady, TodoReleased
from switchboard.notifiers.memory import MemoryNotifier
from tests.postgres import cluster
from tests.switchboard.domain.todos import ready_todo
from tests.switchboard.notifiers.replicas import Rows, replicas

RESUMED = QueueResumed(WorkspaceId("ws_1"), "inbox")


@pytest_asyncio.fixture(params=["memory", "postgres"])
async def notifier(request: pytest.FixtureRequest) -> AsyncIterator[Notifier]:
    if request.param == "memory":
        yield MemoryNotifier()
        return
    async with replicas(cluster().new_database(), Rows(), count=1) as (only,):
        yield only.notifier


async def test_every_subscriber_is_told_before_publish_returns_and_in_order(
    notifier: Notifier,
) -> None:
    first: list[Signal] = []
    second: list[Signal] = []
    notifier.subscribe(first.append)
    notifier.subscribe(second.append)
    released = TodoReleased(ready_todo(), EndpointId("ep_1"))
    ready = TodoReady(ready_todo())
    notifier.publish(released)
    notifier.publish(ready)
    assert first == second == [released, ready]


async def test_what_all_replicas_find_is_told_here_too(notifier: Notifier) -> None:
    heard: list[Signal] = []
    notifier.subscribe(heard.append)
    notifier.publish(due := TodoReady(ready_todo(), found_by_all=True))
    assert heard == [due]


async def test_a_subscriber_that_raises_is_logged_and_harms_no_other(
    notifier: Notifier, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(signal: Signal) -> None:
        raise RuntimeError("broken")

    heard: list[Signal] = []
    notifier.subscribe(broken)
    notifier.subscribe(heard.append)
    notifier.publish(RESUMED)
    assert heard == [RESUMED]
    assert [record.message for record in caplog.records] == ["subscriber_failed"]


async def test_whoever_unsubscribed_is_told_nothing_more_and_may_do_so_twice(
    notifier: Notifier,
) -> None:
    heard: list[Signal] = []
    leave = notifier.subscribe(heard.append)
    leave()
    leave()
    notifier.publish(RESUMED)
    assert heard == []
