"""The schedule of repeated rings: lanes in turn, bounded, the last word counts."""

from __future__ import annotations

from switchboard.domain.todo import Todo, TodoId
from switchboard.mcp.unclaimed import AGAIN_AFTER_MS, REMEMBERED, WIDEN_AFTER_MS, Unclaimed
from tests.switchboard.domain.todos import ready_todo


def in_queue(queue: str, count: int) -> list[Todo]:
    return [ready_todo(id=TodoId(f"td_{queue}_{number}"), queue=queue) for number in range(count)]


def taken(unclaimed: Unclaimed, now_ms: int, most: int) -> list[str]:
    return [again.todo_id for again in unclaimed.take_due(now_ms, most)]


def test_a_todo_comes_due_once_at_the_time_that_was_planned_last() -> None:
    unclaimed = Unclaimed()
    (todo,) = in_queue("a", 1)
    unclaimed.ring_later(todo, 2, now_ms=0)
    unclaimed.widen_later(todo, now_ms=0)
    assert taken(unclaimed, WIDEN_AFTER_MS - 1, 9) == []
    assert taken(unclaimed, WIDEN_AFTER_MS, 9) == [todo.id]
    assert taken(unclaimed, AGAIN_AFTER_MS[1], 9) == []
    assert len(unclaimed) == 0


def test_a_todo_that_was_rung_often_enough_is_planned_no_more() -> None:
    unclaimed = Unclaimed()
    (todo,) = in_queue("a", 1)
    unclaimed.ring_later(todo, len(AGAIN_AFTER_MS), now_ms=0)
    assert todo.id in unclaimed
    unclaimed.ring_later(todo, len(AGAIN_AFTER_MS) + 1, now_ms=0)
    assert todo.id not in unclaimed


def test_lanes_are_taken_from_in_turn_and_the_next_pass_goes_on_where_this_one_ended() -> None:
    unclaimed = Unclaimed()
    for todo in (*in_queue("long", 10), *in_queue("short", 2), *in_queue("other", 2)):
        unclaimed.ring_later(todo, 1, now_ms=0)
    first = taken(unclaimed, AGAIN_AFTER_MS[0], 4)
    second = taken(unclaimed, AGAIN_AFTER_MS[0], 4)
    assert [name.split("_")[1] for name in first] == ["long", "short", "other", "long"]
    assert [name.split("_")[1] for name in second][:2] == ["short", "other"]
    assert len(taken(unclaimed, AGAIN_AFTER_MS[0], 99)) == 6


def test_the_longest_lane_gives_way_when_there_are_too_many() -> None:
    unclaimed = Unclaimed()
    (kept,) = in_queue("small", 1)
    unclaimed.ring_later(kept, 1, now_ms=0)
    flood = in_queue("flood", REMEMBERED + 100)
    for todo in flood:
        unclaimed.ring_later(todo, 1, now_ms=0)
    assert len(unclaimed) == REMEMBERED
    assert kept.id in unclaimed
    assert flood[0].id not in unclaimed
    assert flood[-1].id in unclaimed


def test_planning_the_same_todo_again_and_again_costs_no_memory() -> None:
    unclaimed = Unclaimed()
    (todo,) = in_queue("a", 1)
    for now_ms in range(1_000):
        unclaimed.ring_later(todo, 1, now_ms=now_ms)
    assert len(unclaimed) == 1
    assert taken(unclaimed, 999 + AGAIN_AFTER_MS[0], 9) == [todo.id]
