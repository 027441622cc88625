-- When the next active endpoint expires. Rows: 1, NULL if none.
SELECT min(expires_at_ms) AS at_ms FROM endpoint
WHERE state = 'active' AND expires_at_ms IS NOT NULL
