-- All credentials of an endpoint are dead.
UPDATE credential SET ended_at_ms = :now_ms WHERE endpoint_id = :endpoint_id AND ended_at_ms IS NULL
