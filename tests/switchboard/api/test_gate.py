"""What the API's gate decides before the application sees a request."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from agent_transport.admission import OriginRule, Rate, TrustedProxies, only_host
from agent_transport.admission.asgi import Message, Receive, Scope, Send
from switchboard.api.gate import OPERATOR_KEY, ApiGate, GateRules
from switchboard.domain.credential import hash_secret
from switchboard.domain.workspace import Operator, PersonId, Role, WorkspaceId
from switchboard.errors import StoreUnavailable

TOKEN = "sbo_" + "t" * 43


class Api:
    """A gate in front of an application that says what reached it."""

    def __init__(self, role: Role = Role.OWNER, *, burst: int = 100, is_down: bool = False) -> None:
        self.reached: list[tuple[str, bytes]] = []
        self.lookups = 0
        self._operator = Operator(
            "tk_1", "local", PersonId("ps_1"), "Ada", WorkspaceId("ws_1"), role
        )
        self._is_down = is_down
        rules = GateRules(
            only_host("127.0.0.1", 80),
            OriginRule(frozenset()),
            TrustedProxies(),
            Rate(0.01, burst),
        )
        self._gate = ApiGate(self._application, self._find, rules, lambda: 0.0)

    async def _find(self, token_hash: bytes) -> Operator | None:
        self.lookups += 1
        if self._is_down:
            raise StoreUnavailable("busy")
        return self._operator if token_hash == hash_secret(TOKEN) else None

    async def _application(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["path"] == "/api/v1/docs" or scope[OPERATOR_KEY] is self._operator
        message = await receive()
        if scope["path"] == "/api/v1/broken":
            raise RuntimeError("a defect")
        self.reached.append((scope["method"], cast(bytes, message["body"])))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def ask(
        self, method: str = "GET", path: str = "/api/v1/todos", *, token: str | None = TOKEN
    ) -> tuple[int, dict[bytes, bytes], dict[str, Any]]:
        headers = [(b"host", b"127.0.0.1:80"), (b"content-type", b"application/json")]
        if token is not None:
            headers.append((b"authorization", b"Bearer " + token.encode()))
        parts = [b"{", b"}"] if method == "POST" else [b""]
        sent: list[Message] = []

        async def receive() -> Message:
            body = parts.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(parts)}

        async def send(message: Message) -> None:
            sent.append(message)

        scope: dict[str, Any] = {"method": method, "path": path, "headers": headers}
        await self._gate(scope | {"client": ("192.0.2.1", 1)}, receive, send)
        if not sent:
            return 0, {}, {}
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"])


@pytest.mark.parametrize(
    ("role", "reads", "writes"),
    [(Role.VIEWER, 200, 403), (Role.OPERATOR, 200, 200), (Role.OWNER, 200, 200)],
)
async def test_a_viewer_reads_and_an_operator_writes(role: Role, reads: int, writes: int) -> None:
    api = Api(role)
    assert (await api.ask("GET"))[0] == reads
    for method in ("POST", "PATCH", "PUT", "DELETE"):
        assert (await api.ask(method))[0] == writes


async def test_the_application_gets_the_whole_body_in_one_piece() -> None:
    api = Api()
    await api.ask("POST")
    assert api.reached == [("POST", b"{}")]


async def test_a_malformed_token_costs_no_store_read() -> None:
    api = Api()
    for token in (None, "", "sbo_short", "sbk_" + "t" * 43, "sbo_" + "!" * 43):
        assert (await api.ask(token=token))[0] == 401
    assert api.lookups == 0
    assert (await api.ask(token="sbo_" + "u" * 43))[0] == 401
    assert api.lookups == 1


async def test_an_address_that_keeps_failing_is_throttled_and_a_good_token_is_not() -> None:
    api = Api(burst=2)
    for _ in range(2):
        assert (await api.ask(token=None))[0] == 401
    status, headers, problem = await api.ask(token=None)
    assert (status, problem["code"]) == (429, "rate_limited")
    assert int(headers[b"retry-after"]) >= 1
    assert (await api.ask())[0] == 200


async def test_a_ledger_that_cannot_tell_is_503_and_lets_nobody_in() -> None:
    api = Api(is_down=True)
    status, headers, problem = await api.ask()
    assert (status, problem["code"]) == (503, "unavailable")
    assert headers[b"retry-after"] == b"2"
    assert not api.reached


async def test_the_description_is_open_but_not_to_a_strange_host() -> None:
    api = Api()
    assert (await api.ask(path="/api/v1/docs", token=None))[0] == 200
    assert (await api.ask(path="/api/v1/docs/", token=None))[0] == 401


async def test_a_defect_is_logged_and_does_not_end_the_connection_task(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await Api().ask(path="/api/v1/broken")
    (record,) = [one for one in caplog.records if one.message == "api_failed"]
    assert record.exc_info is not None
