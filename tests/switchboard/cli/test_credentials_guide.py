"""The commands of `docs/guide/credentials.md`, typed one after the other."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.docs.code_blocks import GUIDE, code_blocks
from tests.service_process import serving


async def test_each_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    (block,) = code_blocks(GUIDE / "credentials.md", "sh")
    slug = "SLUG"
    async with serving(tmp_path) as service:
        shown = ""
        for line in block.text.splitlines():
            _, *arguments = shlex.split(line.replace("SLUG", slug))
            code, shown, err = await service.command(*arguments, "--json")
            assert (code, err) == (0, ""), line
            answer = json.loads(shown)
            slug = answer["endpoint"]["slug"] if "endpoint" in answer else slug
        states = [(one["state"], one["queues"]) for one in json.loads(shown)["endpoints"]]
    assert states == [("active", ["inbox", "builds"]), ("revoked", ["inbox"])]
