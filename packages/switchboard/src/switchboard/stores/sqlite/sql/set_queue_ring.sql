-- Say whom a ready todo of a queue wakes. Rows: 0 or 1.
UPDATE queue SET ring = :ring WHERE workspace_id = :workspace_id AND name = :name
RETURNING *
