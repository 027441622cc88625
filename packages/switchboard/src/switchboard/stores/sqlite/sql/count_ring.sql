-- One more ring was taken by a stream.
UPDATE todo SET rings = rings + 1 WHERE id = :todo_id
