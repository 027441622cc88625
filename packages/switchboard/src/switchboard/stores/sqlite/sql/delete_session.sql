-- End a session. Rows: 0 or 1.
DELETE FROM session WHERE id = :session_id AND endpoint_id = :endpoint_id
RETURNING id
