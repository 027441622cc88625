-- One endpoint. Rows: 0 or 1.
SELECT e.*, (SELECT c.prefix FROM credential AS c
             WHERE c.endpoint_id = e.id AND c.expires_at_ms IS NULL) AS credential_prefix,
       (SELECT max(c.expires_at_ms) FROM credential AS c
        WHERE c.endpoint_id = e.id AND c.ended_at_ms IS NULL AND c.expires_at_ms > :now_ms
       ) AS previous_until_ms
FROM endpoint AS e
WHERE e.id = :endpoint_id
