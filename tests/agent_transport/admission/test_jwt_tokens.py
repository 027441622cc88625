"""Which token is admitted, why each other is not, and what it costs to tell."""

from __future__ import annotations

import pytest

pytest.importorskip("jwt", reason="verifying tokens is an extra")

from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission import Admitted, Refused, TokenFault
from tests.agent_transport.admission.issuer import EC_KEY, Issuer, token
from tests.agent_transport.admission.token_table import GOOD, TABLE, Row


@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
async def test_each_token_gets_its_verdict_and_asks_the_issuer_only_when_it_must(row: Row) -> None:
    issuer = Issuer(keys=row.keys)
    verdict = await issuer.verifier().verify(row.token)
    if row.fault is None:
        assert isinstance(verdict, Admitted)
    else:
        assert verdict == Refused(row.fault)
    assert bool(issuer.asked) is row.asks


def test_table_has_every_reason_that_a_verifier_can_give() -> None:
    assert len(TABLE) >= 60
    assert {row.fault for row in TABLE} == {None, *TokenFault} - {TokenFault.MISSING_TOKEN}


async def test_longest_token_allowed_is_judged() -> None:
    grown = token(pad="")
    longest = token(pad="p" * ((8192 - len(grown)) * 3 // 4 - 2))
    assert 8180 <= len(longest) <= 8192
    assert isinstance(await Issuer().verifier().verify(longest), Admitted)


async def test_principal_says_whether_it_is_a_subject_or_a_client() -> None:
    verifier = Issuer().verifier()
    scopes = frozenset({"agent:use"})
    assert await verifier.verify(GOOD) == Admitted("subject:ada", scopes)
    assert await verifier.verify(token(sub="x", client_id="robot")) == Admitted(
        "client:robot", scopes
    )


async def test_only_configured_algorithms_are_accepted() -> None:
    issuer = Issuer()
    verifier = issuer.verifier(algorithms=["ES256"])
    assert await verifier.verify(GOOD) == Refused(TokenFault.UNSUPPORTED_ALGORITHM)
    assert isinstance(await verifier.verify(token(EC_KEY, "ES256", "ec")), Admitted)


async def test_all_required_scopes_are_needed() -> None:
    verifier = Issuer().verifier(scopes=["agent:use", "agent:see"])
    assert await verifier.verify(GOOD) == Refused(TokenFault.MISSING_SCOPE)
    assert isinstance(await verifier.verify(token(scope="agent:see agent:use")), Admitted)


@given(st.text(max_size=200))
async def test_any_text_is_refused_without_raising_or_asking(text: str) -> None:
    issuer = Issuer()
    assert isinstance(await issuer.verifier().verify(text), Refused)
    assert issuer.asked == []


@given(st.integers(0, len(GOOD) - 1), st.sampled_from("AZaz09-_."))
async def test_no_change_of_one_character_is_admitted(position: int, character: str) -> None:
    changed = GOOD[:position] + character + GOOD[position + 1 :]
    verdict = await Issuer().verifier().verify(changed)
    assert isinstance(verdict, Admitted) is (changed == GOOD)
