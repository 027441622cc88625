-- The longest idle sessions beyond the newest ones of an endpoint.
SELECT id FROM session WHERE endpoint_id = :endpoint_id
ORDER BY last_used_at_ms DESC, created_at_ms DESC, id DESC
LIMIT -1 OFFSET :keep
