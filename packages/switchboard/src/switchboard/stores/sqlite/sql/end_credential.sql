-- A credential opens nothing any more. The first end stands.
UPDATE credential
SET ended_at_ms = :now_ms, expires_at_ms = min(coalesce(expires_at_ms, :now_ms), :now_ms)
WHERE id = :id AND ended_at_ms IS NULL
