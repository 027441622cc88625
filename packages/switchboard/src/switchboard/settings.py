"""What the service is told from outside, read once into one frozen value.

A flag beats `SWITCHBOARD_<NAME>`, that beats `switchboard.toml`, that beats the default. The
file is looked for in the working directory, then in the data directory. The environment is
passed in: the command line hands over `os.environ`, tests a dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent_transport.admission.client_address import TrustedProxies, parse_address
from switchboard.errors import SettingsError
from switchboard.secret import Secret
from switchboard.settings_sources import GivenTexts, Source
from switchboard.settings_table import DEFAULT_HOST, DEFAULT_PORT, ENVIRONMENT_PREFIX, SETTINGS

__all__ = [
    "DEFAULT_HOST",
    "DEFAULT_PORT",
    "ClientSettings",
    "Settings",
    "load_client_settings",
    "load_settings",
]


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process. `warnings` are lines that an operator should read at start."""

    data_dir: Path
    host: str
    port: int
    public_url: str | None
    """Without a trailing slash; None: the listener's own address."""
    allowed_origins: tuple[str, ...]
    trusted_proxies: TrustedProxies
    rate_endpoint_per_second: float
    rate_endpoint_burst: int
    rate_address_per_second: float
    rate_address_burst: int
    max_json_bytes: int
    """Upper bound of one payload or result."""
    sessions_per_endpoint: int
    streams_per_endpoint: int
    calls_per_endpoint: int
    max_connections: int
    channel_clients: tuple[str, ...]
    """Beginnings of client names that can be rung on a session stream only."""
    log_level: str
    log_format: str
    sources: tuple[Source, ...]
    warnings: tuple[str, ...]

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the listener."""
        return is_loopback(self.host)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What a command that talks to a service needs. `url` None: the service on this machine."""

    url: str | None
    token: Secret | None
    data_dir: Path


def is_loopback(host: str) -> bool:
    """Whether a bind address is reachable from this machine alone."""
    address = parse_address(host.strip("[]"))
    return host == "localhost" or (address is not None and address.is_loopback)


def load_settings(
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    working_directory: Path,
) -> Settings:
    """Read the settings. `flags` are by setting name; None means that the flag was not given.

    Raises:
        SettingsError: every problem, one a line.
    """
    problems: list[str] = []
    given = GivenTexts(problems)
    data_dir = given.gather(flags, environ, working_directory)
    values = {setting.name: given.value(setting) for setting in SETTINGS}
    if not problems:
        problems.extend(_rules_between(values))
    if problems:
        raise SettingsError("\n".join(problems))
    public_url = cast("str | None", values["public_url"])
    host = cast(str, values["host"])
    return Settings(
        data_dir=data_dir,
        host=host,
        port=cast(int, values["port"]),
        public_url=public_url,
        allowed_origins=cast("tuple[str, ...]", values["allowed_origins"]),
        trusted_proxies=cast(TrustedProxies, values["trusted_proxies"]),
        rate_endpoint_per_second=cast(float, values["rate_endpoint_per_second"]),
        rate_endpoint_burst=cast(int, values["rate_endpoint_burst"]),
        rate_address_per_second=cast(float, values["rate_address_per_second"]),
        rate_address_burst=cast(int, values["rate_address_burst"]),
        max_json_bytes=cast(int, values["max_json_bytes"]),
        sessions_per_endpoint=cast(int, values["sessions_per_endpoint"]),
        streams_per_endpoint=cast(int, values["streams_per_endpoint"]),
        calls_per_endpoint=cast(int, values["calls_per_endpoint"]),
        max_connections=cast(int, values["max_connections"]),
        channel_clients=cast("tuple[str, ...]", values["channel_clients"]),
        log_level=cast(str, values["log_level"]),
        log_format=cast(str, values["log_format"]),
        sources=given.sources(),
        warnings=_warnings(host, public_url),
    )


def load_client_settings(
    *,
    url: str | None,
    token: str | None,
    data_dir: str | None,
    environ: Mapping[str, str],
    working_directory: Path,
) -> ClientSettings:
    """Read what a client command needs; an option beats its variable.

    Raises:
        SettingsError: every problem, one a line.
    """
    problems: list[str] = []
    given = GivenTexts(problems)
    directory = given.gather({"data_dir": data_dir}, environ, working_directory)
    secret = token or environ.get(ENVIRONMENT_PREFIX + "TOKEN")
    token_file = environ.get(ENVIRONMENT_PREFIX + "TOKEN_FILE")
    if secret is None and token_file is not None:
        secret = given.secret_file(ENVIRONMENT_PREFIX + "TOKEN_FILE", token_file)
    if problems:
        raise SettingsError("\n".join(problems))
    return ClientSettings(
        url=url or environ.get(ENVIRONMENT_PREFIX + "URL"),
        token=Secret(secret) if secret else None,
        data_dir=directory,
    )


def _rules_between(values: Mapping[str, object]) -> list[str]:
    if not is_loopback(cast(str, values["host"])) and values["public_url"] is None:
        return [
            f"host = {values['host']!r}: an address that others can reach needs public_url, "
            "the URL by which they call the service"
        ]
    return []


def _warnings(host: str, public_url: str | None) -> tuple[str, ...]:
    if not is_loopback(host) and public_url is not None and public_url.startswith("http:"):
        return ("public_url is plain http: credentials cross the network unencrypted",)
    return ()
