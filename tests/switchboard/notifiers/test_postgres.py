"""Signals between replicas: each once, through lost connections and poolers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.todo import State
from switchboard.domain.workspace import WorkspaceId
from switchboard.notifier import (
    CredentialEnded,
    EndpointEnded,
    EndWhy,
    QueueResumed,
    Signal,
    SignalsMissed,
    TodoReady,
    TodoReleased,
)
from switchboard.notifiers.postgres import CHANNEL, Connection, PostgresNotifier, connecting_to
from tests.postgres import cluster
from tests.switchboard.notifiers.replicas import Heard, Rows, replicas

WORKSPACE, ENDPOINT = WorkspaceId("ws_1"), EndpointId("ep_1")
LAST = QueueResumed(WORKSPACE, "last")
END_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"


def name_of(url: str) -> str:
    return url.split("?")[0].rsplit("/", 1)[1]


def is_last(heard: Heard) -> Callable[[], bool]:
    return lambda: LAST in heard.all


async def test_each_signal_is_told_to_every_replica_once_and_to_the_own_one_at_once() -> None:
    rows = Rows()
    todo = rows.add("1")
    signals: list[Signal] = [
        TodoReleased(todo, ENDPOINT),
        TodoReady(todo),
        EndpointEnded(WORKSPACE, ENDPOINT, EndWhy.REVOKED),
        CredentialEnded(WORKSPACE, ENDPOINT, "cr_1", EndWhy.EXPIRED),
        LAST,
    ]
    async with replicas(cluster().new_database(), rows, 3) as (one, two, three):
        for signal in signals:
            one.notifier.publish(signal)
        assert one.heard.told == signals
        for other in (two, three):
            await other.heard.until(lambda heard=other.heard: len(heard.told) == len(signals))
            assert sorted(map(repr, other.heard.told)) == sorted(map(repr, signals))
        two.notifier.publish(LAST)
        await one.heard.until(lambda: one.heard.told.count(LAST) == 2)
        assert one.heard.told == [*signals, LAST]


async def test_a_todo_is_told_as_the_ledger_has_it_now_and_only_while_it_waits() -> None:
    rows = Rows()
    sent, gone, taken = rows.add("1"), rows.add("2"), rows.add("3")
    async with replicas(cluster().new_database(), rows) as (one, two):
        del rows.todos[gone.id]
        rows.add("3", state=State.CLAIMED)
        now = rows.add("1", priority=9)
        for todo in (sent, gone, taken):
            one.notifier.publish(TodoReady(todo))
        await two.heard.until(lambda: bool(two.heard.told))
        one.notifier.publish(LAST)
        await two.heard.until(is_last(two.heard))
        assert two.heard.told == [TodoReady(now), LAST]


async def test_a_thousand_todos_added_at_a_stroke_are_all_told() -> None:
    rows = Rows()
    todos = [rows.add(f"{number:026}") for number in range(1_000)]
    async with replicas(cluster().new_database(), rows) as (one, two):
        for todo in todos:
            one.notifier.publish(TodoReady(todo))
        await two.heard.until(lambda: len(two.heard.told) == len(todos))
        assert two.heard.told == [TodoReady(todo) for todo in todos]


async def test_a_connection_that_is_cut_heals_and_what_was_told_meanwhile_arrives_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = cluster().new_database()
    async with replicas(url, Rows()) as (one, two):
        for round_ in range(3):
            cluster().run(END_OTHERS.format(name_of(url)))
            resumed = QueueResumed(WORKSPACE, f"round {round_}")
            one.notifier.publish(resumed)
            await two.heard.until(
                lambda missed=round_ + 1: two.heard.all.count(SignalsMissed()) == missed
            )
            await one.heard.until(
                lambda missed=round_ + 1: one.heard.all.count(SignalsMissed()) == missed
            )
        one.notifier.publish(LAST)
        await two.heard.until(is_last(two.heard))
        assert len(set(two.heard.told)) == len(two.heard.told)
    events = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert set(events) <= {"notifier_lost"}
    assert len(events) <= 6


async def test_a_server_that_is_away_costs_one_warning_and_its_return_is_noticed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = cluster().new_database()
    tries: list[None] = []

    async def connect() -> Connection:
        tries.append(None)
        return await connecting_to(url)()

    notifier, heard = PostgresNotifier(connect, Rows().read, poll_every_s=0.05), Heard()
    notifier.subscribe(heard)
    await notifier.start()
    try:
        assert notifier.is_listening
        cluster().stop()
        try:
            # Polling goes on while there is no connection, and so do the attempts.
            await heard.until(lambda: heard.all.count(SignalsMissed()) > 20 and len(tries) > 4)
            assert not notifier.is_listening
            assert len(tries) < 20
        finally:
            cluster().start()
        await heard.until(lambda: notifier.is_listening)
    finally:
        await notifier.stop()
    warned = [record.message for record in caplog.records if record.levelname != "DEBUG"]
    assert next(event for event in warned if event.startswith("notifier")) == "notifier_lost"
    assert warned.count("notifier_lost") == 1


async def test_a_service_may_begin_before_its_database_and_hears_when_that_is_there() -> None:
    url = cluster().new_database()
    open_now: list[bool] = []

    async def connect() -> Connection:
        if not open_now:
            raise ConnectionRefusedError
        return await connecting_to(url)()

    notifier, heard = PostgresNotifier(connect, Rows().read), Heard()
    notifier.subscribe(heard)
    await notifier.start()
    try:
        assert not notifier.is_listening
        open_now.append(True)
        await heard.until(lambda: notifier.is_listening)
        assert heard.all == [SignalsMissed()]
    finally:
        await notifier.stop()


async def test_behind_a_pooler_that_loses_listen_it_polls_says_so_once_and_still_tells(
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = cluster().new_database()

    async def lent_for_a_transaction() -> Connection:
        """What LISTEN left in one session is not there in the next."""
        connection: Any = await connecting_to(url)()
        keep = connection.add_listener

        async def add_listener(channel: str, callback: Callable[..., None]) -> None:
            await keep(channel, callback)
            await connection.execute("UNLISTEN *")

        connection = _Wrapped(connection, add_listener)
        return connection

    notifier = PostgresNotifier(lent_for_a_transaction, Rows().read, poll_every_s=0.05)
    heard = Heard()
    notifier.subscribe(heard)
    await notifier.start()
    try:
        assert not notifier.is_listening
        await heard.until(lambda: heard.all.count(SignalsMissed()) >= 3)
        async with replicas(url, Rows(), 1) as (listening,):
            notifier.publish(LAST)
            await listening.heard.until(is_last(listening.heard))
    finally:
        await notifier.stop()
    events = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert events == ["notifier_polls"]


async def test_what_strangers_write_on_the_channel_harms_nobody() -> None:
    url = cluster().new_database()
    stranger = await connecting_to(url)()
    try:
        async with replicas(url, Rows()) as (one, two):
            for text in ("", "{", '["x",1,[["endpoint"]]]', '["x",2,[["ready",7]]]', "9" * 7_000):
                await stranger.execute("SELECT pg_notify($1, $2)", CHANNEL, text)
            one.notifier.publish(LAST)
            await two.heard.until(is_last(two.heard))
            assert two.heard.told == [LAST]
    finally:
        await stranger.close()


async def test_the_last_signal_before_a_stop_is_told_and_stopping_twice_is_safe() -> None:
    async with replicas(cluster().new_database(), Rows()) as (one, two):
        one.notifier.publish(LAST)
        await one.notifier.stop()
        await one.notifier.stop()
        await two.heard.until(is_last(two.heard))


class _Wrapped:
    """A connection with another way of listening."""

    def __init__(self, connection: Any, add_listener: Any) -> None:
        self._connection = connection
        self.add_listener = add_listener

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
