-- Keep the hash of a credential.
INSERT INTO credential (id, endpoint_id, hash, prefix, created_at_ms)
VALUES (:id, :endpoint_id, :hash, :prefix, :now_ms)
