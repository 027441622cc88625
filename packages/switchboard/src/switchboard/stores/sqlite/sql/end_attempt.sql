-- Close an attempt, or change how a lapsed one ended.
UPDATE attempt
SET ended_at_ms = :now_ms, outcome = :outcome, summary = coalesce(:summary, summary),
    ended_digest = :digest
WHERE todo_id = :todo_id AND number = :number
