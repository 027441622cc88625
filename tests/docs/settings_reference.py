"""Writes the reference of the settings from their table."""

from __future__ import annotations

from switchboard.settings_table import SETTINGS, Setting

_HEAD = ("| setting | variable | default | what it is |", "|---|---|---|---|")


def settings_reference() -> str:
    """One row for each setting, in the order of `config show`."""
    return "\n".join([*_HEAD, *(_row(setting) for setting in SETTINGS)])


def _row(setting: Setting) -> str:
    if setting.default is None:
        default = "none"
    else:
        default = f"`{setting.default}`" if setting.default else "empty"
    return f"| `{setting.name}` | `{setting.variable}` | {default} | {setting.help} |"
