"""Use cases: what people, agents and the service itself do with the ledger."""
