-- Change what may change after a vend. Guard: active. Rows: 0 or 1.
UPDATE endpoint
SET protocol = coalesce(:protocol, protocol), lease_ms = coalesce(:lease_ms, lease_ms)
WHERE workspace_id = :workspace_id AND slug = :slug AND state = 'active'
  AND (expires_at_ms IS NULL OR expires_at_ms > :now_ms)
RETURNING id
