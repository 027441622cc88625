"""Other people's clients against a running service."""
