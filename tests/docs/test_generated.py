"""What the pages show of the code is what the code is."""

from __future__ import annotations

from pathlib import Path

from tests.docs.generated import generated
from tests.docs.tool_reference import told

HOW = "run `.venv/bin/python -m tests.docs`, and read the difference before you commit it"


async def test_every_generated_part_is_up_to_date(tmp_path: Path) -> None:
    """The tools' names and descriptions, the help of the commands, settings, the state picture."""
    parts = list(generated(await told(tmp_path)))
    stale = [
        f"{part.page.name}: {part.name or 'all of it'}"
        for part in parts
        if not part.page.is_file() or part.page.read_text("utf-8") != part.redrawn
    ]
    assert not stale, f"{HOW}: {stale}"
