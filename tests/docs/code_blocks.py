"""The fenced blocks of a page, as its readers would copy them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
PAGES = tuple(
    sorted(
        [
            *ROOT.glob("*.md"),
            *(ROOT / "docs").rglob("*.md"),
            *(ROOT / "packages").glob("*/README.md"),
        ]
    )
)
"""Every page that is kept in this repository."""
LIBRARY_PAGES = frozenset(
    [*GUIDE.glob("agent-*.md"), ROOT / "packages" / "agent-transport" / "README.md"]
)
"""Those about agent-transport by itself, which also serves over stdio; Switchboard never does."""

_FENCED = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One block. `sh` is run by the tests; commands of programs that are not ours are `text`."""

    language: str
    text: str


def code_blocks(page: Path, *languages: str) -> list[CodeBlock]:
    """The blocks of `page` in these languages, in their order, without the page's indentation."""
    return [
        CodeBlock(found["language"], dedent(found["text"]))
        for found in _FENCED.finditer(page.read_text("utf-8"))
        if found["language"] in languages
    ]
