-- The attempts before a claim, newest first.
SELECT * FROM attempt WHERE todo_id = :todo_id AND number < :number ORDER BY number DESC LIMIT 5
