-- The running attempt answers to another token. Guard: not ended.
UPDATE attempt SET token_hash = :token_hash
WHERE todo_id = :todo_id AND number = :number AND ended_at_ms IS NULL
