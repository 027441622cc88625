-- Active endpoints whose time has come.
SELECT id FROM endpoint
WHERE state = 'active' AND expires_at_ms IS NOT NULL AND expires_at_ms <= :now_ms
ORDER BY expires_at_ms
LIMIT :limit
