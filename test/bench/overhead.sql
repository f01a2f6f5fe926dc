-- What measuring costs: a file loaded by COPY and by ingest_load() with strategy
-- copy in turn, into the same emptied table.  Prints medians and the difference,
-- of the time by the clock and of the CPU time, which the kernel gives for this
-- process and which other processes and the disk disturb less.
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
CREATE TABLE overhead_results (repetition int, way text, ms float8, cpu_ms float8);

-- CPU time of this process: fields 14 and 15 of its line, in ticks of 10 ms.
CREATE FUNCTION cpu_ms() RETURNS float8 LANGUAGE sql AS $$
SELECT 10.0 * (f[12]::bigint + f[13]::bigint)
FROM string_to_array(regexp_replace(pg_read_file('/proc/self/stat', 0, 1000), '^.*\) ', ''), ' ') f
$$;

CREATE PROCEDURE overhead(file text, repeat int) LANGUAGE plpgsql AS $$
DECLARE
	way text;
	started timestamptz;
	cpu_started float8;
BEGIN
	FOR repetition IN 0 .. repeat LOOP
		FOREACH way IN ARRAY CASE WHEN repetition % 2 = 0 THEN '{COPY,ingest_load}' ELSE '{ingest_load,COPY}' END::text[] LOOP
			TRUNCATE overhead;
			COMMIT;
			CHECKPOINT;
			cpu_started := cpu_ms();
			started := clock_timestamp();
			IF way = 'COPY' THEN
				EXECUTE format('COPY overhead FROM %L (FORMAT csv)', file);
			ELSE
				PERFORM ingest_load('overhead', file, 'format csv, strategy copy');
			END IF;
			-- the first time is for the caches
			INSERT INTO overhead_results
				SELECT repetition, way, extract(epoch FROM clock_timestamp() - started) * 1000, cpu_ms() - cpu_started
				WHERE repetition > 0;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
CALL overhead(:'file', :repeat);

\echo
\echo overhead: :rows rows by COPY and by ingest_load(), median of :repeat
SELECT way, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS "median ms",
	round(min(ms)::numeric, 1) AS "min", round(max(ms)::numeric, 1) AS "max",
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu_ms)::numeric) AS "median CPU ms",
	min(cpu_ms) AS "min CPU", max(cpu_ms) AS "max CPU"
FROM overhead_results GROUP BY way ORDER BY way;
-- The two of a pair ran one right after the other, so their ratio knows the least
-- of what else the machine did: its median is the figure, its quartiles how sure.
SELECT what, round(100 * (quartile[2] - 1), 2) AS "median of the pairs, %",
	round(100 * (quartile[1] - 1), 2) AS "1st quartile", round(100 * (quartile[3] - 1), 2) AS "3rd quartile",
	round(100 * (minima - 1), 2) AS "minima, %"
FROM (
	SELECT what, (percentile_cont('{0.25,0.5,0.75}'::float8[]) WITHIN GROUP (ORDER BY load / copy))::numeric[] AS quartile,
		(min(load) / min(copy))::numeric AS minima
	FROM overhead_results l JOIN overhead_results c USING (repetition),
		LATERAL (VALUES ('time', l.ms, c.ms), ('CPU', l.cpu_ms, c.cpu_ms)) v (what, load, copy)
	WHERE l.way = 'ingest_load' AND c.way = 'COPY'
	GROUP BY what) q
ORDER BY what DESC;
