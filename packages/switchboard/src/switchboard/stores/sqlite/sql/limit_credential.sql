-- The current credential lives on for an overlap; from now on another one is the current one.
UPDATE credential SET expires_at_ms = :now_ms + :overlap_ms
WHERE id = :id AND ended_at_ms IS NULL AND expires_at_ms IS NULL
