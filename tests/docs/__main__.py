"""`python -m tests.docs` writes the generated parts of the pages anew."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.docs.generated import generated
from tests.docs.tool_reference import told

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        known = asyncio.run(told(Path(directory)))
    for part in generated(known):
        part.page.write_text(part.redrawn, "utf-8")
