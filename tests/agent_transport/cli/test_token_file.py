"""The file that holds a bearer: new, for its owner alone, and gone when the host is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent_transport.cli.token_file import TokenFile, TokenFileFailed
from agent_transport.errors import ConfigurationError

TOKEN = "0123456789abcdef" * 4


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "token"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_the_file_is_its_owners_alone_whatever_the_umask(place: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with TokenFile(str(place)).holding(TOKEN):
            assert stat.S_IMODE(place.lstat().st_mode) == 0o600
            assert place.lstat().st_uid == os.geteuid()
            assert place.read_text() == f"{TOKEN}\n"
    finally:
        os.umask(before)
    assert not place.exists()


def test_the_file_is_removed_when_serving_breaks(place: Path) -> None:
    with pytest.raises(ZeroDivisionError), TokenFile(str(place)).holding(TOKEN):
        raise ZeroDivisionError
    assert not place.exists()


@pytest.mark.parametrize("kind", ["file", "link", "link that leads nowhere", "directory"])
def test_what_is_there_already_is_never_touched(place: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    if kind == "file":
        place.write_text("mine")
    elif kind == "directory":
        place.mkdir()
    else:
        place.symlink_to(target)
        if kind == "link":
            target.write_text("mine")
    before = sorted(tmp_path.iterdir()), place.lstat().st_ino
    with pytest.raises(ConfigurationError, match="new file"):
        TokenFile(str(place))
    assert (sorted(tmp_path.iterdir()), place.lstat().st_ino) == before


@pytest.mark.parametrize("kind", ["file", "link"])
def test_whoever_puts_something_there_meanwhile_gets_no_token(
    place: Path, tmp_path: Path, kind: str
) -> None:
    token_file, target = TokenFile(str(place)), tmp_path / "target"
    target.write_text("")
    place.write_text("") if kind == "file" else place.symlink_to(target)
    with pytest.raises(TokenFileFailed) as failed, token_file.holding(TOKEN):
        raise AssertionError("it must not be entered")
    assert (place.read_text(), target.read_text()) == ("", "")
    assert TOKEN not in str(failed.value)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_another_file_in_its_place_is_left_alone(place: Path, tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    other.write_text("of somebody else")
    with TokenFile(str(place)).holding(TOKEN):
        place.unlink()
        if kind == "file":
            place.write_text("of somebody else")
        else:
            place.symlink_to(other)
    assert (place.read_text(), other.exists()) == ("of somebody else", True)


def test_a_file_that_somebody_removed_is_no_fault(place: Path) -> None:
    with TokenFile(str(place)).holding(TOKEN):
        place.unlink()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_directory_in_which_others_can_replace_files_is_refused(
    tmp_path: Path, mode: int
) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(ConfigurationError, match="others cannot write"):
        TokenFile(str(tmp_path / "token"))


def test_a_directory_like_tmp_in_which_nobody_can_is_taken(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with TokenFile(str(tmp_path / "token")).holding(TOKEN):
        assert (tmp_path / "token").exists()


def test_a_directory_of_somebody_else_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = place.parent.stat().st_uid
    os.chown(place.parent, 12345, -1) if me == 0 else None
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(ConfigurationError, match="of yours"):
        TokenFile(str(place))


def test_the_file_is_found_again_after_the_program_went_elsewhere(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.parent)
    token_file = TokenFile("token")
    with token_file.holding(TOKEN):
        monkeypatch.chdir("/")
        assert token_file.path == place
    assert not place.exists()


def test_no_room_leaves_no_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_a_little(fd: int, text: bytes) -> int:
        return 3

    monkeypatch.setattr(os, "write", write_a_little)
    with pytest.raises(TokenFileFailed, match="no room"), TokenFile(str(place)).holding(TOKEN):
        raise AssertionError("it must not be entered")
    assert not place.exists()
