-- Open an attempt.
INSERT INTO attempt (todo_id, number, holder_id, holder_name, token_hash, started_at_ms)
VALUES (:todo_id, :number, :holder_id, :holder_name, :token_hash, :now_ms)
