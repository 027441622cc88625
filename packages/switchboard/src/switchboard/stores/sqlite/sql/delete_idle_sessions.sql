-- End the sessions that nobody used for a while.
DELETE FROM session WHERE last_used_at_ms <= :now_ms - :idle_ms
RETURNING id
