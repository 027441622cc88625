"""A durable, scoped, revocable place from which AI agents take work."""

__version__ = "0.1.0"

__all__ = ["__version__"]
