-- An open session of an endpoint. Rows: 0 or 1.
SELECT * FROM session WHERE id = :session_id AND endpoint_id = :endpoint_id
