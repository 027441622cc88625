"""Scopes, and what a refused client is told about how to recover: that, and nothing more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission import (
    PLAIN_CHALLENGE,
    ChallengeError,
    is_scope,
    lacks_scope,
    parse_scopes,
    resource_challenge,
    write_scopes,
)

METADATA = "https://agents.example/.well-known/oauth-protected-resource/mcp"


@pytest.mark.parametrize("text", ["a", "agent.submit", "https://x/y#z", "!", "a:b", "~"])
def test_scope_of_rfc_6749_characters_is_a_scope(text: str) -> None:
    assert is_scope(text)


@pytest.mark.parametrize("text", ["", "a b", 'a"b', "a\\b", "a\tb", "ä", "a\x7f", "a\n"])
def test_text_with_any_other_character_is_none(text: str) -> None:
    assert not is_scope(text)


@given(st.sets(st.text("abc:./", min_size=1)))
def test_written_scopes_are_read_back(scopes: set[str]) -> None:
    assert parse_scopes(write_scopes(sorted(scopes))) == scopes


@pytest.mark.parametrize(
    ("granted", "lacking"),
    [("a b", False), ("b c a", False), ("a", True), ("", True), ("ab", True), ("A B", True)],
)
def test_every_required_scope_must_be_granted(granted: str, lacking: bool) -> None:
    assert lacks_scope(("a", "b"), parse_scopes(granted)) is lacking


def test_plain_challenge_points_nowhere() -> None:
    assert PLAIN_CHALLENGE == (b"www-authenticate", b"Bearer")


@pytest.mark.parametrize(
    ("error", "start"),
    [
        (None, "Bearer "),
        (ChallengeError.INVALID_TOKEN, 'Bearer error="invalid_token", '),
        (ChallengeError.INSUFFICIENT_SCOPE, 'Bearer error="insufficient_scope", '),
    ],
)
def test_challenge_names_error_scope_and_metadata_without_a_description(
    error: ChallengeError | None, start: str
) -> None:
    name, value = resource_challenge(("a", "b"), METADATA, error)
    assert name == b"www-authenticate"
    assert value.decode() == f'{start}scope="a b", resource_metadata="{METADATA}"'
