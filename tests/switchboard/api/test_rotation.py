"""Another credential, or another endpoint in the place of one, through the API."""

from __future__ import annotations

import pytest

from switchboard.domain.credential import CREDENTIAL, mint_credential
from tests.raw_agent import RawAgent
from tests.specification import requirement
from tests.switchboard.api.conftest import Api


async def test_a_rotation_shows_the_new_credential_once_and_the_old_one_is_over(api: Api) -> None:
    vended = await api.vend()
    slug, old = vended["endpoint"]["slug"], vended["credential"]
    async with RawAgent.connected(vended) as agent:
        answer = await api.client.post(f"/endpoints/{slug}/rotate")
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        rotated = answer.json()
        new = rotated["credential"]
        assert CREDENTIAL.fullmatch(new)
        assert new != old
        assert (rotated["url"], rotated["endpoint"]["previous_until"]) == (vended["url"], None)
        assert rotated["endpoint"]["credential_prefix"] == new[:8]
        server = rotated["mcp_json"]["mcpServers"]["switchboard"]
        assert server["headers"] == {"Authorization": f"Bearer {new}"}
        assert (await agent.post("ping")).status_code == 401
        agent.credential = new
        assert (await agent.post("ping")).status_code == 200
    for path in ("/endpoints", f"/endpoints/{slug}"):
        shown = (await api.client.get(path)).text
        assert new not in shown
        assert old not in shown


async def test_with_an_overlap_both_credentials_open_the_endpoint(api: Api) -> None:
    vended = await api.vend()
    slug = vended["endpoint"]["slug"]
    answer = await api.client.post(f"/endpoints/{slug}/rotate", json={"overlap_seconds": 600})
    rotated = answer.json()
    assert rotated["endpoint"]["previous_until"] > rotated["endpoint"]["created_at"]
    shown = (await api.client.get(f"/endpoints/{slug}")).json()["endpoint"]
    assert shown["previous_until"] == rotated["endpoint"]["previous_until"]
    for one in (vended, rotated):
        async with RawAgent.connected(one) as agent:
            assert (await agent.post("ping")).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"overlap_seconds": -1},
        {"overlap_seconds": 2_592_001},
        {"overlap_seconds": 10**30},
        {"overlap_seconds": "600"},
        {"overlap_seconds": 1.5},
        {"overlap_seconds": None},
        {"credential": "sbk_mine"},
        [],
    ],
)
async def test_a_rotation_that_breaks_its_rule_is_refused_and_the_credential_stays(
    api: Api, body: object
) -> None:
    vended = await api.vend()
    slug = vended["endpoint"]["slug"]
    answer = await api.client.post(f"/endpoints/{slug}/rotate", json=body)
    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid_argument"
    shown = (await api.client.get(f"/endpoints/{slug}")).json()["endpoint"]
    assert shown["credential_prefix"] == vended["credential"][:8]


async def test_a_revoked_endpoint_is_not_rotated_and_an_unknown_one_is_404(api: Api) -> None:
    slug = (await api.vend())["endpoint"]["slug"]
    await api.client.post(f"/endpoints/{slug}/revoke")
    assert (await api.client.post(f"/endpoints/{slug}/rotate")).status_code == 409
    assert (await api.client.post("/endpoints/nobody-00000000/rotate")).status_code == 404


@requirement("SPEC-0014/wiring/vend-reveal")
async def test_an_heir_gets_what_was_assigned_and_the_old_endpoint_is_over(api: Api) -> None:
    vended = await api.vend(queues=["inbox", "later"])
    slug = vended["endpoint"]["slug"]
    held = await api.add()
    assigned = await api.add(assignee=slug)
    beyond = await api.add(assignee=slug, queue="later")
    async with RawAgent.connected(vended) as agent:
        await agent.call("claim", id=held["id"])
        heir = await api.vend(agent="heir", replaces=slug)
        assert heir["replaced"] == {
            "slug": slug,
            "moved": 1,
            "released": 1,
            "failed": 1,
            "sessions_closed": 1,
        }
        assert (await agent.post("ping")).status_code == 401
    shown = (await api.client.get(f"/todos/{assigned['id']}")).json()["todo"]
    assert (shown["assignee"], shown["state"]) == (heir["endpoint"]["slug"], "pending")
    shown = (await api.client.get(f"/todos/{beyond['id']}")).json()["todo"]
    assert (shown["state"], shown["failure_reason"]) == ("failed", "endpoint_revoked")
    async with RawAgent.connected(heir) as agent:
        assert (await agent.call("claim", id=assigned["id"]))["attempt"] == 1


async def test_nothing_is_vended_in_the_place_of_what_is_over_or_never_was(api: Api) -> None:
    slug = (await api.vend())["endpoint"]["slug"]
    await api.client.post(f"/endpoints/{slug}/revoke")
    for replaces, status in ((slug, 409), ("nobody-00000000", 404), ("a\x00b", 404), (7, 422)):
        body = {"agent": "heir", "queues": ["inbox"], "replaces": replaces}
        assert (await api.client.post("/endpoints", json=body)).status_code == status
    assert len((await api.client.get("/endpoints")).json()["endpoints"]) == 1


async def test_a_vend_in_nobodys_place_says_so(api: Api) -> None:
    assert (await api.vend())["replaced"] is None


async def test_an_agents_credential_opens_none_of_this(api: Api) -> None:
    vended = await api.vend()
    slug = vended["endpoint"]["slug"]
    for credential in (vended["credential"], mint_credential(bytes)):
        headers = {"authorization": f"Bearer {credential}"}
        answer = await api.client.post(f"/endpoints/{slug}/rotate", headers=headers)
        assert answer.status_code == 401
