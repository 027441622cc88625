"""What is kept under version control is fit for strangers: no machine, no registry, no giants."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.specification import requirement

ROOT = Path(__file__).resolve().parent.parent
MAX_SOURCE_LINES = 400
SOURCES = ("*.py", "*.sql", "*.sh", "*.js", "*.mjs", "*.ts", "*.css", "*.html")

# Put together from parts, so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile(
    "|".join((r"/wor" + r"k/\w", "/roo" + "t/", r"/hom" + r"e/[a-z]+/", "/Use" + "rs/"))
)
REGISTRIES = re.compile(
    r"https?://[^\s\"'/]*(?:"
    + "|".join(
        ("py" + "pi", "python" + "hosted", "npm" + "js", "npm" + "mirror", "artifactory", "nexus")
    )
    + ")",
    re.IGNORECASE,
)


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, check=True, capture_output=True
    )
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


@pytest.mark.parametrize("forbidden", [MACHINE_PATHS, REGISTRIES], ids=["paths", "registries"])
def test_no_tracked_file_names_a_machine_or_a_registry(forbidden: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if forbidden.search(line)
    ]
    assert not found


def test_what_is_looked_for_would_be_found() -> None:
    assert MACHINE_PATHS.search("see /wor" + "k/main/x")
    assert MACHINE_PATHS.search("/roo" + "t/.x")
    assert REGISTRIES.search("https://files.python" + "hosted.org/packages")
    assert not REGISTRIES.search("https://board.example/mcp/a")


def test_no_source_is_longer_than_400_lines() -> None:
    vendored = "static/vendor"
    long = {
        str(path.relative_to(ROOT)): count
        for path in tracked(*SOURCES)
        if vendored not in str(path) and (count := text_of(path).count("\n")) > MAX_SOURCE_LINES
    }
    assert not long


@requirement("SPEC-0014/endpoint/hermetic-build")
def test_the_lock_file_pins_every_dependency_by_hash_and_names_no_address() -> None:
    lock = (ROOT / "requirements/lock.txt").read_text("utf-8")
    entries = [
        entry
        for entry in re.split(r"\n(?=\S)", lock.strip())
        if entry and not entry.startswith(("#", "-e", "./"))
    ]
    assert len(entries) > 20
    assert not [
        entry.split()[0] for entry in entries if "==" not in entry or "--hash=sha256:" not in entry
    ]
    assert not re.search(r"https?://", lock)
    assert "--require-hashes requirements/lock.txt" in (ROOT / "Makefile").read_text("utf-8")


@requirement("SPEC-0014/endpoint/official-sdk")
def test_the_protocol_is_the_official_sdks_and_its_version_is_bounded() -> None:
    project = (ROOT / "packages/agent-transport/pyproject.toml").read_text("utf-8")
    assert re.search(r'"mcp>=2\.3,<2\.4"', project)
    assert re.search(r"^mcp==2\.3\.", (ROOT / "requirements/lock.txt").read_text("utf-8"), re.M)
