-- What measuring costs: a file loaded by COPY and by ingest_load() with strategy
-- copy in turn, into the same emptied table.  Prints medians and the difference.
--
-- Variables: rows, repeat.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;

CREATE TABLE overhead (id int PRIMARY KEY, k int, v text);
CREATE INDEX ON overhead (k);
SELECT current_setting('data_directory') || '/overhead.csv' AS file
\gset
COPY (SELECT g, g::bigint * 7919 % 1000003, 'row number ' || g FROM generate_series(1, :rows) g)
TO :'file' (FORMAT csv);
CREATE TABLE overhead_results (repetition int, way text, ms float8);

CREATE PROCEDURE overhead(file text, repeat int) LANGUAGE plpgsql AS $$
DECLARE
	way text;
	started timestamptz;
BEGIN
	FOR repetition IN 0 .. repeat LOOP
		FOREACH way IN ARRAY CASE WHEN repetition % 2 = 0 THEN '{COPY,ingest_load}' ELSE '{ingest_load,COPY}' END::text[] LOOP
			TRUNCATE overhead;
			COMMIT;
			CHECKPOINT;
			started := clock_timestamp();
			IF way = 'COPY' THEN
				EXECUTE format('COPY overhead FROM %L (FORMAT csv)', file);
			ELSE
				PERFORM ingest_load('overhead', file, 'format csv, strategy copy');
			END IF;
			-- the first time is for the caches
			INSERT INTO overhead_results
				SELECT repetition, way, extract(epoch FROM clock_timestamp() - started) * 1000 WHERE repetition > 0;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
CALL overhead(:'file', :repeat);

\echo
\echo overhead: :rows rows by COPY and by ingest_load(), median of :repeat
SELECT way, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS "median ms",
	round(min(ms)::numeric, 1) AS "min", round(max(ms)::numeric, 1) AS "max"
FROM overhead_results GROUP BY way ORDER BY way;
SELECT round((100 * (percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms) / percentile_cont(0.5) WITHIN GROUP (ORDER BY c.ms) - 1))::numeric, 2) AS "difference of medians, %",
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY 100 * (l.ms / c.ms - 1))::numeric, 2) AS "median difference of a pair, %",
	round((100 * (min(l.ms) / min(c.ms) - 1))::numeric, 2) AS "difference of minima, %"
FROM overhead_results l JOIN overhead_results c USING (repetition)
WHERE l.way = 'ingest_load' AND c.way = 'COPY';
SELECT pg_catalog.pg_size_pretty(pg_catalog.pg_total_relation_size('overhead')) AS "size of the table";
