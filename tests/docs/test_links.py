"""The pages lead to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.code_blocks import PAGES, ROOT

_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_file_that_a_page_links_to_exists(page: Path) -> None:
    targets = _LINK.findall(page.read_text("utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]
