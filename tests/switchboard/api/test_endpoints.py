"""Endpoints and queues of people and scripts."""

from __future__ import annotations

import pytest

from tests.raw_agent import RawAgent
from tests.switchboard.api.conftest import Api


async def test_a_vend_shows_the_credential_once_and_what_to_paste(api: Api) -> None:
    vended = await api.vend(queues=["a", "b"], verbs=["claim"], lease_seconds=60)
    endpoint, credential = vended["endpoint"], vended["credential"]
    assert vended["url"] == f"{api.service.local_url}/mcp/{endpoint['slug']}"
    assert (endpoint["queues"], endpoint["verbs"]) == (["a", "b"], ["claim"])
    assert (endpoint["lease_seconds"], endpoint["expires_at"]) == (60, None)
    server = vended["mcp_json"]["mcpServers"]["switchboard"]
    assert server["headers"] == {"Authorization": f"Bearer {credential}"}
    for path in ("/endpoints", f"/endpoints/{endpoint['slug']}"):
        shown = (await api.client.get(path)).text
        assert endpoint["slug"] in shown
        assert credential not in shown


async def test_what_may_change_after_a_vend_changes_and_the_rest_is_refused(api: Api) -> None:
    slug = (await api.vend())["endpoint"]["slug"]
    body = {"protocol": "legacy", "lease_seconds": 90}
    changed = (await api.client.patch(f"/endpoints/{slug}", json=body)).json()["endpoint"]
    assert (changed["protocol"], changed["lease_seconds"]) == ("legacy", 90)
    for wrong in ({"queues": ["b"]}, {}, {"lease_seconds": 9}, {"protocol": "new"}):
        answer = await api.client.patch(f"/endpoints/{slug}", json=wrong)
        assert answer.status_code == 422, wrong


async def test_a_revocation_tells_what_it_ended_and_is_not_repeated(api: Api) -> None:
    vended = await api.vend(queues=["inbox", "later"])
    slug = vended["endpoint"]["slug"]
    await api.add()
    await api.add(assignee=slug, queue="later", available_at="2099-01-01T00:00:00Z")
    async with RawAgent.connected(vended) as agent:
        await agent.call("claim", queue="inbox")
        ended = (await api.client.post(f"/endpoints/{slug}/revoke")).json()
        assert ended["endpoint"]["state"] == "revoked"
        counts = (ended["released"], ended["failed"], ended["sessions_closed"])
        assert counts == (1, 1, 1)
        assert (await agent.post("tools/list")).status_code == 401
    again = await api.client.post(f"/endpoints/{slug}/revoke")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


async def test_a_request_is_seen_at_once_in_the_endpoints_last_seen_time(api: Api) -> None:
    vended = await api.vend()
    path = f"/endpoints/{vended['endpoint']['slug']}"
    assert (await api.client.get(path)).json()["endpoint"]["last_seen_at"] is None
    async with RawAgent.connected(vended):
        assert (await api.client.get(path)).json()["endpoint"]["last_seen_at"] is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("agent", "Scout"),
        ("agent", "a\x00"),
        ("agent", "x" * 41),
        ("agent", ""),
        ("queues", []),
        ("queues", ["a", "B"]),
        ("queues", "inbox"),
        ("verbs", []),
        ("verbs", ["dance"]),
        ("protocol", "both"),
        ("lease_seconds", 9),
        ("lease_seconds", 86_401),
        ("lease_seconds", "60"),
        ("expires_in_seconds", 0),
        ("expires_in_seconds", 10**12),
        ("expires_in_seconds", 10**30),
        ("slug", "mine"),
    ],
)
async def test_an_endpoint_field_that_breaks_its_rule_is_refused_and_nothing_is_vended(
    api: Api, field: str, value: object
) -> None:
    body: dict[str, object] = {"agent": "scout", "queues": ["inbox"]}
    answer = await api.client.post("/endpoints", json=body | {field: value})
    assert answer.status_code in (400, 422)
    assert answer.json()["code"] == "invalid_argument"
    assert (await api.client.get("/endpoints")).json()["endpoints"] == []


@pytest.mark.parametrize("slug", ["nobody-00000000", "%00", "%ff", "a" * 5_000, "A B"])
async def test_what_is_no_endpoint_of_the_workspace_is_404(api: Api, slug: str) -> None:
    assert (await api.client.get(f"/endpoints/{slug}")).status_code == 404
    changed = await api.client.patch(f"/endpoints/{slug}", json={"lease_seconds": 60})
    assert changed.status_code == 404
    assert (await api.client.post(f"/endpoints/{slug}/revoke")).status_code == 404


async def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(api: Api) -> None:
    await api.add()
    async with RawAgent.connected(await api.vend()) as agent:
        paused = (await api.client.post("/queues/inbox/pause")).json()["queue"]
        assert (paused["name"], paused["paused"]) == ("inbox", True)
        assert (await agent.call("claim"))["empty"] is True
        await api.client.post("/queues/inbox/resume")
        assert (await agent.call("claim"))["empty"] is False
    (queue,) = (await api.client.get("/queues")).json()["queues"]
    assert (queue["name"], queue["paused"]) == ("inbox", False)


@pytest.mark.parametrize("name", ["nobody", "%00", "A", "a" * 5_000])
async def test_what_is_no_queue_of_the_workspace_is_404(api: Api, name: str) -> None:
    for step in ("pause", "resume"):
        assert (await api.client.post(f"/queues/{name}/{step}")).status_code == 404
    changed = await api.client.patch(f"/queues/{name}", json={"ring": "one"})
    assert changed.status_code == 404


async def test_a_queue_is_told_whom_it_rings(api: Api) -> None:
    await api.add()
    changed = await api.client.patch("/queues/inbox", json={"ring": "one"})
    assert changed.json()["queue"]["ring"] == "one"
    for wrong in ({"ring": "few"}, {}, {"ring": None}, {"ring": "all", "paused": True}):
        refused = await api.client.patch("/queues/inbox", json=wrong)
        assert refused.status_code == 422, wrong
    (queue,) = (await api.client.get("/queues")).json()["queues"]
    assert queue["ring"] == "one"
