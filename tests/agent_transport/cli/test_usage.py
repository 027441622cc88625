"""What cannot be meant is said before anything of it is done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_transport import __version__
from agent_transport.cli import main

PUBLIC = "--public-url https://agent.example.com/mcp"
REMOTE = f"{PUBLIC} --issuer https://login.example.com --scope run"
ALLOWED = f"{REMOTE} --allow-subject ann"


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there once the module `trap` was imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap.py").write_text("import pathlib; pathlib.Path('imported').touch()")
    (tmp_path / "taken").touch()
    (tmp_path / "leads-nowhere").symlink_to(tmp_path / "nothing")
    open_directory = tmp_path / "open"
    open_directory.mkdir()
    open_directory.chmod(0o777)
    return tmp_path / "imported"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("", "COMMAND"),
        ("serve", "MODULE:OBJECT"),
        ("serve trap", "MODULE:OBJECT"),
        ("serve :x", "MODULE:OBJECT"),
        ("serve trap:", "MODULE:OBJECT"),
        ("serve trap:x --unknown", "--unknown"),
        ("serve trap:x --submit-name", "--submit-name"),
        ("serve trap:x --submit-name a/b", "--submit-name"),
        ("serve trap:x --submit-name=", "--submit-name"),
        ("serve trap:x --port 1", "--port"),
        ("serve trap:x --host 127.0.0.1", "--host needs"),
        ("serve trap:x --trusted-proxy 10.0.0.1", "--trusted-proxy needs"),
        ("serve trap:x --http-tok t", "--http-tok"),
        ("serve trap:x --http-token-file t --port x", "--port"),
        ("serve trap:x --http-token-file t --port 65536", "--port"),
        ("serve trap:x --http-token-file t --port -1", "--port"),
        ("serve trap:x --http-token-file t --host 127.0.0.1", "--host does not go with"),
        (f"serve trap:x --http-token-file t {ALLOWED}", "--public-url does not go with"),
        ("serve trap:x --http-token-file t --scope run", "--scope does not go with"),
        ("serve trap:x --http-token-file taken", "--http-token-file: is there already"),
        ("serve trap:x --http-token-file leads-nowhere", "--http-token-file: is there already"),
        ("serve trap:x --http-token-file nowhere/t", "--http-token-file: must be in a directory"),
        ("serve trap:x --http-token-file taken/t", "--http-token-file: must be in a directory"),
        ("serve trap:x --http-token-file open/t", "others cannot write"),
        ("serve trap:x --http-token-file=", "--http-token-file"),
        ("serve trap:x --issuer=", "--issuer needs --public-url"),
        ("serve trap:x --public-url=", "--public-url needs --issuer"),
        ("serve trap:x --http-token-file t --public-url=", "--public-url does not go with"),
        ("serve trap:x --http-token-file t --host=", "--host does not go with"),
        (f"serve trap:x {ALLOWED} --public-url=", "--public-url"),
        (f"serve trap:x {ALLOWED} --issuer=", "--issuer"),
        (f"serve trap:x {ALLOWED} --host=", "--host"),
        (f"serve trap:x {PUBLIC}", "--issuer, --scope, --allow-subject or --allow-client"),
        (f"serve trap:x {REMOTE}", "--allow-subject or --allow-client"),
        ("serve trap:x --issuer https://login.example.com", "--issuer needs --public-url"),
        (f"serve trap:x {ALLOWED} --host example.com", "--host"),
        (f"serve trap:x {ALLOWED} --port 70000", "--port"),
        (f"serve trap:x {ALLOWED} --trusted-proxy proxy", "--trusted-proxy"),
        (f"serve trap:x {ALLOWED} --allow-client=", "--allow-client"),
        (f"serve trap:x {ALLOWED} --scope é", "--scope"),
        (f"serve trap:x {ALLOWED.replace('https://a', 'http://a')}", "--public-url"),
        (f"serve trap:x {ALLOWED.replace('https://l', 'http://l')}", "--issuer"),
        (f"serve trap:x {ALLOWED.replace('.com/mcp', '.com/mcp?a=b')}", "--public-url"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_and_nothing_is_done(
    words: str, complaint: str, imported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(imported.parent.iterdir())
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert complaint in said.err
    assert "Traceback" not in said.err
    assert set(imported.parent.iterdir()) == before


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"agent-transport {__version__}\n")


@pytest.mark.parametrize(("missing", "words"), [("mcp", ""), ("jwt", ALLOWED)])
def test_an_extra_that_is_not_installed_is_named(
    missing: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find(name: str) -> object:
        return None if name == missing else name

    monkeypatch.setattr("agent_transport.cli.program.find_spec", find)
    with pytest.raises(SystemExit) as ended:
        main(f"serve trap:x {words}".split())
    assert (ended.value.code, f"extra '{missing}'" in capsys.readouterr().err) == (1, True)


@pytest.mark.parametrize(
    ("target", "code", "complaint"),
    [
        ("nowhere:x", 2, "there is no module 'nowhere'"),
        ("nowhere.at.all:x", 2, "there is no module"),
        ("target:nothing", 2, "has no 'nothing'"),
        ("target:number", 2, "is no session"),
        ("target:blocking", 2, "is no session"),
        ("target:makes_none", 2, "made no session but int"),
        ("target:breaks", 1, "ZeroDivisionError"),
        ("broken:x", 1, "no_such_library"),
    ],
)
def test_a_target_that_cannot_be_served_is_told_and_nothing_else_happens(
    target: str, code: int, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("import no_such_library")
    (tmp_path / "target.py").write_text(
        "number = 7\n"
        "def blocking(prompt): return prompt\n"
        "def makes_none(): return 7\n"
        "def breaks(): 1 / 0\n"
    )
    ended = subprocess.run(
        [Path(sys.executable).with_name("agent-transport"), "serve", target],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ),
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (code, "")
    assert complaint in ended.stderr
