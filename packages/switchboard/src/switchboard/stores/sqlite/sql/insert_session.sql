-- Keep a session whose endpoint is active. Rows: 0 or 1.
INSERT INTO session (id, endpoint_id, protocol_version, client_info_json, client_capabilities_json,
                     created_at_ms, last_used_at_ms)
SELECT :id, e.id, :protocol_version, :client_info_json, :client_capabilities_json, :now_ms, :now_ms
FROM endpoint AS e
WHERE e.id = :endpoint_id AND e.state = 'active'
  AND (e.expires_at_ms IS NULL OR e.expires_at_ms > :now_ms)
RETURNING id
