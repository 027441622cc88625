"""The resource-server gate: its order and its exact answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_transport.admission import Admitted, TokenFault
from agent_transport.admission.asgi import Message
from tests.agent_transport.admission.asgi_peer import Header
from tests.agent_transport.admission.guarded import (
    GOOD,
    METADATA,
    PATH,
    PUBLIC_URL,
    Guarded,
    assert_is_bare_refusal,
)

HINT = f'scope="agent:use agent:see", resource_metadata="https://agents.example{METADATA}"'


async def test_good_token_passes_and_the_application_learns_who_it_is() -> None:
    guarded = Guarded()
    answer = await guarded.ask()
    assert (answer.status, answer.body) == (200, b"served")
    assert guarded.admitted == [Admitted("somebody", guarded.verifier.scopes)]
    assert guarded.records == []


@pytest.mark.parametrize(
    "changes",
    [
        {"host": b"evil.example"},
        {"host": b"127.0.0.1:8787"},
        {"more": ((b"host", b"agents.example"),)},
        {"more": ((b"origin", b"https://evil.example"),)},
        {"more": ((b"origin", b"https://agents.example.evil.example"),)},
        {"more": ((b"origin", b"null"),)},
    ],
)
@pytest.mark.parametrize("path", [PATH, METADATA, "/elsewhere"])
async def test_wrong_host_or_origin_is_403_uncounted_and_the_verifier_is_not_asked(
    changes: dict[str, Any], path: str
) -> None:
    guarded = Guarded()
    for _ in range(30):
        answer = await guarded.ask(path=path, **changes)
        assert_is_bare_refusal(answer, 403)
        assert "www-authenticate" not in answer.headers
    assert guarded.verifier.asked == []
    assert guarded.records == []


@pytest.mark.parametrize(
    "changes",
    [
        {"host": b"agents.example:443"},
        {"host": b"AGENTS.example"},
        {"more": ((b"origin", b"https://agents.example"),)},
    ],
)
async def test_every_way_to_write_the_public_host_and_origin_passes(
    changes: dict[str, Any],
) -> None:
    assert (await Guarded().ask(**changes)).status == 200


async def test_metadata_tells_where_tokens_come_from_without_asking_for_one() -> None:
    guarded = Guarded()
    answer = await guarded.ask(None, path=METADATA, method="GET")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body) == {
        "resource": PUBLIC_URL,
        "authorization_servers": ["https://login.example"],
        "scopes_supported": ["agent:use", "agent:see"],
        "bearer_methods_supported": ["header"],
    }
    assert guarded.verifier.asked == []


@pytest.mark.parametrize("method", ["POST", "HEAD", "OPTIONS", "DELETE"])
async def test_metadata_has_no_other_method_than_get(method: str) -> None:
    answer = await Guarded().ask(path=METADATA, method=method)
    assert_is_bare_refusal(answer, 405)
    assert answer.headers["allow"] == "GET"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/mcp",
        "/team/mcp/",
        "/team/mcp/x",
        "/team//mcp",
        "/team/%6dcp",
        "//agents.example/team/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
    ],
)
async def test_any_other_path_is_404_and_the_verifier_is_not_asked(path: str) -> None:
    guarded = Guarded()
    assert_is_bare_refusal(await guarded.ask(path=path), 404)
    assert guarded.verifier.asked == []


@pytest.mark.parametrize("fault", list(TokenFault))
async def test_each_fault_has_its_exact_answer(fault: TokenFault) -> None:
    special = {
        TokenFault.MISSING_TOKEN: (401, f"Bearer {HINT}"),
        TokenFault.MISSING_SCOPE: (403, f'Bearer error="insufficient_scope", {HINT}'),
        TokenFault.KEYS_UNAVAILABLE: (503, None),
    }
    status, challenge = special.get(fault, (401, f'Bearer error="invalid_token", {HINT}'))
    answer = await Guarded().ask(fault.value)
    assert_is_bare_refusal(answer, status)
    assert answer.headers.get("www-authenticate") == challenge
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ((), PATH),
        ((), f"{PATH}?access_token={GOOD}"),
        (((b"cookie", b"token=good.token"),), PATH),
        (((b"authorization", b"Basic YTpi"),), PATH),
        (((b"authorization", b"Bearer a"), (b"authorization", b"Bearer a")), PATH),
        (((b"authorization", b"Bearer \xc3\xa9"),), PATH),
    ],
)
async def test_what_is_no_token_is_challenged_without_an_error_code(
    more: tuple[Header, ...], path: str
) -> None:
    guarded = Guarded()
    answer = await guarded.ask(None, path=path, more=more)
    assert_is_bare_refusal(answer, 401)
    assert answer.headers["www-authenticate"] == f"Bearer {HINT}"
    assert [record.reason for record in guarded.records] == [TokenFault.MISSING_TOKEN]
    assert guarded.verifier.asked == []


@pytest.mark.parametrize(
    ("token", "fault"),
    [("a" * 8193, TokenFault.OVERSIZE), ("a b", TokenFault.MALFORMED), ("", TokenFault.MALFORMED)],
)
async def test_what_cannot_be_a_token_is_refused_without_the_verifier(
    token: str, fault: TokenFault
) -> None:
    guarded = Guarded()
    answer = await guarded.ask(token)
    assert answer.headers["www-authenticate"] == f'Bearer error="invalid_token", {HINT}'
    assert [record.reason for record in guarded.records] == [fault]
    assert guarded.verifier.asked == []


async def test_admitted_token_without_all_scopes_is_refused_by_the_gate_itself() -> None:
    guarded = Guarded()
    guarded.verifier.scopes = frozenset({"agent:use"})
    answer = await guarded.ask()
    assert_is_bare_refusal(answer, 403)
    assert answer.headers["www-authenticate"] == f'Bearer error="insufficient_scope", {HINT}'
    assert guarded.records[0].reason is TokenFault.MISSING_SCOPE


async def test_lifespan_passes_and_a_web_socket_does_not() -> None:
    guarded = Guarded()
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await guarded.gate({"type": "lifespan"}, receive, send)
    await guarded.gate({"type": "websocket", "headers": []}, receive, send)
    assert guarded.admitted == ["lifespan"]
    assert sent == [{"type": "websocket.close", "code": 1008}]
