"""What the gate counts, what it throttles, and what it leaves on record."""

from __future__ import annotations

import asyncio
import logging

import pytest

from agent_transport.admission import Admitted, AuditRecord, Refused, TokenFault
from tests.agent_transport.admission.guarded import GOOD, Guarded, assert_is_bare_refusal

COUNTED = sorted(set(TokenFault) - {TokenFault.KEYS_UNAVAILABLE})


@pytest.mark.parametrize("fault", COUNTED)
async def test_every_fault_but_an_outage_counts_and_the_21st_is_throttled(
    fault: TokenFault,
) -> None:
    guarded = Guarded()
    for _ in range(20):
        assert (await guarded.ask(fault.value)).status in {401, 403}
    guarded.now_s += 10
    answer = await guarded.ask(fault.value)
    assert_is_bare_refusal(answer, 429)
    assert answer.headers["retry-after"] == "50"
    assert "www-authenticate" not in answer.headers
    assert [record.throttled for record in guarded.records] == [False] * 20 + [True]
    guarded.now_s += 50
    assert (await guarded.ask(fault.value)).status in {401, 403}


async def test_outage_of_the_keys_is_503_and_never_counted() -> None:
    guarded = Guarded()
    for _ in range(30):
        assert_is_bare_refusal(await guarded.ask("keys_unavailable"), 503)
    assert (await guarded.ask("bad_signature")).status == 401
    assert not any(record.throttled for record in guarded.records)


async def test_good_token_is_served_while_its_address_is_throttled() -> None:
    guarded = Guarded()
    statuses = [(await guarded.ask("bad_signature")).status for _ in range(25)]
    assert statuses[-1] == 429
    assert (await guarded.ask()).status == 200
    assert (await guarded.ask("bad_signature")).status == 429
    assert (await guarded.ask("keys_unavailable")).status == 503


async def test_another_address_is_not_throttled_for_it() -> None:
    guarded = Guarded()
    for _ in range(25):
        await guarded.ask("bad_signature")
    assert (await guarded.ask("bad_signature", client=("203.0.113.10", 1))).status == 401


async def test_forged_forwarded_address_does_not_escape_the_throttle() -> None:
    guarded = Guarded()

    async def fail(forged: str) -> int:
        more = ((b"x-forwarded-for", forged.encode()),)
        return (await guarded.ask("bad_signature", more=more)).status

    assert [await fail(f"198.51.100.{n}") for n in range(25)][-1] == 429


async def test_clients_behind_a_trusted_proxy_are_told_apart_by_the_right_most_hop() -> None:
    guarded = Guarded()

    async def fail(hops: str) -> int:
        more = ((b"x-forwarded-for", hops.encode()),)
        return (await guarded.ask("bad_signature", more=more, client=("10.0.0.1", 1))).status

    statuses = [await fail(f"1.2.3.{n}, 198.51.100.1") for n in range(25)]
    assert statuses[-1] == 429
    assert await fail("198.51.100.1, 198.51.100.2") == 401


async def test_record_holds_reason_class_and_throttle_and_no_token() -> None:
    guarded = Guarded()
    await guarded.ask("wrong_issuer")
    (record,) = guarded.records
    assert repr(record).count("=") == 3
    assert (record.reason, record.throttled) == (TokenFault.WRONG_ISSUER, False)
    await guarded.ask("SECRET-TOKEN")
    assert "SECRET" not in repr(guarded.records)


@pytest.mark.parametrize(
    ("client", "kind"),
    [
        (("127.0.0.1", 1), "loopback"),
        (("192.168.3.4", 1), "private"),
        (("8.8.8.8", 1), "public"),
        (None, "unknown"),
    ],
)
async def test_record_tells_the_kind_of_address_and_not_the_address(
    client: tuple[str, int] | None, kind: str
) -> None:
    guarded = Guarded()
    await guarded.ask("expired", client=client)
    assert guarded.records[0].address_class == kind
    assert client is None or client[0] not in repr(guarded.records)


async def test_audit_that_breaks_changes_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def broken(record: AuditRecord) -> None:
        raise RuntimeError(f"full disk at {record.reason}")

    assert_is_bare_refusal(await Guarded(audit=broken).ask("expired"), 401)
    assert "audit_failed" in caplog.text


async def test_verifier_that_breaks_its_contract_counts_as_unable_to_tell(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guarded = Guarded()
    guarded.verifier.broken = RuntimeError(f"cannot read {GOOD}")
    with caplog.at_level(logging.DEBUG):
        assert_is_bare_refusal(await guarded.ask(), 503)
    assert guarded.records[0].reason is TokenFault.KEYS_UNAVAILABLE
    assert GOOD not in caplog.text


async def test_verifier_that_hangs_counts_as_unable_to_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hang(token: str) -> Admitted | Refused:
        await asyncio.Event().wait()
        return Admitted("nobody")

    monkeypatch.setattr("agent_transport.admission.gate.VERIFY_BOUND_S", 0.01)
    guarded = Guarded()
    monkeypatch.setattr(guarded.verifier, "verify", hang)
    assert (await guarded.ask()).status == 503


async def test_no_log_line_has_the_token_or_the_address(caplog: pytest.LogCaptureFixture) -> None:
    guarded = Guarded()
    with caplog.at_level(logging.DEBUG):
        await guarded.ask("SECRET-TOKEN")
        await guarded.ask("SECRET-TOKEN", host=b"evil.example")
    assert "SECRET" not in caplog.text
    assert "203.0.113.9" not in caplog.text
    assert "evil" not in caplog.text
