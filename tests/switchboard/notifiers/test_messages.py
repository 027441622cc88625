"""The text that replicas send each other: short, whole, and free of content."""

from __future__ import annotations

import pytest

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.todo import TodoId
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
from switchboard.notifiers.messages import ReadyTodo, Told, parse, texts, told_of
from tests.switchboard.domain.todos import ready_todo

SECRET = "sesame-opens"
TODO = ready_todo(title=SECRET, payload_json=f'"{SECRET}"', summary=SECRET, kind=SECRET)
WORKSPACE, ENDPOINT = WorkspaceId("ws_1"), EndpointId("ep_1")
SIGNALS: list[Signal] = [
    TodoReady(TODO),
    TodoReleased(TODO, ENDPOINT),
    QueueResumed(WORKSPACE, 'in"box\N{SNOWMAN}'),
    EndpointEnded(WORKSPACE, ENDPOINT, EndWhy.EXPIRED),
    CredentialEnded(WORKSPACE, ENDPOINT, "cr_1", EndWhy.REVOKED),
]


def all_told(signals: list[Signal]) -> list[Told]:
    return [told for signal in signals if (told := told_of(signal)) is not None]


def test_what_is_told_arrives_as_it_was_told() -> None:
    told = all_told(SIGNALS)
    (text,) = texts("r1", 7, told)
    message = parse(text)
    assert message is not None
    assert (message.replica, message.number) == ("r1", 7)
    assert list(message.told) == told
    assert len(told) == len(SIGNALS)


def test_nothing_of_a_todo_is_sent_but_its_id() -> None:
    (text,) = texts("r1", 1, all_told(SIGNALS))
    assert TODO.id in text
    assert SECRET not in text


def test_a_thousand_signals_go_into_few_texts_of_which_each_is_short_enough() -> None:
    told = [ReadyTodo(TodoId(f"td_{number:026}")) for number in range(1_000)]
    told += [ReadyTodo(TodoId("td_\N{SNOWMAN}" * 20))]
    sent = texts("0123456789abcdef", 1, told)
    assert len(sent) < 10
    assert max(len(text.encode()) for text in sent) < 8_000
    messages = [message for text in sent if (message := parse(text)) is not None]
    assert [message.number for message in messages] == list(range(1, len(sent) + 1))
    assert [one for message in messages for one in message.told] == told


def test_the_same_thing_told_twice_at_a_stroke_is_sent_once() -> None:
    (text,) = texts("r1", 1, all_told([TodoReady(TODO), TodoReady(TODO)]))
    message = parse(text)
    assert message is not None
    assert message.told == (ReadyTodo(TODO.id),)


@pytest.mark.parametrize("signal", [TodoReady(TODO, found_by_all=True), SignalsMissed()])
def test_what_others_find_by_themselves_is_not_sent(signal: Signal) -> None:
    assert told_of(signal) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "1", '["r",1]', '["r","x",[]]', '["r",1,[["endpoint","w","e","?"]]]']
)
def test_a_text_that_is_no_message_is_none(text: str) -> None:
    assert parse(text) is None


def test_what_a_newer_version_tells_is_passed_over() -> None:
    message = parse('["r",1,[["comet","x"],["ready","td_1"]]]')
    assert message is not None
    assert message.told == (ReadyTodo(TodoId("td_1")),)
