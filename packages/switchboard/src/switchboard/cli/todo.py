"""`switchboard todo`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from switchboard.cli.client import Document, connect
from switchboard.cli.duration import parse_moment_ms
from switchboard.cli.options import AsJson, DataDir, Token, Url
from switchboard.cli.output import print_fields, print_json, print_table, printable
from switchboard.clock import SystemClock, rfc3339

commands = typer.Typer(no_args_is_help=True, help="Work for agents.")

TodoId = Annotated[str, typer.Argument(metavar="ID", help="The todo's id (td_…).")]


@commands.command("add")
def add(
    title: Annotated[str, typer.Argument(help="What is to be done, in one line.")],
    queue: Annotated[str, typer.Option("--queue", help="The queue it goes to.")],
    payload: Annotated[
        str | None,
        typer.Option("--payload", help="JSON, @file with JSON, or - for standard input."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Adding again under a live key adds nothing.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="A word that agents can sort by.")
    ] = None,
    priority: Annotated[
        int, typer.Option("--priority", min=-100, max=100, help="Higher goes first.")
    ] = 0,
    assign: Annotated[
        str | None, typer.Option("--assign", metavar="SLUG", help="Only this endpoint may take it.")
    ] = None,
    available_at: Annotated[
        str | None,
        typer.Option("--available-at", metavar="T", help="RFC 3339, or a duration such as 30m."),
    ] = None,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Add a todo."""
    body: Document = {
        "title": title,
        "queue": queue,
        "kind": kind,
        "idempotency_key": key,
        "priority": priority,
        "assignee": assign,
        "available_at": _moment(available_at),
    }
    body = {name: value for name, value in body.items() if value is not None}
    if payload is not None:
        body["payload"] = _payload(payload)
    answer = connect(url, token, data_dir, as_json).post("/todos", body)
    if as_json:
        print_json(answer)
        return
    todo = answer["todo"]
    word = "added" if answer["created"] else "already there"
    print(f"{todo['id']}  {word}  {todo['queue']}  {printable(todo['title'])}")


@commands.command("list")
def list_todos(
    queue: Annotated[list[str] | None, typer.Option("--queue", help="Only these queues.")] = None,
    state: Annotated[
        list[str] | None, typer.Option("--state", help="Only these states; default: live ones.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Rows at most.")] = 50,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Continue a list.")] = None,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List todos, newest first."""
    query: dict[str, str | list[str]] = {"limit": str(limit)}
    for name, values in (("queue", queue), ("state", state)):
        if values:
            query[name] = values
    if cursor:
        query["cursor"] = cursor
    answer = connect(url, token, data_dir, as_json).get("/todos", query)
    if as_json:
        print_json(answer)
        return
    print_table(
        ("id", "queue", "state", "attempt", "holder", "title"),
        [
            (one["id"], one["queue"], one["state"], one["attempt"], one["holder"], one["title"])
            for one in answer["todos"]
        ],
        "No todo is waiting or being worked on.",
    )
    if answer["next_cursor"]:
        print(f"more: --cursor {answer['next_cursor']}")


@commands.command("show")
def show(
    todo_id: TodoId,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show one todo with its attempts and history."""
    answer = connect(url, token, data_dir, as_json).get(f"/todos/{quote(todo_id, safe='')}")
    if as_json:
        print_json(answer)
    else:
        _print_todo(answer["todo"])


@commands.command("retry")
def retry(
    todo_id: TodoId,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a failed todo pending again; its failures and lapses start anew."""
    _step("retry", todo_id, url, token, data_dir, as_json)


@commands.command("cancel")
def cancel(
    todo_id: TodoId,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End a pending or claimed todo for good."""
    _step("cancel", todo_id, url, token, data_dir, as_json)


@commands.command("release")
def release(
    todo_id: TodoId,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take a claimed todo from its holder, free of charge."""
    _step("release", todo_id, url, token, data_dir, as_json)


def _step(
    name: str, todo_id: str, url: str | None, token: str | None, data_dir: str | None, as_json: bool
) -> None:
    client = connect(url, token, data_dir, as_json)
    answer = client.post(f"/todos/{quote(todo_id, safe='')}/{name}")
    print_json(answer) if as_json else print(f"{todo_id} is {answer['todo']['state']}")


def _payload(text: str) -> Any:
    if text == "-":
        text = _standard_input()
    elif text.startswith("@"):
        try:
            text = Path(text[1:]).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise typer.BadParameter(f"{text[1:]}: {error}", param_hint="--payload") from error
    try:
        return json.loads(text)
    except RecursionError as error:
        raise typer.BadParameter("is nested too deep", param_hint="--payload") from error
    except ValueError as error:
        raise typer.BadParameter(f"is not JSON: {error}", param_hint="--payload") from error


def _standard_input() -> str:
    try:
        # None when it came closed. Bytes: some locales would let through what is no UTF-8.
        return sys.stdin.buffer.read().decode("utf-8") if sys.stdin else ""
    except (OSError, ValueError) as error:
        message = f"standard input: {error}"
        raise typer.BadParameter(message, param_hint="--payload") from error


def _moment(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return rfc3339(parse_moment_ms(text, SystemClock().now_ms()))
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(str(error), param_hint="--available-at") from error


def _print_todo(todo: Document) -> None:
    print_fields(
        [
            (name.replace("_", " "), todo.get(name))
            for name in (
                *("id", "queue", "title", "state", "kind", "source", "priority", "attempt"),
                *("failures", "lapses", "assignee", "holder", "lease_expires_at", "available_at"),
                *("created_at", "ended_at", "failure_reason", "summary"),
            )
        ]
    )
    for name in ("payload", "result"):
        if todo.get(name) is not None:
            print(f"{name}  {printable(json.dumps(todo[name], ensure_ascii=False))}")
    for attempt in todo["attempts"]:
        ended = attempt["outcome"] or "running"
        note = attempt["summary"] or attempt["note"]
        print(
            f"attempt {attempt['number']}  {attempt['holder']}  {ended}  {attempt['started_at']}"
            + (f"  {printable(note)}" if note else "")
        )
    for event in todo["events"]:
        detail = f"  {printable(event['detail'])}" if event["detail"] else ""
        print(f"{event['at']}  {event['step']}  {event['actor']}  {event['to']}{detail}")
