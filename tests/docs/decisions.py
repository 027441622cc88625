"""The decision records and the list of them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.code_blocks import ROOT

DECISIONS = ROOT / "docs" / "adr"
INDEX = DECISIONS / "README.md"
SECTIONS = ("Status", "Context", "Options", "Decision", "Consequences")


def decisions() -> list[Path]:
    """Their pages, in the order of their numbers."""
    return sorted(DECISIONS.glob("[0-9]*.md"))


def decision_index() -> str:
    """One line for each decision: its number, its title, and what became of it."""
    return "\n".join(_line(page) for page in decisions())


def _line(page: Path) -> str:
    text = page.read_text("utf-8")
    title = text.splitlines()[0].partition(". ")[2]
    status = sections_of(text)["Status"].split(".")[0]
    remark = "" if status == "Accepted" else f" ({status})"
    return f"{int(page.name[:4])}. [{title}]({page.name}){remark}"


def sections_of(text: str) -> dict[str, str]:
    """The text below each heading of the second level, in their order."""
    return {
        name: body.strip()
        for name, body in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    }
