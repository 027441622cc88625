"""Values and rules of the ledger, on the standard library alone."""
