-- One endpoint. Rows: 0 or 1.
SELECT e.*, (SELECT c.prefix FROM credential AS c
             WHERE c.endpoint_id = e.id AND c.expires_at_ms IS NULL) AS credential_prefix
FROM endpoint AS e
WHERE e.id = :endpoint_id
