"""Serve agents over MCP behind one shared admission gate."""

__version__ = "0.1.0"

__all__ = ["__version__"]
