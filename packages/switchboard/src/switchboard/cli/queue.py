"""`switchboard queue`."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from switchboard.cli.client import connect
from switchboard.cli.options import AsJson, DataDir, Token, Url
from switchboard.cli.output import print_json, print_table

commands = typer.Typer(no_args_is_help=True, help="Queues of the workspace.")

Name = Annotated[str, typer.Argument(help="The queue's name.")]


@commands.command("list")
def list_queues(
    url: Url = None, token: Token = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List the queues."""
    answer = connect(url, token, data_dir, as_json).get("/queues")
    if as_json:
        print_json(answer)
        return
    print_table(
        ("queue", "paused", "rings", "since"),
        [
            (one["name"], "yes" if one["paused"] else "", one["ring"], one["created_at"])
            for one in answer["queues"]
        ],
        "There is no queue yet; the first todo or endpoint makes one.",
    )


@commands.command("pause")
def pause(
    name: Name,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Hand out nothing of this queue until it is resumed."""
    answer = connect(url, token, data_dir, as_json).post(f"/queues/{quote(name, safe='')}/pause")
    print_json(answer) if as_json else print(f"{name} is paused")


@commands.command("resume")
def resume(
    name: Name,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Hand out todos of this queue again."""
    answer = connect(url, token, data_dir, as_json).post(f"/queues/{quote(name, safe='')}/resume")
    print_json(answer) if as_json else print(f"{name} is resumed")


@commands.command("set")
def change(
    name: Name,
    ring: Annotated[
        str, typer.Option("--ring", help="Whom a ready todo wakes: all that listen, or one.")
    ],
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Change how a queue's todos wake agents."""
    client = connect(url, token, data_dir, as_json)
    answer = client.patch(f"/queues/{quote(name, safe='')}", {"ring": ring})
    print_json(answer) if as_json else print(f"{name} rings {answer['queue']['ring']}")
