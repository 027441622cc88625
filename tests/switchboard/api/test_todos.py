"""Todos of people and scripts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.raw_agent import RawAgent
from tests.switchboard.api.conftest import Api


async def test_a_todo_is_answered_with_201_and_again_under_its_key_with_200(api: Api) -> None:
    body = {"title": "Once", "queue": "inbox", "idempotency_key": "k", "payload": [1, None, "ü"]}
    first = await api.client.post("/todos", json=body)
    second = await api.client.post("/todos", json=body | {"title": "Twice"})
    assert (first.status_code, first.json()["created"]) == (201, True)
    assert (second.status_code, second.json()["created"]) == (200, False)
    assert second.json()["todo"] == first.json()["todo"]
    assert first.json()["todo"]["payload"] == [1, None, "ü"]


async def test_many_todos_are_added_in_order_with_an_outcome_each(api: Api) -> None:
    await api.add(idempotency_key="b")
    todos = [{"title": key, "queue": "inbox", "idempotency_key": key} for key in "abc"]
    answer = await api.client.post("/todos", json={"todos": todos})
    assert answer.status_code == 201
    assert [one["created"] for one in answer.json()["todos"]] == [True, False, True]
    assert [one["todo"]["title"] for one in answer.json()["todos"]] == ["a", "Say hello", "c"]


async def test_one_bad_todo_of_many_is_named_and_none_is_added(api: Api) -> None:
    todos: list[dict[str, Any]] = [
        {"title": "good", "queue": "inbox"},
        {"title": "bad\nline", "queue": "inbox"},
    ]
    answer = await api.client.post("/todos", json={"todos": todos})
    assert answer.status_code == 422
    assert answer.json()["field"] == "todos.1.title"
    assert (await api.client.get("/todos")).json()["todos"] == []


async def test_a_list_goes_on_where_the_cursor_says_newest_first(api: Api) -> None:
    for number in range(5):
        await api.add(title=str(number))
    pages: list[list[str]] = []
    query: dict[str, str] = {"limit": "2"}
    while len(pages) < 4:
        page = (await api.client.get("/todos", params=query)).json()
        pages.append([row["title"] for row in page["todos"]])
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert pages == [["4", "3"], ["2", "1"], ["0"]]


async def test_a_list_shows_what_was_asked_for_and_no_payload(api: Api) -> None:
    await api.add(queue="a", payload={"secret": "plan"})
    cancelled = await api.add(queue="b")
    await api.client.post(f"/todos/{cancelled['id']}/cancel")

    async def listed(**query: Any) -> list[str]:
        rows = (await api.client.get("/todos", params=query)).json()["todos"]
        assert all("payload" not in row for row in rows)
        return [row["queue"] for row in rows]

    assert await listed() == ["a"]
    assert await listed(state="cancelled") == ["b"]
    assert await listed(state=["pending", "cancelled"], queue=["a", "b"]) == ["b", "a"]
    assert await listed(queue="nobody") == []


async def test_steps_of_people_change_the_state_and_stand_in_the_history(api: Api) -> None:
    vended = await api.vend()
    todo = await api.add()
    async with RawAgent.connected(vended) as agent:
        claimed = await agent.call("claim")
        released = (await api.client.post(f"/todos/{todo['id']}/release")).json()["todo"]
        assert (released["state"], released["holder"]) == ("pending", None)
        stale = {"id": todo["id"], "lease_token": claimed["lease_token"]}
        assert (await agent.result("complete", **stale))["isError"] is True
        again = await agent.call("claim")
        held = {"id": todo["id"], "lease_token": again["lease_token"]}
        await agent.call("fail", **held, reason="no luck", retry=False)
    retried = await api.client.post(f"/todos/{todo['id']}/retry")
    assert retried.json()["todo"]["state"] == "pending"
    cancelled = await api.client.post(f"/todos/{todo['id']}/cancel")
    assert cancelled.json()["todo"]["state"] == "cancelled"
    shown = (await api.client.get(f"/todos/{todo['id']}")).json()["todo"]
    steps = [event["step"] for event in shown["events"]]
    assert steps == ["create", "claim", "release", "claim", "fail", "retry", "cancel"]
    slug = vended["endpoint"]["slug"]
    assert [attempt["holder"] for attempt in shown["attempts"]] == [slug, slug]


async def test_a_step_that_the_state_forbids_is_409_and_changes_nothing(api: Api) -> None:
    todo = await api.add()
    for step in ("retry", "release"):
        answer = await api.client.post(f"/todos/{todo['id']}/{step}")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict"), step
    shown = (await api.client.get(f"/todos/{todo['id']}")).json()["todo"]
    assert shown["state"] == "pending"
    assert len(shown["events"]) == 1


async def test_a_claimed_todo_names_its_holder_by_slug(api: Api) -> None:
    vended = await api.vend()
    todo = await api.add(assignee=vended["endpoint"]["slug"])
    async with RawAgent.connected(vended) as agent:
        await agent.call("claim", id=todo["id"])
    (row,) = (await api.client.get("/todos", params={"state": "claimed"})).json()["todos"]
    assert row["holder"] == row["assignee"] == vended["endpoint"]["slug"]
    assert row["lease_expires_at"] is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""),
        ("title", "   "),
        ("title", "a\nb"),
        ("title", "a\u2028b"),
        ("title", "a\x00b"),
        ("title", "x" * 201),
        ("title", 7),
        ("title", None),
        ("queue", "Inbox"),
        ("queue", "a\x00"),
        ("queue", "-a"),
        ("queue", ["inbox"]),
        ("kind", "k" * 65),
        ("kind", "a\x00"),
        ("source", "s\rt"),
        ("idempotency_key", "k" * 201),
        ("idempotency_key", "k\x00"),
        ("priority", 101),
        ("priority", -101),
        ("priority", "1"),
        ("priority", 1.0),
        ("priority", True),
        ("payload", {"deep": ["a\x00b"]}),
        ("payload", {"a\x00b": 1}),
        ("payload", "x" * 65_536),
        ("assignee", "nobody-00000000"),
        ("assignee", "a\x00"),
        ("available_at", "tomorrow"),
        ("available_at", "2026-01-31T09:00:00"),
        ("available_at", "0001-01-01T00:00:00Z"),
        ("available_at", "9999-12-31T23:59:59-23:59"),
        ("available_at", 1_767_323_045),
        ("max_attempts", 0),
        ("max_lapses", 101),
        ("colour", "red"),
    ],
)
async def test_a_field_that_breaks_its_rule_is_named_and_nothing_is_stored(
    api: Api, field: str, value: object
) -> None:
    body: dict[str, object] = {"title": "Say hello", "queue": "inbox"}
    answer = await api.client.post("/todos", json=body | {field: value})
    problem = answer.json()
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert (problem["code"], problem["field"]) == ("invalid_argument", field)
    assert (await api.client.get("/todos")).json()["todos"] == []


async def test_a_todo_is_not_assigned_to_whom_its_queue_was_not_granted(api: Api) -> None:
    slug = (await api.vend(queues=["inbox"]))["endpoint"]["slug"]
    todo = {"title": "Say hello", "queue": "later", "assignee": slug}
    for body, field in ((todo, "assignee"), ({"todos": [todo]}, "todos.0.assignee")):
        answer = await api.client.post("/todos", json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert (await api.client.get("/todos")).json()["todos"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"state": "lost"}, "state.0"),
        ({"queue": "A B"}, "queue"),
        ({"queue": "a\x00"}, "queue"),
        ({"cursor": "td_1"}, "cursor"),
        ({"cursor": "\x00"}, "cursor"),
    ],
)
async def test_a_query_that_breaks_its_rule_is_named(
    api: Api, query: dict[str, str], field: str
) -> None:
    answer = await api.client.get("/todos", params=query)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


@pytest.mark.parametrize(
    "todo_id", ["td_" + "0" * 26, "td_1", "x" * 5_000, "%00", "%ff", "td_%0a", "ep_1"]
)
async def test_what_is_no_todo_of_the_workspace_is_404(api: Api, todo_id: str) -> None:
    for method, path in (
        ("GET", ""),
        ("POST", "/retry"),
        ("POST", "/cancel"),
        ("POST", "/release"),
    ):
        answer = await api.client.request(method, f"/todos/{todo_id}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
