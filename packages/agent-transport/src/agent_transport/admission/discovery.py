"""Finding an issuer's keys: RFC 8414 metadata, else OpenID Connect discovery."""

from __future__ import annotations

from urllib.parse import urlsplit

from agent_transport.admission.fetch import Fetch, FetchFailed
from agent_transport.admission.json_object import read_json_object
from agent_transport.admission.key_set import VerificationKey, parse_key_set
from agent_transport.admission.public_url import split_https_url
from agent_transport.errors import ConfigurationError


def metadata_urls(issuer: str) -> tuple[str, str]:
    """Where the metadata may be: RFC 8414 §3.1 before the issuer's path, OpenID behind it."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    base = f"{parts.scheme}://{parts.netloc}"
    return (
        f"{base}/.well-known/oauth-authorization-server{path}",
        f"{base}{path}/.well-known/openid-configuration",
    )


async def fetch_keys(issuer: str, fetch: Fetch) -> tuple[VerificationKey, ...]:
    """Ask the issuer for its keys.

    The issuer's own host was configured and may be anywhere; any other host that its metadata
    points to must be public, or the metadata could aim us at the inside of a network.

    Raises:
        FetchFailed: no metadata that names exactly this issuer, or no usable key set.
    """
    url = await _key_set_url(issuer, fetch)
    is_own_host = urlsplit(url).hostname == urlsplit(issuer).hostname
    keys = parse_key_set(await fetch(url, may_be_private=is_own_host))
    if keys is None:
        raise FetchFailed("the key set is unreadable or too long")
    return keys


async def _key_set_url(issuer: str, fetch: Fetch) -> str:
    for url in metadata_urls(issuer):
        try:
            found = _read_metadata(await fetch(url, may_be_private=True), issuer)
        except FetchFailed:
            continue  # there is more than one place; that it is in none of them is told below
        if found is not None:
            return found
    raise FetchFailed("no metadata names this issuer and its key set")


def _read_metadata(document: bytes, issuer: str) -> str | None:
    metadata = read_json_object(document) or {}
    url = metadata.get("jwks_uri")
    if metadata.get("issuer") != issuer or not isinstance(url, str):
        return None
    try:
        split_https_url(url.partition("?")[0], field="jwks_uri")
    except ConfigurationError:
        return None
    return url if url.isascii() and url.isprintable() and "#" not in url else None
