"""The `switchboard` command. One module per command or group of commands."""

from switchboard.cli.main import main

__all__ = ["main"]
