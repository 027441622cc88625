"""A command as an agent that others can use. Needs the extra `mcp`.

    AGENT_COMMAND='claude -p' agent-transport serve examples.served_command:session

The command reads one prompt from standard input and prints its answer. By default it is `rev`'s
work, done by Python: each line backwards.
"""

from __future__ import annotations

import os
import shlex
import sys

from agent_transport.adapters.command import command_session

BACKWARDS = "import sys; print('\\n'.join(line[::-1] for line in sys.stdin.read().splitlines()))"

command = shlex.split(os.environ.get("AGENT_COMMAND", "")) or [sys.executable, "-c", BACKWARDS]
session = command_session(command)
