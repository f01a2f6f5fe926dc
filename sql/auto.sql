-- Strategy auto: what it takes, and why.
\getenv abs_srcdir PG_ABS_SRCDIR
\getenv abs_builddir PG_ABS_BUILDDIR
\set two_rows :abs_srcdir '/test/data/two_rows.csv'
\set rows :abs_builddir '/results/auto.csv'
COPY (SELECT g, 'name ' || g FROM generate_series(1, 20000) g) TO :'rows' (FORMAT csv);
CREATE TABLE auto_t (id int, name text);

SELECT strategy, strategy_used, reason, rows_loaded, workers, workers_used, commit_rows, index_mode
FROM ingest_load('auto_t', :'two_rows', 'format csv, strategy auto');
SELECT strategy, strategy_used, reason, rows_loaded, workers, workers_used, commit_rows, index_mode
FROM ingest_load('auto_t', :'rows', 'format csv, strategy auto');

-- what cannot be direct; nothing is replaced then, since nothing else was asked for
SET ingest_tools.fallback = error;
SELECT strategy_used, reason, rows_loaded FROM ingest_load('auto_t', 'SELECT 1, 2', 'strategy auto');
SELECT strategy_used, reason, rows_loaded
FROM ingest_load('auto_t', :'rows', 'format text, delimiter '','', strategy auto');
RESET ingest_tools.fallback;

-- commits on the way, if they are asked for
SELECT strategy_used, reason, rows_loaded, commits, commit_rows
FROM ingest_load('auto_t', :'rows', 'format csv, strategy auto, commit_rows 10000');
SELECT strategy_used, reason, rows_loaded, commit_rows
FROM ingest_load('auto_t', :'rows', 'format csv, strategy auto, commit_rows dynamic');
SELECT strategy_used, reason, rows_loaded, commits, commit_rows
FROM ingest_load('auto_t', :'rows', 'format csv, strategy auto, commit_mode batch_wait');

-- many partitions and few rows for each
CREATE TABLE auto_p (id int, name text) PARTITION BY HASH (id);
DO $$
BEGIN
	FOR i IN 0..99 LOOP
		EXECUTE format('CREATE TABLE auto_p%s PARTITION OF auto_p FOR VALUES WITH (MODULUS 100, REMAINDER %s)', i, i);
	END LOOP;
END $$;
SELECT strategy_used, reason, rows_loaded FROM ingest_load('auto_p', :'rows', 'format csv, strategy auto');

-- workers: as many as were asked for, in one transaction
BEGIN;
TRUNCATE auto_t;
SAVEPOINT s;
SELECT strategy_used, workers, rows_loaded FROM ingest_load('auto_t', :'rows', 'format csv, strategy auto, workers 2');
ROLLBACK TO s;
SELECT count(*) FROM auto_t;
ROLLBACK;

-- as the strategy of a bench, but not one of its own accord
SELECT strategy, strategy_used, reason, verified
FROM ingest_bench('auto_t', :'rows', strategies => '{auto}', checkpoint => false);
SELECT count(*) FILTER (WHERE strategy = 'auto') AS auto, count(*) > 4 AS others
FROM ingest_bench('auto_t', :'two_rows', checkpoint => false);

DROP TABLE auto_t, auto_p;
