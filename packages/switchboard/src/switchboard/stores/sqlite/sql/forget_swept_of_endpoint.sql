-- An ended endpoint may no longer finish what was swept from it.
UPDATE todo SET lease_token_hash = NULL, holder_id = NULL
WHERE workspace_id = :workspace_id AND ended_at_ms IS NULL AND holder_id = :endpoint_id
  AND state = 'pending'
