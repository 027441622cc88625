"""Every setting that there is: its name, its default, and the rule for its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent_transport.admission.client_address import TrustedProxies, parse_address, parse_proxies
from switchboard.domain.todo import DEFAULT_JSON_BYTES, MAX_JSON_BYTES

ENVIRONMENT_PREFIX = "SWITCHBOARD_"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8787
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("auto", "json", "console")


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the settings table. `parse` raises ValueError with the rule that was broken."""

    name: str
    default: str | None
    parse: Callable[[str], object]
    help: str
    secret: bool = False

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or not low <= int(text[:12]) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return parse


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.01 <= rate <= 1_000_000:
        raise ValueError("must be a number from 0.01 to 1000000")
    return rate


def _one_of(allowed: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError("must be one of " + ", ".join(allowed))
        return text.lower()

    return parse


def _host(text: str) -> str:
    if text != "localhost" and parse_address(text.strip("[]")) is None:
        raise ValueError("must be an address such as 127.0.0.1, ::1 or 0.0.0.0")
    return text.strip("[]")


def _public_url(text: str) -> str:
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("may hold printable ASCII characters only")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("must be an absolute http or https URL")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise ValueError("may not have user information, a query or a fragment")
    return text.rstrip("/")


def _origins(text: str) -> tuple[str, ...]:
    origins = tuple(one.strip() for one in text.split(",") if one.strip())
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
            raise ValueError(f"{origin!r} is no origin such as https://board.example")
    return tuple(origin.lower() for origin in origins)


def _proxies(text: str) -> TrustedProxies:
    return parse_proxies(one.strip() for one in text.split(",") if one.strip())


def _names(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _no_database_url(text: str) -> None:
    raise ValueError("this version keeps its data in SQLite, in the data directory; remove it")


def _path(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError("must be a path")
    return text


SETTINGS: tuple[Setting, ...] = (
    Setting("data_dir", None, _path, "directory of the database and the local operator token"),
    Setting("database_url", None, _no_database_url, "absent: SQLite", secret=True),
    Setting("host", DEFAULT_HOST, _host, "address to listen on"),
    Setting("port", str(DEFAULT_PORT), _whole(0, 65_535), "port to listen on; 0 takes a free one"),
    Setting("public_url", None, _public_url, "URL by which clients call the service"),
    Setting("allowed_origins", "", _origins, "origins of web pages that may call"),
    Setting("trusted_proxies", "", _proxies, "addresses whose X-Forwarded-For is believed"),
    Setting("rate_endpoint_per_second", "20", _rate, "requests per second of one endpoint"),
    Setting("rate_endpoint_burst", "40", _whole(1, 1_000_000), "burst of one endpoint"),
    Setting("rate_address_per_second", "50", _rate, "failed authentications per address"),
    Setting("rate_address_burst", "100", _whole(1, 1_000_000), "burst of one address"),
    Setting(
        "max_json_bytes",
        str(DEFAULT_JSON_BYTES),
        _whole(1_024, MAX_JSON_BYTES),
        "upper bound of one payload or result",
    ),
    Setting(
        "sessions_per_endpoint",
        "256",
        _whole(1, 10_000),
        "open sessions of one endpoint; beyond it the longest idle one ends",
    ),
    Setting(
        "streams_per_endpoint",
        "32",
        _whole(1, 10_000),
        "open notification streams of one endpoint",
    ),
    Setting("calls_per_endpoint", "64", _whole(1, 10_000), "calls of one endpoint at a time"),
    Setting("max_connections", "4096", _whole(1, 100_000), "open sockets"),
    Setting("channel_clients", "claude-code", _names, "clients that ring on a session stream only"),
    Setting("log_level", "info", _one_of(LOG_LEVELS), "least severe record that is written"),
    Setting("log_format", "auto", _one_of(LOG_FORMATS), "auto: JSON unless on a terminal"),
)
"""Every setting, in the order in which `config show` lists them."""

BY_NAME = {setting.name: setting for setting in SETTINGS}
