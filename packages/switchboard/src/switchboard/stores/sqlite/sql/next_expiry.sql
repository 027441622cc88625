-- How long until the next active endpoint or live credential expires. Rows: 1, NULL if none.
SELECT min(at_ms) - :now_ms AS in_ms FROM (
    SELECT min(expires_at_ms) AS at_ms FROM endpoint
    WHERE state = 'active' AND expires_at_ms IS NOT NULL
    UNION ALL
    SELECT min(expires_at_ms) FROM credential
    WHERE ended_at_ms IS NULL AND expires_at_ms IS NOT NULL
)
