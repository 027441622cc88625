-- Keep the latest note of an attempt.
UPDATE attempt SET note = :note WHERE todo_id = :todo_id AND number = :number
