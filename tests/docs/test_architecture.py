"""ARCHITECTURE.md shows the code as it is."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.state_picture import PAGE, picture, redrawn

ROOT = Path(__file__).resolve().parents[2]


def test_the_state_picture_is_the_one_drawn_from_the_transition_table() -> None:
    page = PAGE.read_text("utf-8")
    assert picture() in page
    assert redrawn(page) == page


def test_every_file_that_the_page_links_to_exists() -> None:
    for page in (PAGE, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
