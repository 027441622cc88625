-- An endpoint was seen; the time never moves back.
UPDATE endpoint SET last_seen_at_ms = max(coalesce(last_seen_at_ms, 0), :at_ms) WHERE id = :endpoint_id
