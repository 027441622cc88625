"""The reference pages name everything that there is, and nothing that there is not."""

from __future__ import annotations

import json
import re

from switchboard.cli.exit_code import ExitCode
from switchboard.domain.refusal import Code, Reason
from switchboard.settings_table import SETTINGS
from tests.docs.code_blocks import GUIDE, LIBRARY_PAGES, PAGES, code_blocks
from tests.docs.log_events import events_in, log_events
from tests.specification import requirement

_INSTALLS_OR_STARTS = re.compile(
    r"\b(?:npx|uvx|pipx|(?:pip|brew|apt|apt-get|npm) install|switchboard channel|PATH=)"
    r'|"command"|"stdio"'
)


def test_each_error_code_and_reason_stands_in_the_reference() -> None:
    page = (GUIDE / "errors.md").read_text("utf-8")
    assert not [word for word in (*Code, *Reason) if f"| `{word}` |" not in page]


def test_each_exit_code_stands_in_the_reference() -> None:
    page = (GUIDE / "cli.md").read_text("utf-8")
    assert not [code for code in ExitCode if f"| {int(code)} |" not in page]


def test_the_log_page_has_a_row_for_each_event_that_the_sources_write_and_no_other() -> None:
    page = (GUIDE / "logs.md").read_text("utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.M))
    assert rows == log_events()


def test_an_event_is_found_in_a_source_by_its_word_and_its_level() -> None:
    source = (
        '_log.warning("ring_lost", slug=slug)\n_log.exception("broke: %s", why)\nother.info("x")'
    )
    assert list(events_in(source, "some.py")) == [("ring_lost", "warning"), ("broke", "error")]


def test_no_page_names_a_variable_that_no_setting_has() -> None:
    """Two more are read by the client commands, and one by the reader's own configuration."""
    known = {setting.variable for setting in SETTINGS}
    known |= {"SWITCHBOARD_URL", "SWITCHBOARD_TOKEN", "SWITCHBOARD_TOKEN_FILE"}
    known.add("SWITCHBOARD_CREDENTIAL")
    named = {
        (page.name, variable)
        for page in PAGES
        for variable in re.findall(r"\bSWITCHBOARD_[A-Z_]+\b", page.read_text("utf-8"))
    }
    assert not [(page, variable) for page, variable in named if variable not in known]


@requirement("SPEC-0014/wiring/docs-http-only")
def test_every_wiring_block_in_the_documentation_is_http() -> None:
    seen = 0
    for page in sorted({*PAGES} - LIBRARY_PAGES):
        for block in code_blocks(page, "json"):
            for server in json.loads(block.text).get("mcpServers", {}).values():
                seen += 1
                assert server["type"] == "http", page.name
                assert "command" not in server, page.name
    assert seen


@requirement("SPEC-0014/wiring/no-local-command")
def test_no_page_tells_an_agents_owner_to_install_or_start_something() -> None:
    """A URL and a credential are all that an agent needs."""
    found = {
        (page.name, match[0])
        for page in {*PAGES} - LIBRARY_PAGES
        for match in _INSTALLS_OR_STARTS.finditer(page.read_text("utf-8"))
    }
    assert not found


def test_what_would_install_or_start_something_is_recognised() -> None:
    assert _INSTALLS_OR_STARTS.search("npx -y some-bridge")
    assert _INSTALLS_OR_STARTS.search('export PATH="$HOME/bin:$PATH"')
    assert _INSTALLS_OR_STARTS.search('{"command": "switchboard", "args": ["channel"]}')
    assert not _INSTALLS_OR_STARTS.search("the path of the command")
