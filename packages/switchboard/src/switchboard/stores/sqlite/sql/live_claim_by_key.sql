-- What an endpoint holds under a claim key; a lapsed lease is no claim any more. Rows: 0 or 1.
SELECT * FROM todo
WHERE holder_id = :endpoint_id AND claim_key = :claim_key AND workspace_id = :workspace_id
  AND ended_at_ms IS NULL AND lease_expires_at_ms > :now_ms
LIMIT 1
