-- Todos whose lease ran out, longest first.
SELECT id FROM todo
WHERE lease_expires_at_ms IS NOT NULL AND lease_expires_at_ms <= :now_ms
ORDER BY lease_expires_at_ms
LIMIT :limit
