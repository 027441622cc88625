"""What the service is told from outside, read once into one frozen value.

A flag beats `SWITCHBOARD_<NAME>`, that beats `switchboard.toml`, that beats the default. The
file is looked for in the working directory, then in the data directory. This is the only module
that reads the environment.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import platformdirs
from agent_transport.admission.client_address import TrustedProxies, parse_address, parse_proxies

from switchboard.domain.todo import DEFAULT_JSON_BYTES, MAX_JSON_BYTES
from switchboard.errors import SettingsError
from switchboard.secret import Secret

ENVIRONMENT_PREFIX = "SWITCHBOARD_"
FILE_NAME = "switchboard.toml"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8787

CLIENT_NAMES = ("URL", "TOKEN", "TOKEN_FILE")
"""Variables of the command line's client side; the service only knows that they are no slips."""

LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("auto", "json", "console")


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
class Source:
    """Where the value of a setting came from, ready to be shown."""

    name: str
    shown: str
    origin: str


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
    given = _Given(problems)
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
        max_connections=cast(int, values["max_connections"]),
        channel_clients=cast("tuple[str, ...]", values["channel_clients"]),
        log_level=cast(str, values["log_level"]),
        log_format=cast(str, values["log_format"]),
        sources=given.sources(),
        warnings=_warnings(host, public_url),
    )


def data_directory_path(
    flag: str | None, environ: Mapping[str, str], working_directory: Path
) -> Path:
    """Where the data directory is, for commands that need nothing else.

    Raises:
        SettingsError: `switchboard.toml` cannot be read.
    """
    problems: list[str] = []
    path = _Given(problems).gather({"data_dir": flag}, environ, working_directory)
    if problems:
        raise SettingsError("\n".join(problems))
    return path


class _Given:
    """The texts that were given, by setting name, with where each came from."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems
        self._texts: dict[str, tuple[str, str]] = {}

    def gather(
        self, flags: Mapping[str, str | None], environ: Mapping[str, str], directory: Path
    ) -> Path:
        from_flags = {name: text for name, text in flags.items() if text is not None}
        from_environ = self._environment(environ)
        path = directory / FILE_NAME
        from_file = self._file(path)
        for texts, origin in (
            (from_file, str(path)),
            (from_environ, "environment"),
            (from_flags, "flag"),
        ):
            self._texts.update({name: (text, origin) for name, text in texts.items()})
        chosen = self._texts.get("data_dir")
        data_dir = Path(chosen[0]).expanduser() if chosen else default_data_directory()
        if not path.is_file():
            self._add_file_of(data_dir / FILE_NAME)
        self._texts.setdefault("data_dir", (str(data_dir), "default"))
        return data_dir if data_dir.is_absolute() else directory / data_dir

    def value(self, setting: Setting) -> object:
        text, origin = self._texts.get(setting.name, (setting.default, "default"))
        if text is None:
            return None
        try:
            return setting.parse(text)
        except ValueError as error:
            shown = "" if setting.secret else f" = {text!r}"
            self._problems.append(f"{_called(setting, origin)}{shown}: {error}")
            return None

    def sources(self) -> tuple[Source, ...]:
        found: list[Source] = []
        for setting in SETTINGS:
            text, origin = self._texts.get(setting.name, (setting.default, "default"))
            shown = repr(Secret("")) if setting.secret and text else text or ""
            found.append(Source(setting.name, shown, origin))
        return tuple(found)

    def _add_file_of(self, path: Path) -> None:
        for name, text in self._file(path).items():
            if name == "data_dir":
                self._problems.append(f"{path}: data_dir cannot be set inside the data directory")
            else:
                self._texts.setdefault(name, (text, str(path)))

    def _environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        texts: dict[str, str] = {}
        for variable, text in sorted(environ.items()):
            if not variable.startswith(ENVIRONMENT_PREFIX):
                continue
            name = variable.removeprefix(ENVIRONMENT_PREFIX)
            setting = _BY_NAME.get(name.lower())
            secret = _BY_NAME.get(name.lower().removesuffix("_file"))
            if name in CLIENT_NAMES:
                continue
            if setting is not None:
                texts[setting.name] = text
            elif secret is not None and secret.secret:
                texts[secret.name] = self._secret_file(variable, text)
            else:
                self._problems.append(f"{variable}: unknown variable{_nearest_variable(variable)}")
        return texts

    def _secret_file(self, variable: str, path: str) -> str:
        try:
            return Path(path).read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            self._problems.append(f"{variable} = {path!r}: cannot be read ({error})")
            return ""

    def _file(self, path: Path) -> dict[str, str]:
        try:
            parsed = tomllib.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            self._problems.append(f"{path}: cannot be read ({error})")
            return {}
        texts: dict[str, str] = {}
        for key, value in parsed.items():
            if key not in _BY_NAME:
                self._problems.append(f"{path}: unknown key {key!r}{_nearest(key, _BY_NAME)}")
                continue
            text = _text_of(value)
            if text is None:
                self._problems.append(f"{path}: {key} must be a text, a number or a list of texts")
            else:
                texts[key] = text
        return texts


def default_data_directory() -> Path:
    """Where data goes when nobody says otherwise: the platform's place for user data."""
    return platformdirs.user_data_path("switchboard", appauthor=False)


def _called(setting: Setting, origin: str) -> str:
    if origin == "environment":
        return setting.variable
    if origin == "flag":
        return "--" + setting.name.replace("_", "-")
    return f"{origin}: {setting.name}"


def _nearest(name: str, names: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _nearest_variable(variable: str) -> str:
    return _nearest(
        variable,
        {setting.variable: None for setting in SETTINGS}
        | {ENVIRONMENT_PREFIX + name: None for name in CLIENT_NAMES},
    )


def _text_of(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in cast("list[object]", value)):
        return ",".join(cast("list[str]", value))
    return None


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
    Setting("max_connections", "4096", _whole(1, 100_000), "open sockets"),
    Setting("channel_clients", "claude-code", _names, "clients that ring on a session stream only"),
    Setting("log_level", "info", _one_of(LOG_LEVELS), "least severe record that is written"),
    Setting("log_format", "auto", _one_of(LOG_FORMATS), "auto: JSON unless on a terminal"),
)
"""Every setting, in the order in which `config show` lists them."""

_BY_NAME = {setting.name: setting for setting in SETTINGS}
