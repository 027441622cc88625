"""Each decision says what a reader will ask, and is found in the list."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.docs.decisions import SECTIONS, decisions, sections_of


@pytest.mark.parametrize("page", decisions(), ids=[page.stem for page in decisions()])
def test_a_decision_has_its_number_and_all_five_parts(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.startswith(f"# {int(page.name[:4])}. ")
    parts = sections_of(text)
    assert tuple(parts) == SECTIONS
    assert all(parts.values())


def test_no_number_is_given_twice() -> None:
    given = Counter(page.name[:4] for page in decisions())
    assert not [number for number, times in given.items() if times > 1]


def test_a_decision_names_at_least_two_ways_not_taken_and_why_not() -> None:
    few = {
        page.name: options
        for page in decisions()
        if (options := sections_of(page.read_text("utf-8"))["Options"].count("\n- ") + 1) < 2
    }
    assert not few
