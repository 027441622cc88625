-- End all sessions of an endpoint.
DELETE FROM session WHERE endpoint_id = :endpoint_id
RETURNING id
