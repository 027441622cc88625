"""The agents' surface: MCP over HTTP at `/mcp/{slug}`."""
