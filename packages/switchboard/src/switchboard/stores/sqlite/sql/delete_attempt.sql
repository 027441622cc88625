-- Forget an attempt that was taken back.
DELETE FROM attempt WHERE todo_id = :todo_id AND number = :number
