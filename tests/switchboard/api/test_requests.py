"""Requests that are wrong before any field is looked at, and what every answer has."""

from __future__ import annotations

import httpx
import pytest

from tests.switchboard.api.conftest import Api
from tests.switchboard.captured_log import captured_log

JSON = {"content-type": "application/json"}
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"title": "\xff", "queue": "inbox"}', 400),
        (b'{"title": "\\ud800", "queue": "inbox"}', 400),
        (b'{"title": "a", "queue": "inbox", "payload": "\\udc00"}', 400),
        (b'{"title": "a", "queue": "inbox", "payload": NaN}', 400),
        (b'{"title": "a", "queue": "inbox", "payload": ' + b"[" * 100_000, 400),
        (b"null", 422),
        (b"[]", 422),
        (b'"text"', 422),
        (b'{"todos": null}', 422),
        (b'{"todos": []}', 422),
        (b'{"todos": [1]}', 422),
        (b'{"todos": [], "title": "a"}', 422),
    ],
)
async def test_a_body_that_is_not_what_is_asked_for_is_refused_and_nothing_stored(
    api: Api, body: bytes, status: int
) -> None:
    answer = await api.client.post("/todos", content=body, headers=JSON)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "invalid_argument"
    assert (await api.client.get("/todos")).json()["todos"] == []


async def test_a_thousand_and_one_todos_are_too_many(api: Api) -> None:
    todos = [{"title": "a", "queue": "inbox"}] * 1_001
    answer = await api.client.post("/todos", json={"todos": todos})
    assert (answer.status_code, answer.json()["field"]) == (422, "todos")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_another_content_type_is_415(api: Api, kind: str) -> None:
    answer = await api.client.post("/todos", content=b"{}", headers={"content-type": kind})
    assert answer.status_code == 415


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_beyond_a_mebibyte_is_413_and_the_connection_closes(
    api: Api, is_chunked: bool
) -> None:
    async def chunks() -> object:
        for _ in range(17):
            yield b"x" * (MIB // 16)

    content = chunks() if is_chunked else b"x" * (MIB + 1)
    answer = await api.client.post("/todos", content=content, headers=JSON)  # pyright: ignore[reportArgumentType] - a generator is one
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"


async def test_without_a_good_token_everything_is_the_same_401(api: Api) -> None:
    vended = await api.vend()
    answers: set[tuple[int, bytes]] = set()
    async with httpx.AsyncClient(base_url=str(api.client.base_url), trust_env=False) as client:
        for headers in (
            [],
            [("authorization", "Bearer sbo_" + "a" * 43)],
            [("authorization", f"Bearer {vended['credential']}")],
            [("authorization", f"Basic {api.token}")],
            [("authorization", f"Bearer {api.token}")] * 2,
            [(b"authorization", b"Bearer sbo_\xff" + b"a" * 42)],
            [("cookie", f"token={api.token}")],
        ):
            for path in ("/todos", "/nothing", "/endpoints/x"):
                answer = await client.get(path, headers=headers)  # pyright: ignore[reportArgumentType] - bytes are headers too
                assert answer.headers["www-authenticate"] == "Bearer"
                answers.add((answer.status_code, answer.content))
    ((status, _),) = answers
    assert status == 401


async def test_another_host_or_origin_is_403(api: Api) -> None:
    for headers, setting in (
        ({"host": "evil.example"}, "public_url"),
        ({"origin": "https://evil.example"}, "allowed_origins"),
    ):
        with captured_log() as log:
            answer = await api.client.get("/todos", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert f"set {setting}" in log.text
    same = await api.client.get("/todos", headers={"origin": api.service.local_url})
    assert same.status_code == 200


async def test_an_unknown_path_or_method_is_a_problem_document(api: Api) -> None:
    assert (await api.client.get("/nothing")).status_code == 404
    answer = await api.client.delete("/todos")
    assert (answer.status_code, answer.json()["code"]) == (405, "invalid_argument")


async def test_every_answer_has_the_security_headers(api: Api) -> None:
    for path in ("/todos", "/nothing", "/docs", "/openapi.json"):
        headers = (await api.client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]


async def test_the_description_needs_no_token_and_loads_nothing_from_elsewhere(api: Api) -> None:
    async with httpx.AsyncClient(base_url=str(api.client.base_url), trust_env=False) as client:
        document = (await client.get("/openapi.json")).json()
        page = (await client.get("/docs")).text
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
    assert "/api/v1/endpoints/{slug}/revoke" in document["paths"]
    for foreign in ("<script", "<style", "<link", "src=", "http:", "https:"):
        assert foreign not in page


async def test_a_request_after_all_of_that_is_still_served(api: Api) -> None:
    answer = await api.client.post("/todos", content=b"[" * MIB, headers=JSON)
    assert answer.status_code == 400
    assert (await api.add())["state"] == "pending"
