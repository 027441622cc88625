-- All endpoints of a workspace, newest first.
SELECT e.*, (SELECT c.prefix FROM credential AS c
             WHERE c.endpoint_id = e.id AND c.expires_at_ms IS NULL) AS credential_prefix,
       (SELECT max(c.expires_at_ms) FROM credential AS c
        WHERE c.endpoint_id = e.id AND c.ended_at_ms IS NULL AND c.expires_at_ms > :now_ms
       ) AS previous_until_ms
FROM endpoint AS e
WHERE e.workspace_id = :workspace_id ORDER BY e.id DESC
