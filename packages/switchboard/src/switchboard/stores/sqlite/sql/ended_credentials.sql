-- Which of some credentials open nothing any more.
SELECT c.id FROM credential AS c JOIN endpoint AS e ON e.id = c.endpoint_id
WHERE c.id IN (SELECT value FROM json_each(:credential_ids))
  AND (c.ended_at_ms IS NOT NULL OR c.expires_at_ms <= :now_ms
       OR e.state <> 'active' OR e.expires_at_ms <= :now_ms)
