"""The data directory: one holder, and a token file for its owner alone."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from switchboard.data_directory import DataDirectory, DataDirectoryError
from switchboard.domain.credential import mint_operator_token
from switchboard.errors import DataDirectoryInUse

HOLD = """
import sys
from pathlib import Path
from switchboard.data_directory import DataDirectory
with DataDirectory(Path(sys.argv[1])).held() as held:
    held.announce("http://127.0.0.1:1")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    made = DataDirectory(tmp_path / "data")
    made.prepare()
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_directory_token_and_lock_are_for_their_owner_alone(directory: DataDirectory) -> None:
    token = mint_operator_token(random.Random(1).randbytes)
    directory.write_token(token)
    with directory.held():
        assert mode(directory.lock_path) == 0o600
    assert mode(directory.path) == 0o700
    assert mode(directory.token_path) == 0o600
    assert directory.read_token() == token
    assert {path.name for path in directory.path.iterdir()} == {
        "operator-token",
        "switchboard.lock",
    }


def test_a_file_that_holds_no_token_is_as_good_as_absent(directory: DataDirectory) -> None:
    assert directory.read_token() is None
    directory.token_path.write_bytes(b"\xff\x00")
    assert directory.read_token() is None


def test_a_second_process_is_refused_and_told_the_pid_until_the_first_is_killed(
    directory: DataDirectory,
) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DataDirectoryInUse, match=rf"\b{holder.pid}\b"), directory.held():
            pytest.fail("two processes held one directory")
        assert directory.announced_url() == "http://127.0.0.1:1"
        holder.kill()
        holder.wait(10)
        with directory.held() as held:
            held.announce("http://127.0.0.1:2")
            assert directory.lock_path.read_text() == f"{os.getpid()}\nhttp://127.0.0.1:2\n"
    assert directory.announced_url() is None


def test_a_path_that_cannot_be_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirectoryError, match="file"):
        DataDirectory(tmp_path / "file" / "data").prepare()
