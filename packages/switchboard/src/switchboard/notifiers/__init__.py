"""Implementations of the notifier contract."""
