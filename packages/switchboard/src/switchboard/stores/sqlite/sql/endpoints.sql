-- All endpoints of a workspace, newest first.
SELECT e.*, (SELECT c.prefix FROM credential AS c WHERE c.endpoint_id = e.id
             ORDER BY c.created_at_ms DESC LIMIT 1) AS credential_prefix
FROM endpoint AS e
WHERE e.workspace_id = :workspace_id ORDER BY e.id DESC
