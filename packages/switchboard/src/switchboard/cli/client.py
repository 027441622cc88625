"""The command line's side of the API: one request, its answer, or the right exit."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

import httpx
import typer

from switchboard.cli.exit_code import ExitCode, of_status
from switchboard.cli.output import tell_failure
from switchboard.data_directory import DataDirectory
from switchboard.settings import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    ClientSettings,
    is_loopback,
    load_client_settings,
)

Document = dict[str, Any]

TIMEOUT_S = 30.0
"""A change waits at most 10 s for the writer; the rest is the network."""


@dataclass(frozen=True, slots=True)
class Client:
    """Talks to one service as one operator."""

    url: str
    token: str | None
    as_json: bool

    def get(self, path: str, query: Mapping[str, str | list[str]] | None = None) -> Document:
        """Read a resource."""
        return self._request("GET", path, query=query)

    def post(self, path: str, body: object | None = None) -> Document:
        """Create something, or take a step."""
        return self._request("POST", path, body=body)

    def patch(self, path: str, body: object) -> Document:
        """Change a resource."""
        return self._request("PATCH", path, body=body)

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | list[str]] | None = None,
        body: object | None = None,
    ) -> Document:
        if self.token is None:
            self._leave(
                ExitCode.NOT_AUTHORISED,
                "unauthorized",
                "no operator token: pass --token, set SWITCHBOARD_TOKEN, or name the service's "
                "--data-dir, whose own is sent to the service that runs there alone",
            )
        if not (self.token.isascii() and self.token.isprintable()):
            self._leave(ExitCode.NOT_AUTHORISED, "unauthorized", "the token given is none")
        try:
            answer = httpx.request(
                method,
                f"{self.url}/api/v1{path}",
                params=query,
                json=body,
                headers={"authorization": f"Bearer {self.token}"},
                timeout=TIMEOUT_S,
                trust_env=False,
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            self._leave(
                ExitCode.UNREACHABLE,
                "unreachable",
                f"{_without_user(self.url)} is not reachable: {reason}",
            )
        except UnicodeEncodeError:
            self._leave(ExitCode.USAGE, "invalid_argument", "an argument is not text in UTF-8")
        return self._read(answer)

    def _read(self, answer: httpx.Response) -> Document:
        try:
            document: object = answer.json()
        except ValueError:
            document = None
        if answer.is_success and isinstance(document, dict):
            return cast(Document, document)
        problem = cast(Document, document) if isinstance(document, dict) else {}
        detail = problem.get("detail") or f"the service answered with status {answer.status_code}"
        code = str(problem.get("code") or "internal")
        return self._leave(of_status(answer.status_code), code, str(detail))

    def _leave(self, exit_code: ExitCode, code: str, detail: str) -> NoReturn:
        leave(exit_code, code, detail, as_json=self.as_json)


def _without_user(url: str) -> str:
    """A URL as it may be shown: some people keep a password in it, for the proxy in front."""
    return re.sub(r"//[^/]*@", "//", url)


def leave(exit_code: ExitCode, code: str, detail: str, *, as_json: bool) -> NoReturn:
    """End the command with a message on standard error."""
    tell_failure(code, detail, as_json=as_json)
    raise typer.Exit(int(exit_code))


def connect(url: str | None, token: str | None, data_dir: str | None, as_json: bool) -> Client:
    """Find the service and the token: option, then environment, then the data directory."""
    told: ClientSettings = load_client_settings(
        url=url, token=token, data_dir=data_dir, environ=os.environ, working_directory=Path.cwd()
    )
    directory = DataDirectory(told.data_dir)
    announced = directory.announced_url()
    address = told.url or announced or f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
    # The local token opens the local service; it is not sent to an address from elsewhere.
    is_local = told.url is None or (announced is not None and _is_same_place(told.url, announced))
    local_token = directory.read_token() if is_local else None
    return Client(
        url=address.rstrip("/"),
        token=told.token.reveal() if told.token else local_token,
        as_json=as_json,
    )


def _is_same_place(url: str, announced: str) -> bool:
    """Whether both lead to one listener of this machine, by whatever name of its own."""
    try:
        one, other = httpx.URL(url), httpx.URL(announced)
    except httpx.InvalidURL:
        return False
    return one == other or (
        one.port == other.port and is_loopback(one.host) and is_loopback(other.host)
    )
