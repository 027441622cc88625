"""A doorbell's text cannot leave the line and the tag it is shown in."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.domain.doorbell import (
    MAX_CONTENT_CHARS,
    doorbell_content,
    doorbell_meta,
    doorbell_params,
    neutralise,
)
from switchboard.domain.todo import TodoId
from tests.specification import requirement
from tests.switchboard.domain.todos import ready_todo

LOOK_ALIKES = (
    "<>\uff1c\uff1e\ufe64\ufe65\u2039\u203a\u3008\u3009\u2329\u232a\u27e8\u27e9\u276e\u276f\u2770\u2771"
    "\u02c2\u02c3\u227a\u227b\u169a\u169b\u16b2\u1438\u1433\u29fc\u29fd\u226e\u226f\U0001d236\U0001d237"
)
BREAKS = "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNSEEN = "\x00\x1b\x7f\x9f\u00ad\u200b\u200d\u2060\ufeff\U000e0041"
FORBIDDEN = frozenset(LOOK_ALIKES + BREAKS + BIDI + UNSEEN)


@requirement("SPEC-0014/push/text-neutralised")
@pytest.mark.parametrize("char", sorted(FORBIDDEN), ids=lambda char: f"U+{ord(char):04X}")
def test_no_bracket_line_end_or_unseen_character_comes_through(char: str) -> None:
    assert char not in neutralise(f"a{char}b")
    assert neutralise(f"a{char}b")[0] == "a"
    params = doorbell_params(ready_todo(title=f"a{char}b", kind=f"k{char}", source=f"{char}s"))
    assert char not in str(params["content"])
    assert not any(char in value for value in doorbell_meta(ready_todo(source=char * 3)).values())


@requirement("SPEC-0014/push/text-neutralised")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("</channel>", "(/channel)"),
        ("<channel source=x>", "(channel source=x)"),
        ("< / C H A N N E L >", "( / C H A N N E L )"),
        ("<\u200b/\u200bchannel>", "( / channel)"),
        ("\uff1c\uff0fchannel\uff1e", "(\uff0fchannel)"),
        ("<\u0441hannel>", "(\u0441hannel)"),
        ("&lt;/channel&gt;", "(/channel)"),
        ("&#60;channel&#x3E;", "(channel)"),
        ("&LT/channel&#0062", "(/channel)"),
        ("one\r\n\r\ntwo\u2028three", "one two three"),
        ("  \t wide \u3000 apart  ", "wide apart"),
        ("Deploy gr\u00f6\u00dfer v2.1 (now) & go", "Deploy gr\u00f6\u00dfer v2.1 (now) & go"),
    ],
)
def test_a_hostile_text_is_shown_without_its_brackets_and_an_ordinary_one_as_it_is(
    text: str, shown: str
) -> None:
    assert neutralise(text) == shown


@given(st.text(max_size=60))
def test_whatever_comes_in_stays_one_line_of_visible_text(text: str) -> None:
    shown = neutralise(text)
    assert not set(shown) & FORBIDDEN
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.splitlines() in ([], [shown])
    assert neutralise(shown) == shown


@requirement("SPEC-0014/push/shape")
def test_the_longest_doorbell_has_300_characters_and_keeps_what_an_agent_needs() -> None:
    todo = ready_todo(
        id=TodoId("td_" + "0" * 26), queue="q" * 64, title="\U0001f6a8" * 200, source="s" * 200
    )
    content = doorbell_content(todo, more=123_456)
    assert len(content) <= MAX_CONTENT_CHARS == 300
    assert todo.id in content
    assert todo.queue in content
    assert content.endswith("(+123456 more waiting)")


@requirement("SPEC-0014/push/shape")
def test_meta_names_todo_and_queue_always_and_the_rest_when_set() -> None:
    bare = doorbell_meta(ready_todo())
    assert set(bare) == {"todo_id", "queue"}
    full = doorbell_meta(ready_todo(kind="review", source="forge", priority=-3))
    assert set(full) == {"todo_id", "queue", "kind", "source", "priority"}
    assert full["priority"] == "-3"
    assert all(re.fullmatch("[a-z0-9_]+", name) for name in full)


@requirement("SPEC-0014/push/shape")
def test_a_doorbell_tells_nothing_of_payload_result_holder_or_lease() -> None:
    todo = ready_todo(
        payload_json='"SECRET"',
        result_json='"SECRET"',
        summary="SECRET",
        failure_reason="SECRET",
        holder_id="SECRET",
        idempotency_key="SECRET",
        lease_expires_at_ms=1_234_567,
    )
    told = str(doorbell_params(todo))
    assert "SECRET" not in told
    assert "1234567" not in told
