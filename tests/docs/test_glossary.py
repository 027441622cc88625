"""The glossary has the words that the ledger is made of."""

from __future__ import annotations

import re

from switchboard.domain.endpoint import Verb
from switchboard.domain.todo import State, Step
from tests.docs.code_blocks import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8")
WORDS = [word for word in re.findall(r"^\| ([a-z ]+) \|", PAGE, re.M) if word != "word"]
FORMS = {"claimed": "claim", "cancelled": "cancel", "failed": "fail", "undo_claim": "claim"}
"""Forms of a word that has a row."""
PLAIN = {"list_todos", "get_todo", "create_todo"}
"""Verbs that say by themselves what they do."""


def test_the_words_are_in_order_and_none_stands_twice() -> None:
    assert len(WORDS) > 40
    assert sorted(set(WORDS)) == WORDS


def test_each_state_step_and_verb_of_the_ledger_is_explained() -> None:
    named = {str(word) for word in (*State, *Step, *Verb)} - PLAIN
    assert not [word for word in named if FORMS.get(word, word) not in WORDS]
