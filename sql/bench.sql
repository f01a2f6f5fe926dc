-- ingest_bench(): every way, each into a fresh clone.
CREATE TABLE bench_t (id int, k int NOT NULL, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE bench_1 PARTITION OF bench_t FOR VALUES FROM (0) TO (500);
CREATE TABLE bench_2 PARTITION OF bench_t FOR VALUES FROM (500) TO (2000);
CREATE INDEX ON bench_t (k);

SELECT strategy, batch_rows, workers, workers_used, rows_read, rows_loaded, verified
FROM ingest_bench('bench_t', 'SELECT g, g % 7, ''row '' || g FROM generate_series(1, 1000) g',
	batch_rows => '{10,1000}', checkpoint => false);

-- the target is not touched, nothing is left behind
SELECT count(*) FROM bench_t;
SELECT count(*) FROM pg_class WHERE relname LIKE 'ingest\_clone%';

-- degree, commits, modes
SELECT strategy, workers, workers_used, commit_rows, commit_mode, rows_loaded, commits, verified
FROM ingest_bench('bench_t', 'SELECT g, g % 7, NULL FROM generate_series(1, 1000) g',
	strategies => '{insert_prepared,copy,online}', workers => '{1,2}', commit_rows => '{100}', checkpoint => false);
SELECT strategy, commit_mode, commits, rows_loaded, verified
FROM ingest_bench('bench_t', 'SELECT g, g % 7, NULL FROM generate_series(1, 20) g',
	strategies => '{insert}', commit_rows => '{1}',
	commit_modes => '{immediate_wait,batch_wait,immediate_nowait,batch_nowait}', checkpoint => false);

-- order rotates between repetitions
SELECT repetition, strategy
FROM ingest_bench('bench_t', 'SELECT 1, 1, NULL', strategies => '{insert,copy,online}', repeat => 3, checkpoint => false);

-- a row limit, rows there before, generated rows
SELECT strategy, rows_loaded, verified
FROM ingest_bench('bench_t', 'SELECT g, g % 7, NULL FROM generate_series(1, 1000) g',
	rows => 10, strategies => '{copy,online}');
INSERT INTO bench_t SELECT g, g, 'there' FROM generate_series(1501, 1600) g;
SELECT strategy, rows_loaded, verified,
	(SELECT sum((r->>'bytes')::int) > 0 FROM jsonb_array_elements(relations) r WHERE r->>'kind' = 'heap') AS bytes
FROM ingest_bench('bench_t', 'SELECT g, g % 7, NULL FROM generate_series(1, 1000) g',
	preload => 100, strategies => '{copy,online}');
SELECT strategy, rows_loaded, verified
FROM ingest_bench('bench_t', rows => 300, preload => 200, strategies => '{insert_values,online}');

-- a query that gives other rows each time is read once
SELECT bool_and(verified) FROM ingest_bench('bench_t',
	'SELECT g, (random() * 1000)::int, NULL FROM generate_series(1, 100) g',
	strategies => '{copy,online}');

-- each relation's share
SELECT r->>'relation' AS relation, r->>'kind' AS kind, (r->>'wal_records')::int > 0 AS wal,
	(r->>'page_updates')::int > 0 AS updates
FROM ingest_bench('bench_t', 'SELECT g, g % 7, NULL FROM generate_series(1, 1000) g',
	strategies => '{insert}'), jsonb_array_elements(relations) r
WHERE r->>'kind' IN ('heap', 'index') ORDER BY 1;

-- some rows only: the rest of the runs is not done
SELECT strategy FROM ingest_bench('bench_t', 'SELECT 1, 1, NULL') LIMIT 1;
SELECT (ingest_bench('bench_t', 'SELECT 1, 1, NULL')).strategy LIMIT 1;
BEGIN;
DECLARE c CURSOR FOR SELECT (b).strategy FROM (SELECT ingest_bench('bench_t', 'SELECT 1, 1, NULL') AS b OFFSET 0) s;
FETCH 2 FROM c;
COMMIT;
SELECT count(*) FROM pg_class WHERE relname LIKE 'ingest\_clone%';

-- history
SELECT function, strategy FROM ingest_history ORDER BY id DESC LIMIT 2;
SELECT strategy FROM ingest_last_report();

-- bad arguments
\set VERBOSITY terse
SELECT ingest_bench(NULL);
SELECT ingest_bench('bench_t', rows => 0);
SELECT ingest_bench('bench_t', rows => -1);
SELECT ingest_bench('bench_t', strategies => '{best}');
SELECT ingest_bench('bench_t', strategies => '{}');
SELECT ingest_bench('bench_t', strategies => '{NULL}');
SELECT ingest_bench('bench_t', batch_rows => '{0}');
SELECT ingest_bench('bench_t', batch_rows => '{10000000}');
SELECT ingest_bench('bench_t', workers => '{0}');
SELECT ingest_bench('bench_t', commit_modes => '{never}');
SELECT ingest_bench('bench_t', index_modes => '{never}');
SELECT ingest_bench('bench_t', commit_rows => '{0}');
SELECT ingest_bench('bench_t', preload => -1);
SELECT ingest_bench('bench_t', repeat => 0);
SELECT ingest_bench('bench_t', options => 'format csv, workers 2');
SELECT ingest_bench('bench_t', options => 'format csv, strategy copy');
SELECT ingest_bench('bench_t', repeat => 1000, workers => '{1,2,3,4}');

-- rows that do not fit raise COPY's error
SELECT ingest_bench('bench_t', 'SELECT 5000, 1, NULL');
SELECT ingest_bench('bench_t', 'SELECT 1, NULL, NULL');
SELECT ingest_bench('bench_t', 'SELECT 1, 1, NULL FROM generate_series(1, 2)');
SELECT count(*) FROM pg_class WHERE relname LIKE 'ingest\_clone%';

-- targets that are none
CREATE VIEW bench_view AS SELECT 1 AS a;
CREATE MATERIALIZED VIEW bench_matview AS SELECT 1 AS a;
CREATE SEQUENCE bench_seq;
CREATE FOREIGN DATA WRAPPER bench_fdw;
CREATE SERVER bench_server FOREIGN DATA WRAPPER bench_fdw;
CREATE FOREIGN TABLE bench_foreign (a int) SERVER bench_server;
CREATE TEMP TABLE bench_temp (a int);
SELECT ingest_bench('bench_view');
SELECT ingest_bench('bench_matview');
SELECT ingest_bench('bench_seq');
SELECT ingest_bench('bench_foreign');
SELECT ingest_bench('pg_class');
SELECT ingest_bench('bench_temp');
BEGIN;
CREATE TABLE bench_new (a int);
SELECT ingest_bench('bench_new');
ROLLBACK;
BEGIN;
TRUNCATE bench_t;
SELECT ingest_bench('bench_t');
ROLLBACK;
BEGIN;
LOCK TABLE bench_t;
SELECT ingest_bench('bench_t');
ROLLBACK;
BEGIN READ ONLY;
SELECT ingest_bench('bench_t');
ROLLBACK;
SET statement_timeout = '300ms';
SELECT ingest_bench('bench_t', 'SELECT 1, 1, NULL FROM pg_sleep(10)');
RESET statement_timeout;

-- nothing to clean up
SELECT * FROM ingest_cleanup();
SELECT * FROM ingest_progress;

DROP VIEW bench_view;
DROP MATERIALIZED VIEW bench_matview;
DROP SEQUENCE bench_seq;
DROP FOREIGN DATA WRAPPER bench_fdw CASCADE;
DROP TABLE bench_t, bench_temp;
