"""`switchboard endpoint`."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from switchboard.cli.client import Document, connect
from switchboard.cli.duration import parse_duration_ms
from switchboard.cli.options import AsJson, DataDir, Token, Url
from switchboard.cli.output import print_fields, print_json, print_table
from switchboard.cli.reveal import print_rotated, print_vended

commands = typer.Typer(no_args_is_help=True, help="What agents come in by.")

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The endpoint's slug.")]


@commands.command("vend")
def vend(
    agent: Annotated[str, typer.Argument(help="The agent's name; the slug begins with it.")],
    queue: Annotated[list[str], typer.Option("--queue", help="A queue it may take work from.")],
    verb: Annotated[
        list[str] | None,
        typer.Option("--verb", help="A tool it may call; default: the five core verbs."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="7d", help="How long it lives.")
    ] = None,
    lease: Annotated[
        str | None,
        typer.Option("--lease", metavar="30m", help="How long a claim holds by default."),
    ] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", help="auto, or legacy: the session eras alone.")
    ] = "auto",
    replace: Annotated[
        str | None,
        typer.Option(
            "--replace",
            metavar="SLUG",
            help="Revoke this endpoint, and let what is assigned to it move to the new one.",
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Vend an endpoint. Its credential is shown this once."""
    body: Document = {"agent": agent, "queues": queue, "protocol": protocol}
    if verb:
        body["verbs"] = verb
    if expires is not None:
        body["expires_in_seconds"] = _seconds(expires, "--expires")
    if lease is not None:
        body["lease_seconds"] = _seconds(lease, "--lease")
    if replace is not None:
        body["replaces"] = replace
    answer = connect(url, token, data_dir, as_json).post("/endpoints", body)
    print_json(answer) if as_json else print_vended(answer)


@commands.command("list")
def list_endpoints(
    url: Url = None, token: Token = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List the endpoints, newest first."""
    answer = connect(url, token, data_dir, as_json).get("/endpoints")
    if as_json:
        print_json(answer)
        return
    print_table(
        ("slug", "state", "queues", "verbs", "last seen", "expires"),
        [
            (
                *(one["slug"], one["state"], one["queues"], one["verbs"]),
                *(one["last_seen_at"], one["expires_at"]),
            )
            for one in answer["endpoints"]
        ],
        "No endpoint yet: switchboard endpoint vend AGENT --queue QUEUE",
    )


@commands.command("show")
def show(
    slug: Slug,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show one endpoint. The credential cannot be shown again."""
    answer = connect(url, token, data_dir, as_json).get(f"/endpoints/{quote(slug, safe='')}")
    print_json(answer) if as_json else _print_endpoint(answer)


@commands.command("set")
def change(
    slug: Slug,
    lease: Annotated[
        str | None,
        typer.Option("--lease", metavar="30m", help="How long a claim holds by default."),
    ] = None,
    protocol: Annotated[str | None, typer.Option("--protocol", help="auto or legacy.")] = None,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Change what may change after a vend. Queues and verbs never do: vend anew."""
    body: Document = {}
    if lease is not None:
        body["lease_seconds"] = _seconds(lease, "--lease")
    if protocol is not None:
        body["protocol"] = protocol
    if not body:
        raise typer.BadParameter("name what to change: --lease or --protocol")
    client = connect(url, token, data_dir, as_json)
    answer = client.patch(f"/endpoints/{quote(slug, safe='')}", body)
    print_json(answer) if as_json else _print_endpoint(answer)


@commands.command("rotate")
def rotate(
    slug: Slug,
    overlap: Annotated[
        str | None,
        typer.Option(
            "--overlap",
            metavar="10m",
            help="How long the credential so far still works; default: it ends at once.",
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Mint another credential for an endpoint. It is shown this once."""
    body = {"overlap_seconds": 0 if overlap is None else _seconds(overlap, "--overlap")}
    client = connect(url, token, data_dir, as_json)
    answer = client.post(f"/endpoints/{quote(slug, safe='')}/rotate", body)
    print_json(answer) if as_json else print_rotated(answer)


@commands.command("revoke")
def revoke(
    slug: Slug,
    url: Url = None,
    token: Token = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End an endpoint: its credential, streams, sessions and claims."""
    client = connect(url, token, data_dir, as_json)
    answer = client.post(f"/endpoints/{quote(slug, safe='')}/revoke")
    if as_json:
        print_json(answer)
        return
    print(
        f"{slug} is revoked: {answer['released']} claimed todos went back, "
        f"{answer['failed']} assigned ones failed, {answer['sessions_closed']} sessions ended"
    )


def _print_endpoint(answer: Document) -> None:
    endpoint = answer["endpoint"]
    names = (
        *("slug", "agent", "state", "queues", "verbs", "protocol", "lease_seconds"),
        *(
            "credential_prefix",
            "previous_until",
            "created_at",
            "expires_at",
            "ended_at",
            "last_seen_at",
        ),
    )
    print_fields([(name.replace("_", " "), endpoint.get(name)) for name in names])
    print_fields([("url", answer["url"])])


def _seconds(text: str, option: str) -> int:
    try:
        return parse_duration_ms(text) // 1000
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
