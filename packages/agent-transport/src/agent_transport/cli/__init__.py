"""The command line `agent-transport`."""

from agent_transport.cli.program import main

__all__ = ["main"]
