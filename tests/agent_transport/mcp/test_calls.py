"""Which calls run, which are told that they are over, and who may not begin another."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from agent_transport.mcp.call import Call, EndReason
from agent_transport.mcp.calls import REMEMBERED, REMEMBERED_S, RunningCalls


class Who(NamedTuple):
    """A caller: an endpoint and one of its credentials."""

    key: str
    part: str


class Running:
    """Calls of a carrier whose clock the test moves."""

    def __init__(self, limit: int = 8) -> None:
        self.now_s = 0.0
        self.calls: RunningCalls[Who] = RunningCalls(
            lambda who: who.key, lambda who: who.part, limit, clock=lambda: self.now_s
        )

    def begin(self, who: Who) -> Call[Who]:
        call = Call(who, None, {})
        assert self.calls.begin(call)
        return call


ONE, ONE_AGAIN, OTHER = Who("a", "a1"), Who("a", "a2"), Who("b", "b1")


def test_the_end_of_a_key_is_told_to_its_calls_alone() -> None:
    running = Running()
    one, again, other = (running.begin(who) for who in (ONE, ONE_AGAIN, OTHER))
    running.calls.end("a", EndReason.REVOKED)
    ends = [call.ended.reason for call in (one, again, other)]
    assert ends == [EndReason.REVOKED, EndReason.REVOKED, None]


def test_the_end_of_a_part_is_told_to_its_calls_alone() -> None:
    running = Running()
    one, again, other = (running.begin(who) for who in (ONE, ONE_AGAIN, OTHER))
    running.calls.end_part("a", "a1", EndReason.EXPIRED)
    assert [call.ended.reason for call in (one, again, other)] == [EndReason.EXPIRED, None, None]
    assert [running.calls.is_gone(who) for who in (ONE, ONE_AGAIN, OTHER)] == [True, False, False]


@pytest.mark.parametrize("reason", [EndReason.REVOKED, EndReason.EXPIRED])
def test_whoever_was_admitted_before_the_end_is_known_until_no_request_can_be_under_way(
    reason: EndReason,
) -> None:
    running = Running()
    running.calls.end("a", reason)
    running.now_s = REMEMBERED_S - 1
    running.calls.end("c", reason)
    assert running.calls.is_gone(ONE)
    assert running.calls.is_gone(ONE_AGAIN)
    running.now_s = REMEMBERED_S
    running.calls.end("d", reason)
    assert not running.calls.is_gone(ONE)
    assert running.calls.is_gone(Who("c", "c1"))


@pytest.mark.parametrize("reason", [EndReason.DRAINED, EndReason.CLOSED, EndReason.REPLACED])
def test_an_end_that_leaves_the_credential_good_keeps_nobody_out(reason: EndReason) -> None:
    running = Running()
    running.calls.end("a", reason)
    running.calls.end_part("b", "b1", reason)
    assert not running.calls.is_gone(ONE)
    assert not running.calls.is_gone(OTHER)


def test_so_many_ends_are_remembered_and_no_more() -> None:
    running = Running()
    for number in range(REMEMBERED + 1):
        running.calls.end(f"key {number}", EndReason.REVOKED)
    assert not running.calls.is_gone(Who("key 0", ""))
    assert running.calls.is_gone(Who("key 1", ""))
    assert running.calls.is_gone(Who(f"key {REMEMBERED}", ""))


def test_a_key_has_so_many_calls_and_one_that_is_over_makes_room() -> None:
    running = Running(limit=1)
    first = running.begin(ONE)
    assert not running.calls.begin(Call(ONE_AGAIN, None, {}))
    running.begin(OTHER)
    running.calls.finish(first)
    running.calls.finish(first)
    assert running.calls.keys() == ("b",)
    running.begin(ONE_AGAIN)
