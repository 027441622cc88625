-- Credentials whose overlap is over.
SELECT c.id, c.endpoint_id, e.workspace_id
FROM credential AS c JOIN endpoint AS e ON e.id = c.endpoint_id
WHERE c.ended_at_ms IS NULL AND c.expires_at_ms IS NOT NULL AND c.expires_at_ms <= :now_ms
ORDER BY c.expires_at_ms
LIMIT :limit
