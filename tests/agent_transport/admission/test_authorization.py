"""Settings of a resource server: each bad value is refused at construction, by its name."""

from __future__ import annotations

from typing import Any

import pytest

from agent_transport.admission import (
    Admitted,
    Authorization,
    Refused,
    build_authorization,
    parse_public_url,
)
from agent_transport.errors import ConfigurationError


class TrustsAll:
    async def verify(self, token: str) -> Admitted | Refused:
        return Admitted("anyone")


def build(**changes: Any) -> Authorization:
    values: dict[str, Any] = {
        "public_url": "https://agents.example/team/mcp",
        "issuer": "https://login.example",
        "scopes": ["agent:use"],
        "verifier": TrustsAll(),
    }
    return build_authorization(**{**values, **changes})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("public_url", ""),
        ("public_url", "agents.example/mcp"),
        ("public_url", "http://agents.example/mcp"),
        ("public_url", "https:///mcp"),
        ("public_url", "https://user@agents.example/mcp"),
        ("public_url", "https://@agents.example/mcp"),
        ("public_url", "https://agents.example/mcp?x=1"),
        ("public_url", "https://agents.example/mcp?"),
        ("public_url", "https://agents.example/mcp#x"),
        ("public_url", "https://agents.example/mcp#"),
        ("public_url", "https://agents.example:99999/mcp"),
        ("public_url", "https://agents.example:0/mcp"),
        ("public_url", "https://agents.example/m cp"),
        ("public_url", "https://agents.example/mcp\n"),
        ("public_url", 'https://agents.example/m"cp'),
        ("public_url", "https://agénts.example/mcp"),
        ("public_url", 'https://agents".example/mcp'),
        ("issuer", "http://login.example"),
        ("issuer", "login.example"),
        ("issuer", "https://login.example?x"),
        ("issuer", "https://user:pw@login.example"),
        ("scopes", []),
        ("scopes", "agent:use"),
        ("scopes", [""]),
        ("scopes", ["a b"]),
        ("scopes", ['a"b']),
        ("scopes", ["ok", "ä"]),
        ("verifier", None),
        ("verifier", object()),
        ("trusted_proxies", ["proxy.example"]),
        ("trusted_proxies", ["10.0.0.1/8"]),
    ],
)
def test_bad_value_is_refused_by_the_name_of_its_field(field: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        build(**{field: value})
    assert refused.value.field == field
    assert refused.value.code == "configuration_error"
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "origin", "metadata"),
    [
        (
            "https://agents.example/mcp",
            "https://agents.example",
            "https://agents.example/.well-known/oauth-protected-resource/mcp",
        ),
        (
            "https://Agents.Example:8443/a/b",
            "https://agents.example:8443",
            "https://agents.example:8443/.well-known/oauth-protected-resource/a/b",
        ),
        (
            "https://agents.example",
            "https://agents.example",
            "https://agents.example/.well-known/oauth-protected-resource",
        ),
        (
            "https://agents.example:443/",
            "https://agents.example",
            "https://agents.example/.well-known/oauth-protected-resource",
        ),
        (
            "https://[2001:DB8::1]/mcp",
            "https://[2001:db8::1]",
            "https://[2001:db8::1]/.well-known/oauth-protected-resource/mcp",
        ),
    ],
)
def test_every_name_comes_from_the_public_url(text: str, origin: str, metadata: str) -> None:
    url = parse_public_url(text)
    assert (url.text, url.origin, url.metadata_url) == (text, origin, metadata)


def test_good_settings_are_kept_in_order_and_once() -> None:
    kept = build(scopes=["b", "a", "b"], trusted_proxies=["10.0.0.0/8"])
    assert kept.scopes == ("b", "a")
    assert kept.issuer == "https://login.example"
    assert len(kept.trusted_proxies.networks) == 1
