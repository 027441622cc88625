-- The active endpoint behind a credential. Rows: 0 or 1.
SELECT e.id, e.workspace_id, c.id AS credential_id, e.slug, e.agent, e.queues, e.verbs, e.protocol,
       e.lease_ms, e.expires_at_ms, c.expires_at_ms AS credential_expires_at_ms
FROM credential AS c JOIN endpoint AS e ON e.id = c.endpoint_id
WHERE c.hash = :hash AND c.ended_at_ms IS NULL AND e.state = 'active'
  AND (c.expires_at_ms IS NULL OR c.expires_at_ms > :now_ms)
  AND (e.expires_at_ms IS NULL OR e.expires_at_ms > :now_ms)
