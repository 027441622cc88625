"""The API of people and scripts at `/api/v1`."""
