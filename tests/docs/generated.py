"""The parts of the pages that are written from the code: where they stand, and what is there.

`python -m tests.docs` writes them anew; a test says which of them is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.code_blocks import GUIDE, ROOT
from tests.docs.command_reference import command_reference
from tests.docs.decisions import INDEX, decision_index
from tests.docs.help_texts import SNAPSHOT, help_texts
from tests.docs.layout import layout
from tests.docs.library_command import library_command
from tests.docs.settings_reference import settings_reference
from tests.docs.state_picture import picture
from tests.docs.tool_reference import Told, tool_reference


@dataclass(frozen=True, slots=True)
class Generated:
    """One part. `name` marks where it stands in `page`; None: it is the whole file."""

    page: Path
    name: str | None
    text: str

    @property
    def redrawn(self) -> str:
        """The page with this part as it should be.

        Raises:
            ValueError: the page has no such place.
        """
        if self.name is None:
            return self.text
        begin = f"<!-- {self.name}: written by python -m tests.docs -->\n"
        end = f"<!-- end of {self.name} -->"
        page = self.page.read_text("utf-8")
        start = page.index(begin) + len(begin)
        return page[:start] + self.text + "\n" + page[page.index(end, start) :]


def generated(told: Told) -> Iterator[Generated]:
    """Every part; `told` is what a running service tells its agents."""
    yield Generated(ROOT / "ARCHITECTURE.md", "state picture", picture())
    yield Generated(ROOT / "ARCHITECTURE.md", "layout", layout())
    yield Generated(INDEX, "decisions", decision_index())
    yield Generated(GUIDE / "settings.md", "settings", settings_reference())
    yield Generated(GUIDE / "cli.md", "commands", command_reference())
    yield Generated(GUIDE / "tools.md", "tools", tool_reference(told))
    yield Generated(GUIDE / "agent-transport.md", "agent-transport", library_command())
    yield Generated(SNAPSHOT, None, help_texts())
