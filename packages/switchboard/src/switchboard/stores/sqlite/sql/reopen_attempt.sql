-- Take a lapsed attempt up again.
UPDATE attempt SET ended_at_ms = NULL, outcome = NULL
WHERE todo_id = :todo_id AND number = :number
