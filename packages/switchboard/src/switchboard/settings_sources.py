"""Where the texts of settings come from: flags, environment, `switchboard.toml`, defaults."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import platformdirs

from switchboard.secret import MASK
from switchboard.settings_table import BY_NAME, ENVIRONMENT_PREFIX, SETTINGS, Setting

FILE_NAME = "switchboard.toml"
CLIENT_NAMES = ("URL", "TOKEN", "TOKEN_FILE")
"""Variables of the command line's client side; the service only knows that they are no slips."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the value of a setting came from, ready to be shown."""

    name: str
    shown: str
    origin: str


class GivenTexts:
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
            shown = MASK if setting.secret and text else text or ""
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
            setting = BY_NAME.get(name.lower())
            secret = BY_NAME.get(name.lower().removesuffix("_file"))
            if name in CLIENT_NAMES:
                continue
            if setting is not None:
                texts[setting.name] = text
            elif secret is not None and secret.secret:
                texts[secret.name] = self.secret_file(variable, text)
            else:
                self._problems.append(f"{variable}: unknown variable{_nearest_variable(variable)}")
        return texts

    def secret_file(self, variable: str, path: str) -> str:
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
            if key not in BY_NAME:
                self._problems.append(f"{path}: unknown key {key!r}{_nearest(key, BY_NAME)}")
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
