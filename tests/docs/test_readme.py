"""The README's first run, typed as it stands, shows what the README says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.code_blocks import ROOT, code_blocks
from tests.docs.terminal import as_pattern, checkout_with_service, typed

README = ROOT / "README.md"
RUN_LINES = 15


def test_the_first_run_is_short_and_begins_with_make_up() -> None:
    first, *_ = blocks = code_blocks(README, "sh")
    assert first.text.split("#")[0].strip() == "make up"
    assert sum(block.text.count("\n") for block in blocks) <= RUN_LINES


async def test_the_first_run_shows_what_the_page_shows(tmp_path: Path) -> None:
    _, second = code_blocks(README, "sh")
    (seen,) = code_blocks(README, "text")
    async with (
        checkout_with_service(tmp_path) as service,
        typed(second.text, tmp_path) as terminal,
    ):
        await terminal.read_until("completed td_")
        await terminal.press_ctrl_c()
        shown = await terminal.finish()
        assert re.search(as_pattern(seen.text), shown), shown
        assert "Traceback" not in shown
        assert service.process.returncode is None


async def test_what_make_up_says_to_do_next_does_a_todo(tmp_path: Path) -> None:
    """`-o`: the environment that runs this test is not to be made again by it."""
    make_up = f"exec make --silent -o .venv/stamp up DATA_DIR='{tmp_path / 'data'}'"
    async with typed(make_up, ROOT, SWITCHBOARD_PORT="0") as service:
        await service.read_until("[info     ] started")
        commands = [line for line in service.lines if line.startswith("  ")]
        assert 1 <= len(commands) <= 3
        async with typed("".join(commands), ROOT) as terminal:
            await terminal.read_until("completed td_")
            await terminal.press_ctrl_c()
            await terminal.finish()
        await service.press_ctrl_c()
        await service.read_until("[info     ] stopped")
