"""Exit codes that scripts rely on, of the real command against real sockets."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.specification import requirement

TOKEN = "sbo_" + "a" * 43


def run(*arguments: str, where: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("switchboard")
    clean = {name: text for name, text in os.environ.items() if not name.startswith("SWITCHBOARD_")}
    return subprocess.run(
        [str(program), *arguments],
        cwd=where,
        env={**clean, **environ},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@contextmanager
def answering(status: int, body: dict[str, Any]) -> Generator[tuple[str, list[Any]], None, None]:
    """A listener that gives every request the same answer, and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            sent = self.rfile.read(length)
            asked.append((self.command, self.path, dict(self.headers), json.loads(sent or b"null")))
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - the base class calls these names

        def log_message(self, format: str, *args: Any) -> None:
            return None

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


@requirement("SPEC-0014/endpoint/channel-command-gone", "SPEC-0014/endpoint/no-stdio")
def test_channel_is_an_unknown_command(tmp_path: Path) -> None:
    ended = run("channel", where=tmp_path)
    assert ended.returncode == 2
    assert "channel" in ended.stderr


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (401, "unauthorized", 3),
        (403, "forbidden", 3),
        (404, "not_found", 4),
        (409, "conflict", 5),
        (422, "invalid_argument", 2),
        (500, "internal", 1),
        (503, "unavailable", 6),
    ],
)
def test_a_refusal_ends_the_command_with_its_code(
    status: int, code: str, exit_code: int, tmp_path: Path
) -> None:
    with answering(status, {"code": code, "detail": "why"}) as (url, _):
        ended = run(
            *("todo", "cancel", "td_x", "--json", "--url", url),
            where=tmp_path,
            SWITCHBOARD_TOKEN=TOKEN,
        )
    assert ended.returncode == exit_code
    assert json.loads(ended.stderr) == {"error": {"code": code, "detail": "why"}}
    assert ended.stdout == ""


def test_nobody_listening_is_unreachable(tmp_path: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        ended = run("queue", "list", "--url", url, "--token", TOKEN, where=tmp_path)
    assert ended.returncode == 6
    assert url in ended.stderr


def test_without_a_token_nothing_is_sent(tmp_path: Path) -> None:
    with answering(200, {"queues": []}) as (url, asked):
        ended = run("queue", "list", "--url", url, "--data-dir", "none", where=tmp_path)
    assert ended.returncode == 3
    assert asked == []


def test_the_local_token_is_not_sent_to_an_address_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "operator-token").write_text(TOKEN)
    with answering(200, {"queues": []}) as (url, asked):
        ended = run("queue", "list", "--url", url, "--data-dir", ".", where=tmp_path)
    assert ended.returncode == 3
    assert asked == []


@pytest.mark.parametrize(
    ("named", "is_sent"), [("127.0.0.1", True), ("localhost", True), ("127.0.0.1:1", False)]
)
def test_the_local_token_goes_to_the_service_of_its_directory_by_any_local_name(
    named: str, is_sent: bool, tmp_path: Path
) -> None:
    (tmp_path / "operator-token").write_text(TOKEN)
    with answering(200, {"queues": []}) as (url, asked):
        port = url.rpartition(":")[2]
        announced = url if is_sent else f"http://{named}"
        (tmp_path / "switchboard.lock").write_text(f"1\n{announced}\n")
        told = f"http://{named}:{port}" if is_sent else url
        ended = run("queue", "list", "--url", told, "--data-dir", ".", where=tmp_path)
    assert ended.returncode == (0 if is_sent else 3)
    assert len(asked) == is_sent


def test_an_added_todo_is_sent_with_its_payload_and_token_and_shown_as_json(tmp_path: Path) -> None:
    (tmp_path / "payload.json").write_text('{"a": [1, "ü"]}')
    given = {"todo": {"id": "td_1"}, "created": True}
    with answering(201, given) as (url, asked):
        ended = run(
            *("todo", "add", "Fix it", "--queue", "q", "--payload", "@payload.json", "--json"),
            *("--url", url, "--token", TOKEN, "--priority", "-3", "--key", "k"),
            where=tmp_path,
        )
    assert ended.returncode == 0
    assert json.loads(ended.stdout) == given
    method, path, headers, body = asked[0]
    assert (method, path) == ("POST", "/api/v1/todos")
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert body == {
        "title": "Fix it",
        "queue": "q",
        "priority": -3,
        "idempotency_key": "k",
        "payload": {"a": [1, "ü"]},
    }


def test_a_payload_that_is_no_json_is_a_usage_error(tmp_path: Path) -> None:
    ended = run("todo", "add", "x", "--queue", "q", "--payload", "{", where=tmp_path)
    assert ended.returncode == 2
    assert "--payload" in ended.stderr


def test_a_misspelt_variable_is_a_usage_error_that_names_the_nearest(tmp_path: Path) -> None:
    ended = run("config", "show", where=tmp_path, SWITCHBOARD_PROT="1")
    assert ended.returncode == 2
    assert "SWITCHBOARD_PORT" in ended.stderr


def test_config_show_lists_every_setting_with_its_origin(tmp_path: Path) -> None:
    ended = run("config", "show", "--json", where=tmp_path, SWITCHBOARD_PORT="9")
    rows = {row["name"]: row for row in json.loads(ended.stdout)["settings"]}
    assert rows["port"] == {"name": "port", "value": "9", "source": "environment"}
