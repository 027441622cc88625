"""The log: one shape for every record, and no secret in any of them."""

from __future__ import annotations

import io
import json
import logging
import random
from collections.abc import Iterator

import pytest
import structlog

from switchboard.domain.credential import (
    display_prefix,
    mint_credential,
    mint_lease_token,
    mint_operator_token,
)
from switchboard.log import configure_logging, mask_secrets

SEEDED = random.Random(7).randbytes
SECRETS = [mint_credential(SEEDED), mint_operator_token(SEEDED), mint_lease_token(SEEDED)]


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging("info", "auto", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_records_of_both_loggers_come_out_as_json_with_their_keys(lines: io.StringIO) -> None:
    structlog.get_logger("a").info("claimed", slug="bot-1", tool="claim")
    logging.getLogger("b").warning("stream_slow", extra={"session": "s1"})
    first, second = map(json.loads, lines.getvalue().splitlines())
    assert (first["event"], first["slug"], first["tool"]) == ("claimed", "bot-1", "claim")
    assert (second["event"], second["session"], second["level"]) == ("stream_slow", "s1", "warning")


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_masked_wherever_it_hides(secret: str, lines: io.StringIO) -> None:
    log = structlog.get_logger("a")
    log.info("event", text=secret, key=secret, nested={"deep": [secret]})
    logging.getLogger("b").error("said %s", secret, extra={secret: 1})
    try:
        raise ValueError(secret)
    except ValueError:
        log.exception("failed")
    written = lines.getvalue()
    assert len(written.splitlines()) == 3
    assert "ValueError" in written
    assert secret not in written
    assert secret[4:] not in written


def test_a_display_prefix_stays_readable() -> None:
    shown = display_prefix(SECRETS[0])
    assert mask_secrets(f"credential {shown} revoked") == f"credential {shown} revoked"
