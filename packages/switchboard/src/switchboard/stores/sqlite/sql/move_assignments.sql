-- What waits for an ended endpoint waits for its heir, where the heir has the queue in scope.
UPDATE todo SET assignee_id = :to_id, updated_at_ms = :now_ms
WHERE assignee_id = :from_id AND state = 'pending'
  AND queue IN (SELECT value FROM json_each(:queues))
RETURNING *
