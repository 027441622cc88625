-- The live todo that has a key. Rows: 0 or 1.
SELECT * FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND key_space = :key_space
  AND idempotency_key = :idempotency_key AND ended_at_ms IS NULL
