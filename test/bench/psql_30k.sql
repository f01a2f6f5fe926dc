-- Workload psql_30k: six ways to insert 30,000 rows, after a thread on a
-- PostgreSQL mailing list.  Prints medians, and whether their order is that of
-- the thread (one machine of two: 39.359, 11.402, 10.138, 8.173, 1.498 and
-- 1.286 seconds).
--
-- Variables: rows, repeat.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;

CREATE SEQUENCE seq;
CREATE TABLE psql_30k (id bigint DEFAULT nextval('seq'), n bigint,
	x double precision, y double precision, t timestamp);
CREATE TABLE psql_30k_source AS
SELECT g::bigint AS id, g::bigint * 7919 % 30011 AS n, g / 7.0::double precision AS x, sqrt(g) AS y,
	timestamp '2002-06-01' + g * interval '1 second' AS t
FROM generate_series(1, :rows) g;
VACUUM (FREEZE, ANALYZE) psql_30k_source;

CREATE TABLE ways (n int, way text, published float8, ids boolean, strategy text, commit_rows int[]);
INSERT INTO ways VALUES
	(1, 'one INSERT per transaction', 39.359, false, 'insert', '{1}'),
	(2, 'all INSERTs in one transaction', 11.402, false, 'insert', NULL),
	(3, 'same, ids computed beforehand', 10.138, true, 'insert', NULL),
	(4, 'prepared INSERT, one transaction', 8.173, true, 'insert_prepared', NULL),
	(5, 'COPY, ids from the sequence', 1.498, false, 'copy', NULL),
	(6, 'COPY, ids in the data', 1.286, true, 'copy', NULL);

-- Every way once in each repetition, beginning with another one each time.
CREATE TABLE psql_30k_results AS
SELECT w.n, r.elapsed_ms, r.verified, r.wal_sync
FROM generate_series(1, :repeat) repetition,
	LATERAL (SELECT * FROM ways ORDER BY (n + repetition) % 6 OFFSET 0) w,
	LATERAL ingest_bench('psql_30k',
		CASE WHEN w.ids THEN 'SELECT * FROM psql_30k_source'
			ELSE 'SELECT n, x, y, t FROM psql_30k_source' END,
		CASE WHEN w.ids THEN 'format csv' ELSE 'columns (n, x, y, t)' END,
		strategies => ARRAY[w.strategy], commit_rows => w.commit_rows) r;

\echo
\echo psql_30k: :rows rows, median of :repeat
CREATE VIEW psql_30k_medians AS
SELECT n, percentile_cont(0.5) WITHIN GROUP (ORDER BY elapsed_ms) AS ms,
	min(elapsed_ms) AS min_ms, max(elapsed_ms) AS max_ms,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY wal_sync) AS syncs, bool_and(verified) AS verified
FROM psql_30k_results GROUP BY n;
SELECT way, round(ms::numeric, 1) AS "median ms", round(min_ms::numeric, 1) AS "min", round(max_ms::numeric, 1) AS "max",
	round((:rows * 1000 / ms)::numeric) AS "rows/s", syncs,
	round((ms / first_value(ms) OVER (ORDER BY n))::numeric, 4) AS "to first",
	round((published / first_value(published) OVER (ORDER BY n))::numeric, 4) AS "published", verified
FROM ways JOIN psql_30k_medians USING (n) ORDER BY n;
SELECT format('%s, before %s: %s', a.way, b.way, CASE WHEN x.ms > y.ms * 1.05 THEN 'as published' WHEN x.ms * 1.05 < y.ms THEN 'NOT as published' ELSE 'no difference' END) AS "order, slowest first"
FROM ways a JOIN ways b ON b.n = a.n + 1
	JOIN psql_30k_medians x ON x.n = a.n JOIN psql_30k_medians y ON y.n = b.n
ORDER BY a.n;
