-- An endpoint that may still be used. Rows: 0 or 1.
SELECT id FROM endpoint
WHERE workspace_id = :workspace_id AND slug = :slug AND state = 'active'
  AND (expires_at_ms IS NULL OR expires_at_ms > :now_ms)
