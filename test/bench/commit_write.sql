-- Workload commit_write: what one commit per row costs, after an Oracle case.
-- Prints medians and waits, and whether their order is that of the case
-- (58.36, 56.68, 25.22 and 19.87 seconds for 50,000 rows).  A commit that does
-- not wait is not delayed by this server either: expect no difference between
-- the last two.
--
-- Variables: rows, repeat.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
SET ingest_tools.wait_sample_interval = '1ms';

CREATE TABLE commit_write (n numeric, v varchar(500));
SELECT setseed(0.5) \g /dev/null
CREATE TABLE commit_write_source AS
SELECT g::numeric AS n,
	(SELECT string_agg(chr(65 + (random() * 25)::int), '') FROM generate_series(1, 500) WHERE g > 0) AS v
FROM generate_series(1, :rows) g;
VACUUM (FREEZE, ANALYZE) commit_write_source;

CREATE TABLE modes (n int, mode text, published float8);
INSERT INTO modes VALUES
	(1, 'batch_wait', 58.36),
	(2, 'immediate_wait', 56.68),
	(3, 'immediate_nowait', 25.22),
	(4, 'batch_nowait', 19.87);

CREATE TABLE commit_write_results AS
SELECT m.n, r.elapsed_ms, r.verified, r.commits, r.wal_sync, r.waits
FROM ingest_bench('commit_write', 'SELECT * FROM commit_write_source',
		strategies => '{insert_prepared}', commit_rows => '{1}', repeat => :repeat,
		commit_modes => '{batch_wait,immediate_wait,immediate_nowait,batch_nowait}') r
	JOIN modes m ON m.mode = r.commit_mode;

\echo
\echo commit_write: :rows rows, a commit for each, median of :repeat
CREATE VIEW commit_write_medians AS
SELECT n, percentile_cont(0.5) WITHIN GROUP (ORDER BY elapsed_ms) AS ms,
	min(elapsed_ms) AS min_ms, max(elapsed_ms) AS max_ms, min(commits) AS commits,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY wal_sync) AS syncs, bool_and(verified) AS verified
FROM commit_write_results GROUP BY n;
SELECT mode, round(ms::numeric, 1) AS "median ms", round(min_ms::numeric, 1) AS "min", round(max_ms::numeric, 1) AS "max",
	commits, syncs,
	round((ms / first_value(ms) OVER (ORDER BY n))::numeric, 3) AS "to first",
	round((published / first_value(published) OVER (ORDER BY n))::numeric, 3) AS "published", verified
FROM modes JOIN commit_write_medians USING (n) ORDER BY n;
SELECT mode, string_agg(event || ' ' || share || ' %', ', ' ORDER BY share DESC) AS "where the time goes"
FROM (SELECT n, coalesce(w->>'event', 'running') AS event,
		round((100 * sum((w->>'ms')::float8) / sum(sum((w->>'ms')::float8)) OVER (PARTITION BY n))::numeric) AS share
	FROM commit_write_results, jsonb_array_elements(waits) w GROUP BY 1, 2) s
	JOIN modes USING (n)
WHERE share >= 1 GROUP BY n, mode ORDER BY n;
SELECT format('%s, before %s: %s', a.mode, b.mode, CASE WHEN x.ms > y.ms * 1.05 THEN 'as published' WHEN x.ms * 1.05 < y.ms THEN 'NOT as published' ELSE 'no difference' END) AS "order, slowest first"
FROM modes a JOIN modes b ON b.n = a.n + 1
	JOIN commit_write_medians x ON x.n = a.n JOIN commit_write_medians y ON y.n = b.n
ORDER BY a.n;
