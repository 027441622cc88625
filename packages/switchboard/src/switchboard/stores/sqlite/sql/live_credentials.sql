-- The credentials of an endpoint that are not over, the current one first.
SELECT c.id, c.endpoint_id, e.workspace_id
FROM credential AS c JOIN endpoint AS e ON e.id = c.endpoint_id
WHERE c.endpoint_id = :endpoint_id AND c.ended_at_ms IS NULL
ORDER BY c.expires_at_ms IS NOT NULL, c.expires_at_ms DESC
