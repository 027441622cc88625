-- What a person holds is no longer kept for an ended endpoint.
UPDATE todo SET assignee_id = NULL WHERE assignee_id = :endpoint_id AND ended_at_ms IS NULL
