-- The person behind a live operator token. Rows: 0 or 1.
SELECT t.id AS token_id, t.name AS token_name, t.person_id, p.name AS person_name, t.workspace_id, t.role
FROM operator_token AS t JOIN person AS p ON p.id = t.person_id
WHERE t.hash = :hash AND t.revoked_at_ms IS NULL
