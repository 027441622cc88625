"""Finding an issuer's keys: which documents are asked for, and which are believed."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("jwt", reason="verifying tokens is an extra")

from agent_transport.admission.discovery import fetch_keys, metadata_urls
from agent_transport.admission.fetch import FetchFailed
from tests.agent_transport.admission.issuer import (
    ISSUER,
    KEYS,
    KEYS_URL,
    METADATA_URL,
    OPENID_URL,
    Issuer,
)


def metadata(**changes: object) -> bytes:
    return json.dumps({"issuer": ISSUER, "jwks_uri": KEYS_URL, **changes}).encode()


@pytest.mark.parametrize(
    ("issuer", "oauth", "openid"),
    [
        (
            "https://login.example",
            "https://login.example/.well-known/oauth-authorization-server",
            "https://login.example/.well-known/openid-configuration",
        ),
        (
            "https://login.example/",
            "https://login.example/.well-known/oauth-authorization-server",
            "https://login.example/.well-known/openid-configuration",
        ),
        (
            "https://login.example:8443/a/b",
            "https://login.example:8443/.well-known/oauth-authorization-server/a/b",
            "https://login.example:8443/a/b/.well-known/openid-configuration",
        ),
    ],
)
def test_metadata_is_looked_for_in_both_standard_places(
    issuer: str, oauth: str, openid: str
) -> None:
    assert metadata_urls(issuer) == (oauth, openid)


async def test_oauth_metadata_is_enough() -> None:
    issuer = Issuer()
    assert len(await fetch_keys(ISSUER, issuer.fetch)) == len(KEYS)
    assert issuer.asked == [(METADATA_URL, True), (KEYS_URL, True)]


@pytest.mark.parametrize(
    "first",
    [
        None,
        b"no JSON",
        b"[]",
        metadata(issuer=f"{ISSUER}/"),
        metadata(issuer="https://login.example"),
        metadata(issuer=None),
        metadata(jwks_uri=None),
        metadata(jwks_uri=["x"]),
        metadata(jwks_uri="http://login.example/keys"),
        metadata(jwks_uri="https://user@login.example/keys"),
        metadata(jwks_uri="https://login.example/keys#x"),
        metadata(jwks_uri="https://login.example/k\r\neys"),
        metadata(jwks_uri="file:///etc/passwd"),
    ],
)
async def test_openid_metadata_is_taken_when_the_other_is_not_to_be_believed(
    first: bytes | None,
) -> None:
    issuer = Issuer()
    issuer.documents = {OPENID_URL: metadata()}
    if first is not None:
        issuer.documents[METADATA_URL] = first
    assert len(await fetch_keys(ISSUER, issuer.fetch)) == len(KEYS)
    assert [url for url, _ in issuer.asked] == [METADATA_URL, OPENID_URL, KEYS_URL]


async def test_issuer_that_nobody_names_exactly_has_no_keys() -> None:
    issuer = Issuer()
    issuer.documents = dict.fromkeys((METADATA_URL, OPENID_URL), metadata(issuer="https://x"))
    with pytest.raises(FetchFailed):
        await fetch_keys(ISSUER, issuer.fetch)
    assert KEYS_URL not in [url for url, _ in issuer.asked]


async def test_only_the_issuers_own_host_may_be_on_a_private_network() -> None:
    elsewhere = "https://keys.example/set?realm=1"
    issuer = Issuer()
    issuer.documents |= {METADATA_URL: metadata(jwks_uri=elsewhere), elsewhere: b'{"keys":[]}'}
    assert await fetch_keys(ISSUER, issuer.fetch) == ()
    assert issuer.asked == [(METADATA_URL, True), (elsewhere, False)]


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"{}", b'{"keys":{}}', json.dumps({"keys": [{}] * 33}).encode()]
)
async def test_unreadable_or_endless_key_set_is_none(document: bytes) -> None:
    issuer = Issuer()
    issuer.documents[KEYS_URL] = document
    with pytest.raises(FetchFailed, match="key set"):
        await fetch_keys(ISSUER, issuer.fetch)
