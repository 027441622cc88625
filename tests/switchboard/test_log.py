"""The log: one shape for every record, and no secret in any of them."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator

import pytest
import structlog

from agent_transport.admission.asgi import Message, Receive, Scope, Send
from switchboard.domain.credential import (
    display_prefix,
    mint_credential,
    mint_lease_token,
    mint_operator_token,
)
from switchboard.front import Front
from switchboard.log import mask_secrets
from switchboard.request_scope import begin_request, request_at_hand
from tests.switchboard.captured_log import CapturedLog, captured_log

SEEDED = random.Random(7).randbytes
SECRETS = [mint_credential(SEEDED), mint_operator_token(SEEDED), mint_lease_token(SEEDED)]


@pytest.fixture
def log() -> Iterator[CapturedLog]:
    with captured_log() as captured:
        yield captured


def test_records_of_both_loggers_come_out_as_json_with_their_keys(log: CapturedLog) -> None:
    structlog.get_logger("a").info("claimed", slug="bot-1", tool="claim")
    logging.getLogger("b").warning("stream_slow", extra={"session": "s1"})
    first, second = log.records
    assert (first["event"], first["slug"], first["tool"]) == ("claimed", "bot-1", "claim")
    assert (second["event"], second["session"], second["level"]) == ("stream_slow", "s1", "warning")


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_masked_wherever_it_hides(secret: str, log: CapturedLog) -> None:
    logger = structlog.get_logger("a")
    logger.info("event", text=secret, key=secret, nested={"deep": [secret]})
    logging.getLogger("b").error("said %s", secret, extra={secret: 1})
    try:
        raise ValueError(secret)
    except ValueError:
        logger.exception("failed")
    written = log.text
    assert len(written.splitlines()) == 3
    assert "ValueError" in written
    assert secret not in written
    assert secret[4:] not in written


async def test_all_that_is_logged_for_a_request_says_what_is_known_of_it(
    log: CapturedLog,
) -> None:
    library = logging.getLogger("b")

    async def serve(slug: str) -> None:
        request = begin_request()
        library.warning("early")
        request.slug, request.tool = slug, "claim"
        await asyncio.create_task(step(slug))

    async def step(slug: str) -> None:
        await asyncio.sleep(0)
        library.warning("late", extra={"tool": "its own"} if slug == "bot-2" else None)

    await asyncio.gather(*(asyncio.create_task(serve(slug)) for slug in ("bot-1", "bot-2")))
    library.warning("outside")
    assert request_at_hand() is None
    first, second = log.of("early")
    assert first["request_id"] != second["request_id"]
    assert "slug" not in first
    late, other = log.of("late")
    assert (late["request_id"], late["slug"]) == (first["request_id"], "bot-1")
    assert (other["request_id"], other["slug"]) == (second["request_id"], "bot-2")
    assert (late["tool"], other["tool"]) == ("claim", "its own"), "a record's own keys win"
    assert "request_id" not in log.the("outside")


async def test_each_request_to_whichever_surface_has_an_id_of_its_own(log: CapturedLog) -> None:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        logging.getLogger("surface").warning("served", extra={"path": scope["path"]})

    async def unused() -> Message:
        raise AssertionError

    async def unheard(_: Message) -> None:
        pass

    front = Front(agents=application, api=application, alive=application, ready=application)
    for path in ("/mcp/bot-1", "/api/v1/todos", "/healthz", "/readyz"):
        await asyncio.create_task(front({"type": "http", "path": path}, unused, unheard))
    ids = {record["request_id"] for record in log.of("served")}
    assert len(ids) == 4
    assert len({one.rpartition("-")[0] for one in ids}) == 1, "of one process"


def test_a_display_prefix_stays_readable() -> None:
    shown = display_prefix(SECRETS[0])
    assert mask_secrets(f"credential {shown} revoked") == f"credential {shown} revoked"
