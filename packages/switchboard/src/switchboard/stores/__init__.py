"""Implementations of the store contract. Only `app` chooses one."""
