"""The remote host on raw sockets: each row of its contract, under a public URL with a prefix."""

from __future__ import annotations

from typing import Any

import pytest

from agent_transport.admission import TokenFault
from agent_transport.testing import FakeSession
from tests.agent_transport.mcp.hosts import LIST, Line, loopback, raw, refusal_of, tool_call
from tests.agent_transport.mcp.remote_peer import (
    BAD,
    GOOD,
    ISSUER,
    METADATA,
    PATH,
    PUBLIC_URL,
    SCOPES,
    fault_tokens,
    remote,
)
from tests.specification import requirement

HINT = f'scope="agent:use agent:see", resource_metadata="https://agents.example{METADATA}"'
INVALID = f'Bearer error="invalid_token", {HINT}'


@requirement("agent-transport/remote/verifier-decides")
async def test_a_token_that_the_verifier_takes_is_served_and_no_other() -> None:
    session = FakeSession()
    async with remote(session) as it:
        assert it.listening.url == PUBLIC_URL
        served = await it.ask(body=tool_call("echo", text="x"))
        assert served.status == 200
        assert "x" in served.json["result"]["content"][0]["text"]
        for token in (BAD, "a.b.c", "0" * 64):
            assert (await it.refusal(token)).status == 401
    assert len(session.invoked) == 1


# --- names


NAMES: list[dict[str, Any]] = [
    {"host": "evil.example"},
    {"host": "127.0.0.1"},
    {"host": None},
    {"host": "agents.example:8443"},
    {"host": "agents.example."},
    {"host": "agents.example.evil.example"},
    {"more": [("Host", "agents.example")]},
    {"more": [("Origin", "https://evil.example")]},
    {"more": [("Origin", "http://agents.example")]},
    {"more": [("Origin", "https://agents.example.evil.example")]},
    {"more": [("Origin", "https://agents.example/")]},
    {"more": [("Origin", "null")]},
    {"more": [("Origin", "https://agents.example")] * 2},
]


@requirement("agent-transport/remote/names-from-public-url", "agent-transport/errors/empty-bodies")
@pytest.mark.parametrize("changes", NAMES, ids=str)
async def test_a_wrong_host_or_origin_is_403_uncounted_and_the_verifier_is_not_called(
    changes: dict[str, Any],
) -> None:
    verifier = fault_tokens()
    async with remote(FakeSession(), verifier=verifier) as it:
        for path in (PATH, METADATA, "/"):
            for _ in range(8):
                refused = await it.refusal(path=path, **changes)
                assert refused.status == 403
                assert "www-authenticate" not in refused.headers
        assert (verifier.asked, it.records) == ([], [])
        assert (await it.refusal(BAD)).status == 401


@requirement("agent-transport/remote/names-from-public-url")
async def test_the_listeners_own_address_is_a_wrong_host() -> None:
    async with remote(FakeSession()) as it:
        own = it.listening.address.authority
        assert (await it.refusal(host=own)).status == 403
        assert (await it.refusal(more=[("Origin", f"http://{own}")])).status == 403


@requirement("agent-transport/remote/names-from-public-url")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"host": "agents.example:443"},
        {"host": "AGENTS.example"},
        {"more": [("Origin", "https://agents.example")]},
    ],
    ids=str,
)
async def test_each_way_to_write_the_public_host_and_origin_is_served(
    changes: dict[str, Any],
) -> None:
    async with remote(FakeSession()) as it:
        assert (await it.ask(**changes)).status == 200


@requirement("agent-transport/remote/names-from-public-url")
async def test_the_metadata_of_the_protected_resource_is_open_to_everybody() -> None:
    async with remote(FakeSession()) as it:
        for token in (None, BAD):
            told = await it.ask(token, path=METADATA, method="GET", body=b"")
            assert (told.status, told.headers["content-type"]) == (200, "application/json")
            assert told.json == {
                "resource": PUBLIC_URL,
                "authorization_servers": [ISSUER],
                "scopes_supported": [*SCOPES],
                "bearer_methods_supported": ["header"],
            }
        for method in ("POST", "HEAD", "DELETE", "OPTIONS"):
            assert (await it.refusal(path=METADATA, method=method)).status == 405
        assert it.records == []


@pytest.mark.parametrize(
    "path",
    ["/", "/mcp", f"{PATH}/", "/team/%6dcp", "//team/mcp", "/.well-known/oauth-protected-resource"],
)
async def test_any_other_path_is_404_whatever_the_token(path: str) -> None:
    async with remote(FakeSession()) as it:
        for token in (GOOD, BAD, None):
            refused = await it.refusal(token, path=path)
            assert refused.status == 404
            assert "www-authenticate" not in refused.headers
        assert it.records == []


# --- tokens


@requirement(
    "agent-transport/errors/challenge-only",
    "agent-transport/errors/no-description",
    "agent-transport/errors/nothing-leaks",
    "agent-transport/errors/audit-closed-set",
)
@pytest.mark.parametrize("fault", list(TokenFault))
async def test_each_fault_has_its_exact_answer_and_leaves_its_record(fault: TokenFault) -> None:
    special = {
        TokenFault.MISSING_SCOPE: (403, f'Bearer error="insufficient_scope", {HINT}'),
        TokenFault.MISSING_TOKEN: (401, f"Bearer {HINT}"),
        TokenFault.KEYS_UNAVAILABLE: (503, None),
    }
    status, challenge = special.get(fault, (401, INVALID))
    session = FakeSession()
    async with remote(session) as it:
        refused = await it.refusal(fault.value)
        assert (refused.status, refused.headers.get("www-authenticate")) == (status, challenge)
        assert set(refused.headers) <= {
            "www-authenticate",
            "content-length",
            "connection",
            "cache-control",
            "x-content-type-options",
            "date",
        }
        assert [record.reason for record in it.records] == [fault]
    assert session.catalog_reads == 1


NO_TOKEN: list[tuple[str, list[Line], str]] = [
    ("none", [], PATH),
    ("in the query", [], f"{PATH}?access_token={GOOD}"),
    ("twice", [("Authorization", f"Bearer {GOOD}")] * 2, PATH),
    ("not ASCII", [("Authorization", f"Bearer {GOOD}é")], PATH),
    ("other scheme", [("Authorization", "Basic Z29vZC50b2tlbg==")], PATH),
    ("in a cookie", [("Cookie", f"access_token={GOOD}")], PATH),
]


@requirement("agent-transport/errors/challenge-only")
@pytest.mark.parametrize(
    ("more", "path"), [(more, path) for _, more, path in NO_TOKEN], ids=[n for n, _, _ in NO_TOKEN]
)
async def test_what_is_no_token_is_challenged_without_an_error_code(
    more: list[Line], path: str
) -> None:
    verifier = fault_tokens()
    async with remote(FakeSession(), verifier=verifier) as it:
        refused = await it.refusal(None, more=more, path=path)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, f"Bearer {HINT}")
        assert [record.reason for record in it.records] == [TokenFault.MISSING_TOKEN]
    assert verifier.asked == []


@pytest.mark.parametrize(
    ("token", "fault"),
    [("a" * 8193, TokenFault.OVERSIZE), ("a b", TokenFault.MALFORMED), ("", TokenFault.MALFORMED)],
)
async def test_what_cannot_be_a_token_is_refused_without_the_verifier(
    token: str, fault: TokenFault
) -> None:
    verifier = fault_tokens()
    async with remote(FakeSession(), verifier=verifier) as it:
        assert (await it.refusal(token)).headers["www-authenticate"] == INVALID
        assert [record.reason for record in it.records] == [fault]
    assert verifier.asked == []


@requirement("agent-transport/remote/no-loopback-bearer")
async def test_a_loopback_bearer_is_a_bad_token_here_and_a_good_token_a_bad_bearer_there() -> None:
    async with remote(FakeSession()) as far, loopback(FakeSession()) as near:
        assert not hasattr(far.listening, "token")
        refused = await far.refusal(near.listening.token)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, INVALID)
        lines = near.lines(Authorization=f"Bearer {GOOD}")
        assert (await refusal_of(near.port, raw(lines, b""))).status == 401


# --- after admission


async def test_after_admission_the_answers_are_those_of_the_loopback_host() -> None:
    async with remote(FakeSession()) as it:
        for method in ("GET", "DELETE", "PUT"):
            refused = await it.refusal(method=method)
            assert (refused.status, refused.headers["allow"]) == (405, "POST")
        huge = [("Content-Length", str(1024 * 1024 + 1))]
        assert (await it.ask(body=b"", more=huge)).status == 413
        for body in (b"", b"{", b"NaN"):
            bad = await it.ask(body=body)
            assert (bad.status, bad.body) == (400, b"")
        made_up = await it.ask(more=[("Mcp-Session-Id", "made-up")])
        assert made_up.status == 200
        assert "mcp-session-id" not in made_up.headers
        assert (await it.ask(BAD, method="GET", body=b"")).status == 401


async def test_a_faulty_request_of_a_good_token_is_not_counted_against_its_address() -> None:
    async with remote(FakeSession()) as it:
        for _ in range(25):
            assert (await it.ask(body=b"{")).status == 400
        assert (await it.refusal(BAD)).status == 401
        assert len(it.records) == 1


async def test_a_list_is_a_list() -> None:
    async with remote(FakeSession()) as it:
        assert len((await it.ask(body=LIST)).json["result"]["tools"]) == 2
