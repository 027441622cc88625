"""The whole story in one terminal: `python -m switchboard.demo`, or `make demo`.

A scratch service, agents with the official MCP client, a crash and a revocation. Nothing stays:
the service is a process of the demo's own, and its data lie in a temporary directory.
"""
