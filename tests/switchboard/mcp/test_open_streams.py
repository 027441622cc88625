"""Whose turn it is among the streams of one endpoint, and what of one that takes nothing."""

from __future__ import annotations

import logging
from itertools import count

import pytest

from agent_transport.mcp import EndReason, NotificationStream, SessionRecord
from switchboard.domain.endpoint import CORE_VERBS, Caller, EndpointId, Protocol, Verb
from switchboard.domain.workspace import WorkspaceId
from switchboard.mcp.open_streams import SPOKE_WITHIN_MS, EndpointStreams, OpenStreams
from tests.switchboard.domain.todos import ready_todo

Stream = NotificationStream[Caller]
FRAME = b"data: {}\n\n"
NOW_MS = 10 * SPOKE_WITHIN_MS


def caller(name: str = "scout", *queues: str, verbs: tuple[Verb, ...] = CORE_VERBS) -> Caller:
    return Caller(
        EndpointId(f"ep_{name}"),
        WorkspaceId("ws_1"),
        "cr_1",
        name,
        name,
        queues or ("reviews",),
        verbs,
        Protocol.AUTO,
        300_000,
        None,
    )


_opened = count(1)


def stream(name: str, *, of: Caller | None = None, room: int = 16) -> Stream:
    """A stream that nobody pumps: what it takes stays in its buffer of `room`."""
    opened = NotificationStream(
        of or caller(), SessionRecord(name, "2025-11-25", {}, {}), buffer=room
    )
    opened.opened_at = float(next(_opened))
    return opened


def rung(streams: EndpointStreams, spoke: dict[str, int] | None = None) -> str | None:
    """Ring once: the name of the stream that took it."""
    taken = streams.offer(FRAME, lambda name: (spoke or {}).get(name, NOW_MS), NOW_MS)
    took = [one.session.id for one in streams.streams if one.take_all()]
    assert taken == (len(took) == 1)
    return took[0] if took else None


def opened(*streams: Stream) -> EndpointStreams:
    every = OpenStreams()
    (found,) = {every.add(one) for one in streams}
    return found


def test_the_newest_has_the_first_turn_and_then_each_in_turn() -> None:
    streams = opened(stream("a"), stream("b"), stream("c"))
    assert [rung(streams) for _ in range(6)] == ["c", "b", "a", "c", "b", "a"]


def test_silent_sessions_come_after_those_that_spoke_and_the_newest_of_them_first() -> None:
    streams = opened(stream("a"), stream("b"), stream("c"))
    edge = NOW_MS - SPOKE_WITHIN_MS
    assert [rung(streams, {"b": edge, "c": edge}) for _ in range(2)] == ["a", "a"]
    assert [rung(streams, {"a": edge + 1, "b": edge, "c": 0}) for _ in range(2)] == ["a", "a"]
    assert [rung(streams, dict.fromkeys("abc", edge)) for _ in range(3)] == ["c", "c", "c"]


def test_a_stream_that_takes_nothing_does_not_silence_its_siblings() -> None:
    stuck, works = stream("stuck", room=0), stream("works")
    over = stream("over")
    streams = opened(works, over, stuck)
    over.end(EndReason.DISCONNECTED)
    assert [rung(streams) for _ in range(3)] == ["works", "works", "works"]
    streams.remove(works)
    assert rung(streams) is None


def test_three_misses_in_a_row_make_one_warning_that_names_the_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stuck = stream("0123456789abcdef", room=1)
    streams = opened(stuck)
    for misses in (2, 2, 7):
        assert streams.offer_to(stuck, FRAME)
        assert not any(streams.offer_to(stuck, FRAME) for _ in range(misses))
        stuck.take_all()
    (warned,) = (one for one in caplog.records if one.levelno == logging.WARNING)
    assert vars(warned)["session"] == "01234567"
    assert vars(warned)["slug"] == "scout"


def test_a_stream_that_is_over_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    over = stream("over")
    streams = opened(over)
    over.end(EndReason.DISCONNECTED)
    assert not any(streams.offer_to(over, FRAME) for _ in range(5))
    assert not caplog.records


def test_endpoints_are_found_by_queue_and_assignee_as_long_as_a_stream_is_open() -> None:
    both, one = caller("both", "reviews", "deploys"), caller("one", "reviews")
    mute = caller("mute", "reviews", verbs=(Verb.COMPLETE,))
    streams = [stream("1", of=both), stream("2", of=both), stream("3", of=one)]
    every = OpenStreams()
    for opening in (*streams, stream("4", of=mute)):
        every.add(opening)

    def hearing(**fields: object) -> set[str]:
        return {found.caller.slug for found in every.hearing(ready_todo(**fields))}

    assert hearing(queue="reviews") == {"both", "one"}
    assert hearing(queue="deploys") == {"both"}
    assert hearing(queue="nowhere") == set()
    assert hearing(queue="reviews", workspace_id="ws_2") == set()
    assert hearing(queue="reviews", assignee_id=one.endpoint_id) == {"one"}
    assert hearing(queue="deploys", assignee_id=one.endpoint_id) == set()
    every.remove(streams[0])
    assert hearing(queue="deploys") == {"both"}
    every.remove(streams[1])
    every.remove(streams[1])
    assert hearing(queue="deploys") == set()
    assert set(every.session_ids(None)) == {"3", "4"}
    assert list(every.session_ids(both.endpoint_id)) == []
