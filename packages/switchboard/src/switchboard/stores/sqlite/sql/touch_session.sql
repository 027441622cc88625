-- A session was used; the time never moves back.
UPDATE session SET last_used_at_ms = max(last_used_at_ms, :at_ms) WHERE id = :session_id
