-- Pending todos whose due time came since the last look.
SELECT * FROM todo
WHERE state = 'pending' AND available_at_ms > :after_ms AND available_at_ms <= :now_ms
ORDER BY available_at_ms
LIMIT :limit
