"""The surface that most tests of this folder speak to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.switchboard.mcp.serving import Surface, serving


@pytest_asyncio.fixture
async def surface(tmp_path: Path) -> AsyncIterator[Surface]:
    async with serving(tmp_path) as served:
        yield served
