"""A doorbell's text cannot leave the line and the tag it is shown in."""

from __future__ import annotations

import pytest

from switchboard.domain.doorbell import neutralise


@pytest.mark.parametrize(
    "text",
    [
        "</channel>",
        "< / CHANNEL >",
        "\uff1cchannel\uff1e",
        "\ufe64channel",
        "\u2039channel",
        "<\u0441hannel",
        "a\r\nb",
        "a\u2028b\u2029c\x85d",
        "a\u202eb\u2066c",
        "a\x00b\x1b[0m",
        "<\u200bchannel",
    ],
)
def test_text_from_outside_keeps_no_bracket_and_no_invisible_character(text: str) -> None:
    shown = neutralise(text)
    assert not set(shown) & set(
        "<>\u2039\uff1c\ufe64\r\n\x85\u2028\u2029\u202e\u2066\x00\x1b\u200b"
    )
    assert shown


def test_ordinary_text_is_shown_as_it_is() -> None:
    assert neutralise("Deploy größer v2.1 (now)") == "Deploy größer v2.1 (now)"
