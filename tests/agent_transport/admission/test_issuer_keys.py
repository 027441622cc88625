"""How long keys are believed, when they are asked for anew, and how seldom that may happen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("jwt", reason="verifying tokens is an extra")

from agent_transport.admission import Admitted, Refused, TokenFault
from agent_transport.admission.fetch import FetchFailed
from agent_transport.errors import ConfigurationError
from tests.agent_transport.admission.issuer import (
    KEYS,
    OTHER_RSA_KEY,
    Issuer,
    published,
    token,
)

GOOD = token()
ROTATED = token(OTHER_RSA_KEY, key_id="next")
NEXT_KEY = published(OTHER_RSA_KEY, "next")
UNKNOWN = Refused(TokenFault.UNKNOWN_KEY)
UNAVAILABLE = Refused(TokenFault.KEYS_UNAVAILABLE)


async def test_keys_are_asked_for_once_and_kept_for_ten_minutes() -> None:
    issuer = Issuer()
    verifier = issuer.verifier()
    for issuer.now_s in (0.0, 1.0, 300.0, 599.0):
        assert isinstance(await verifier.verify(GOOD), Admitted)
    assert issuer.rounds == 1


async def test_new_key_is_taken_up_when_a_token_first_names_it() -> None:
    issuer = Issuer()
    verifier = issuer.verifier()
    await verifier.verify(GOOD)
    issuer.keys.append(NEXT_KEY)
    issuer.now_s = 30.0
    assert isinstance(await verifier.verify(ROTATED), Admitted)
    assert issuer.rounds == 2


async def test_made_up_key_ids_cause_at_most_one_fetch_in_30_seconds() -> None:
    issuer = Issuer()
    verifier = issuer.verifier()
    for tenth in range(1200):
        issuer.now_s = tenth / 10
        assert await verifier.verify(token(key_id="made-up")) == UNKNOWN
    assert issuer.rounds == 4


async def test_withdrawn_key_admits_nobody_after_ten_minutes() -> None:
    issuer = Issuer()
    verifier = issuer.verifier()
    assert isinstance(await verifier.verify(GOOD), Admitted)
    issuer.keys = [NEXT_KEY]
    issuer.now_s = 599.0
    assert isinstance(await verifier.verify(GOOD), Admitted)
    issuer.now_s = 600.0
    assert await verifier.verify(GOOD) == UNKNOWN


async def test_known_keys_outlive_an_outage_for_an_hour_and_not_longer() -> None:
    issuer = Issuer()
    verifier = issuer.verifier()
    await verifier.verify(GOOD)
    issuer.is_down = True
    for issuer.now_s in (600.0, 1800.0, 3599.0):
        assert isinstance(await verifier.verify(GOOD), Admitted)
    issuer.now_s = 3600.0
    assert await verifier.verify(GOOD) == UNAVAILABLE
    issuer.is_down = False
    issuer.now_s = 3630.0
    assert isinstance(await verifier.verify(GOOD), Admitted)


async def test_outage_is_asked_about_at_most_once_in_30_seconds() -> None:
    issuer = Issuer(is_down=True)
    verifier = issuer.verifier()
    for second in range(61):
        issuer.now_s = float(second)
        assert await verifier.verify(GOOD) == UNAVAILABLE
    assert issuer.rounds == 3


async def test_outage_is_over_as_soon_as_the_next_fetch_may_be_made() -> None:
    issuer = Issuer(is_down=True)
    verifier = issuer.verifier()
    assert await verifier.verify(GOOD) == UNAVAILABLE
    issuer.is_down = False
    issuer.now_s = 29.9
    assert await verifier.verify(GOOD) == UNAVAILABLE
    issuer.now_s = 30.0
    assert isinstance(await verifier.verify(GOOD), Admitted)


async def test_wall_clock_that_jumps_changes_no_age() -> None:
    issuer = Issuer()
    verifier = issuer.verifier()
    await verifier.verify(GOOD)
    issuer.wall_s += 86_400 * 365
    assert await verifier.verify(GOOD) == Refused(TokenFault.EXPIRED)
    issuer.wall_s -= 86_400 * 365
    assert isinstance(await verifier.verify(GOOD), Admitted)
    assert issuer.rounds == 1


class Gated(Issuer):
    """An issuer that answers only once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_once = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def fetch(self, url: str, *, may_be_private: bool) -> bytes:
        self.asked_once.set()
        await self.may_answer.wait()
        return await super().fetch(url, may_be_private=may_be_private)


async def test_many_callers_at_once_share_one_fetch() -> None:
    issuer = Gated()
    verifier = issuer.verifier()
    waiting = [asyncio.create_task(verifier.verify(GOOD)) for _ in range(50)]
    await issuer.asked_once.wait()
    issuer.may_answer.set()
    assert all(isinstance(verdict, Admitted) for verdict in await asyncio.gather(*waiting))
    assert issuer.rounds == 1


async def test_caller_that_gives_up_does_not_take_the_keys_from_the_others() -> None:
    issuer = Gated()
    verifier = issuer.verifier()
    first, second = (asyncio.create_task(verifier.verify(GOOD)) for _ in range(2))
    await issuer.asked_once.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    issuer.may_answer.set()
    assert isinstance(await second, Admitted)
    assert issuer.rounds == 1


async def test_closing_ends_the_fetch_and_whoever_waits_is_told() -> None:
    issuer = Gated()
    verifier = issuer.verifier()
    waiting = asyncio.create_task(verifier.verify(GOOD))
    await issuer.asked_once.wait()
    await verifier.close()
    await verifier.close()
    assert await waiting == UNAVAILABLE


async def test_issuer_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_transport.admission.issuer_keys.FETCH_BOUND_S", 0.01)
    assert await Gated().verifier().verify(GOOD) == UNAVAILABLE


async def test_fetch_that_breaks_its_contract_admits_nobody_and_raises_nothing() -> None:
    async def broken(url: str, *, may_be_private: bool) -> bytes:
        raise RuntimeError("broken")

    assert await Issuer().verifier(fetch=broken).verify(GOOD) == UNAVAILABLE


async def test_verifier_that_fails_within_admits_nobody_and_logs_no_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def no_clock() -> float:
        raise RuntimeError(GOOD)

    assert await Issuer().verifier(wall_clock=no_clock).verify(GOOD) == UNAVAILABLE
    assert "token_not_judged" in caplog.text
    assert GOOD not in caplog.text


async def test_private_key_that_is_published_is_told_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    issuer = Issuer(keys=[{**KEYS[0], "d": "SECRET"}])
    assert await issuer.verifier().verify(GOOD) == Refused(TokenFault.KEY_MISMATCH)
    assert "issuer_publishes_private_key" in caplog.text
    assert "SECRET" not in caplog.text


async def test_log_of_an_outage_has_no_token(caplog: pytest.LogCaptureFixture) -> None:
    async def down(url: str, *, may_be_private: bool) -> bytes:
        raise FetchFailed("status 502")

    await Issuer().verifier(fetch=down).verify(GOOD)
    assert "issuer_keys_not_fetched" in caplog.text
    assert GOOD not in caplog.text


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("issuer", {"issuer": "http://login.example"}),
        ("public_url", {"public_url": "http://agents.example/mcp"}),
        ("subjects", {"subjects": [], "clients": []}),
        ("subjects", {"subjects": "ada"}),
        ("subjects", {"subjects": [""]}),
        ("clients", {"clients": ["robot", ""]}),
        ("scopes", {"scopes": []}),
        ("scopes", {"scopes": "agent:use"}),
        ("scopes", {"scopes": ["a b"]}),
        ("algorithms", {"algorithms": []}),
        ("algorithms", {"algorithms": ["HS256"]}),
        ("algorithms", {"algorithms": ["RS256", "none"]}),
        ("algorithms", {"algorithms": "RS256"}),
    ],
)
def test_bad_setting_is_refused_by_the_name_of_its_field(
    field: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Issuer().verifier(**changes)
    assert refused.value.field == field
