-- Whether an endpoint and its credential may still write. Rows: 0 or 1.
SELECT 1 FROM workspace WHERE id = :workspace_id
  AND EXISTS (SELECT 1 FROM endpoint AS e
              WHERE e.id = :endpoint_id AND e.state = 'active'
                AND (e.expires_at_ms IS NULL OR e.expires_at_ms > :now_ms))
  AND EXISTS (SELECT 1 FROM credential AS c
              WHERE c.id = :credential_id AND c.ended_at_ms IS NULL
                AND (c.expires_at_ms IS NULL OR c.expires_at_ms > :now_ms))
