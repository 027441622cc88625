"""Whatever goes wrong: one line, a documented exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.switchboard.cli.test_exit_codes import TOKEN, answering, run

PROGRAM = str(Path(sys.executable).with_name("switchboard"))
NOWHERE = ("--url", "http://127.0.0.1:1", "--token", TOKEN)


def told(ended: subprocess.CompletedProcess[str]) -> str:
    """The last line of what the person reads; fails on a traceback."""
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    return ended.stderr.strip().splitlines()[-1]


def test_all_slips_in_the_settings_are_told_together(tmp_path: Path) -> None:
    environ = {"SWITCHBOARD_PORT": "x", "SWITCHBOARD_PROT": "1"}
    ended = run("serve", "--host", "somewhere", where=tmp_path, **environ)
    assert ended.returncode == 2
    told(ended)
    for name in ("SWITCHBOARD_PORT", "SWITCHBOARD_PROT", "--host"):
        assert any(line.startswith(name) for line in ended.stderr.splitlines()), name


def test_a_script_is_told_of_slips_as_json(tmp_path: Path) -> None:
    ended = run("config", "show", "--json", where=tmp_path, SWITCHBOARD_PORT="x")
    assert ended.returncode == 2
    error = json.loads(told(ended))["error"]
    assert error["code"] == "settings"
    assert "SWITCHBOARD_PORT" in error["detail"]


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    where = ("--data-dir", str(tmp_path / "file" / "data"), "--port", "0")
    ended = run("serve", *where, where=tmp_path)
    assert ended.returncode in (1, 2)
    assert str(tmp_path / "file") in told(ended)


def test_a_data_directory_that_cannot_be_held_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "data" / "switchboard.lock"
    lock.mkdir(parents=True)
    ended = run("serve", "--data-dir", "data", "--port", "0", where=tmp_path)
    assert ended.returncode == 1
    assert str(lock) in told(ended)


def test_a_database_that_is_none_is_named_and_left_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "switchboard.db").write_bytes(b"not a database, but somebody's notes" * 100)
    ended = run("serve", "--data-dir", str(data), "--port", "0", where=tmp_path)
    assert ended.returncode == 1
    assert "database" in told(ended)
    assert (data / "switchboard.db").read_bytes().startswith(b"not a database")


def test_a_token_that_no_header_can_hold_is_refused_and_not_repeated(tmp_path: Path) -> None:
    for token in ("sbo_secret\u00fc", "sbo_secret\nX: y"):
        ended = run("queue", "list", *NOWHERE[:2], "--token", token, where=tmp_path)
        assert ended.returncode == 3
        assert "secret" not in told(ended)


def test_an_argument_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    ended = run("endpoint", "vend", "a\udcff", "--queue", "q", *NOWHERE, where=tmp_path)
    assert ended.returncode == 2
    assert "UTF-8" in told(ended)


@pytest.mark.parametrize(
    "payload",
    ["{", "[" * 20_000, "@nowhere.json", "@.", "nonsense"],
    ids=["cut", "deep", "no-file", "directory", "no-json"],
)
def test_a_payload_that_is_none_is_a_usage_error(payload: str, tmp_path: Path) -> None:
    arguments = ("todo", "add", "x", "--queue", "q", "--payload", payload)
    ended = run(*arguments, *NOWHERE, where=tmp_path)
    assert ended.returncode == 2
    assert "--payload" in told(ended)


@pytest.mark.parametrize("url", ["nonsense", "ht!tp://x y", "http://[", "file:///etc/passwd"])
def test_a_url_that_leads_nowhere_is_unreachable(url: str, tmp_path: Path) -> None:
    ended = run("queue", "list", "--url", url, "--token", TOKEN, where=tmp_path)
    assert ended.returncode == 6
    assert "reachable" in told(ended)


def test_a_password_in_the_url_is_not_repeated(tmp_path: Path) -> None:
    url = "http://ada:hunter2@127.0.0.1:1/x"
    ended = run("queue", "list", "--url", url, "--token", TOKEN, where=tmp_path)
    assert ended.returncode == 6
    assert "hunter2" not in told(ended)
    assert "//127.0.0.1:1/x" in told(ended)


@pytest.mark.parametrize("queues", ["7", "[{}]", "[7]"])
def test_an_answer_that_no_service_gives_is_a_failure_and_no_traceback(
    queues: str, tmp_path: Path
) -> None:
    with answering(200, {"queues": json.loads(queues)}) as (url, _):
        ended = run("queue", "list", "--url", url, "--token", TOKEN, where=tmp_path)
    assert ended.returncode == 1
    assert TOKEN not in told(ended)


@pytest.mark.parametrize("name", ["channel", "agent", "stdio", "chanel"])
def test_a_command_that_does_not_exist_is_a_usage_error(name: str, tmp_path: Path) -> None:
    ended = run(name, where=tmp_path)
    assert ended.returncode == 2
    assert name in told(ended)


def test_whoever_reads_no_further_stops_the_command_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [PROGRAM, "config", "show", "--json"],
            cwd=tmp_path,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
    finally:
        os.close(writing)
    assert ended.returncode == 1
    assert ended.stderr == ""


def test_an_output_that_takes_nothing_more_is_a_failure_of_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [PROGRAM, "config", "show", "--json"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr


def test_ctrl_c_ends_the_service_as_cleanly_as_a_stop(tmp_path: Path) -> None:
    arguments = (PROGRAM, "serve", "--port", "0", "--data-dir", "data", "--json")
    with subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        assert serving.stdout.readline() == "{\n", "it serves"
        serving.send_signal(signal.SIGINT)
        _, logged = serving.communicate(timeout=30)
    assert serving.returncode == 0
    assert "Traceback" not in logged
    assert '"event": "stopped"' in logged


@pytest.mark.parametrize("how", ["<&-", "< rubbish"])
def test_a_payload_from_an_input_that_gives_none_is_a_usage_error(how: str, tmp_path: Path) -> None:
    (tmp_path / "rubbish").write_bytes(b'"\xff"')
    command = f"{PROGRAM} todo add x --queue q --payload - {how}"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "--payload" in told(ended)
