-- Mode replace: strategy staged.
\getenv abs_builddir PG_ABS_BUILDDIR
\set VERBOSITY terse
SET ingest_tools."analyze" = on;
\set file :abs_builddir '/results/staged.csv'
\set bad :abs_builddir '/results/staged_bad.csv'
\set dup :abs_builddir '/results/staged_dup.csv'
\set none :abs_builddir '/results/staged_none.csv'
SET client_min_messages = warning;
COPY (SELECT i, i % 7, CASE WHEN i % 100 = 0 THEN repeat(md5(i::text), 400)
	ELSE 'row ' || i END FROM generate_series(1, 3000) i) TO :'file' (FORMAT csv);
COPY (SELECT i::text, i, 'x' FROM generate_series(1, 500) i
	UNION ALL SELECT 'bad', 1, 'x') TO :'bad' (FORMAT csv);
COPY (SELECT i % 400, i, 'x' FROM generate_series(1, 500) i) TO :'dup' (FORMAT csv);
COPY (SELECT WHERE false) TO :'none' (FORMAT csv);

-- a plain table: as if it had been emptied and loaded by COPY
CREATE TABLE staged_t (id int PRIMARY KEY, k int, v text);
ALTER TABLE staged_t ALTER v SET STORAGE external;
CREATE INDEX ON staged_t (k);
CREATE INDEX ON staged_t (lower(left(v, 8))) WHERE k > 2;
CREATE TABLE staged_copy (LIKE staged_t INCLUDING ALL);
COPY staged_copy FROM :'file' (FORMAT csv);
INSERT INTO staged_t SELECT i, -1, 'old' FROM generate_series(5000, 5999) i;
SELECT strategy_used, reason, rows_read, rows_loaded, workers_used
FROM ingest_load('staged_t', :'file', 'format csv, strategy staged, mode replace');
SELECT count(*) FROM (TABLE staged_t EXCEPT ALL TABLE staged_copy) d;
SELECT count(*) FROM (TABLE staged_copy EXCEPT ALL TABLE staged_t) d;
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM staged_t WHERE id > 0;
SELECT count(*), sum(id) FROM staged_t WHERE k = 3;
SELECT count(*) FROM staged_t WHERE lower(left(v, 8)) = 'row 17' AND k > 2;
RESET enable_seqscan;
-- nothing is left of the storage, which was frozen, and is as it was said to be
SELECT count(*) FROM pg_class WHERE relname LIKE 'pg\_temp\_%' AND relrewrite <> 0;
SELECT reltuples, relallvisible = relpages AS all_visible, relpersistence
FROM pg_class WHERE oid = 'staged_t'::regclass;
SELECT count(*) > 0 AS has_statistics FROM pg_stats
WHERE tablename = 'staged_t' AND attname = 'k';

-- once more, by the strategy that auto takes, and by COPY
SELECT strategy, strategy_used, reason
FROM ingest_load('staged_t', :'file', 'format csv, strategy auto, mode replace, analyze off');
COPY staged_t FROM :'dup' (FORMAT csv, mode replace);
SELECT count(*), min(v) FROM staged_t WHERE id % 100 > 0;
COPY staged_t FROM STDIN (FORMAT csv, mode replace);
1,1,from the client
2,2,from the client
\.
TABLE staged_t;

-- several processes
SET ingest_tools.chunk_size = 4096;
SELECT strategy_used, rows_loaded, workers_used > 1 AS parallel, reason
FROM ingest_load('staged_t', :'file', 'format csv, strategy staged, mode replace, workers 3');
RESET ingest_tools.chunk_size;
SELECT count(*) FROM (TABLE staged_t EXCEPT ALL TABLE staged_copy) d;

-- what fails changes nothing
SELECT FROM ingest_load('staged_t', :'bad', 'format csv, strategy staged, mode replace');
SELECT FROM ingest_load('staged_t', :'dup', 'format csv, strategy staged, mode replace');
SELECT count(*) FROM (TABLE staged_t EXCEPT ALL TABLE staged_copy) d;
BEGIN;
SAVEPOINT s;
SELECT rows_loaded FROM ingest_load('staged_t', :'none', 'strategy staged, format csv, mode replace');
SELECT count(*) FROM staged_t;
ROLLBACK TO s;
SELECT count(*) FROM staged_t;
INSERT INTO staged_t VALUES (9000, 9, 'between');
SELECT rows_loaded FROM ingest_load('staged_t', :'file', 'strategy staged, format csv, mode replace');
INSERT INTO staged_t VALUES (9000, 9, 'after');
SELECT count(*) FROM staged_t;
ROLLBACK;
SELECT count(*) FROM staged_t WHERE id = 9000;
SELECT set_config('staged.none', :'none', false) <> '' AS ok;
DO $$
BEGIN
	PERFORM ingest_load('staged_t', current_setting('staged.none'), 'format csv, strategy staged, mode replace');
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
	RAISE WARNING 'rows: %', (SELECT count(*) FROM staged_t);
END $$;

-- partitions: all leaves of the target, no other
CREATE TABLE staged_p (id int, k int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE staged_p1 PARTITION OF staged_p FOR VALUES FROM (0) TO (1000);
CREATE TABLE staged_p2 (gone int, v text, k int, id int NOT NULL);
ALTER TABLE staged_p2 DROP gone;
ALTER TABLE staged_p ATTACH PARTITION staged_p2 FOR VALUES FROM (1000) TO (4000);
CREATE TABLE staged_p3 PARTITION OF staged_p DEFAULT;
INSERT INTO staged_p SELECT i, 0, 'old' FROM generate_series(1, 6000, 10) i;
SELECT strategy_used, rows_loaded
FROM ingest_load('staged_p', :'file', 'format csv, strategy staged, mode replace');
SELECT tableoid::regclass, count(*), min(id), max(id) FROM staged_p GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM (TABLE staged_p EXCEPT ALL TABLE staged_copy) d;
SELECT rows_loaded FROM ingest_load('staged_p1', :'none', 'format csv, strategy staged, mode replace');
SELECT tableoid::regclass, count(*) FROM staged_p GROUP BY 1 ORDER BY 1;
SELECT FROM ingest_load('staged_p1', :'file', 'format csv, strategy staged, mode replace');
-- locks that are held to the end
BEGIN;
SELECT FROM ingest_load('staged_p1', :'none', 'format csv, strategy staged, mode replace, analyze off');
SELECT relation::regclass, mode FROM pg_locks
WHERE pid = pg_backend_pid() AND relation::regclass::text LIKE 'staged\_p%'
	AND mode IN ('ShareUpdateExclusiveLock', 'AccessExclusiveLock')
	AND relation::regclass::text NOT LIKE '%key'
ORDER BY 1, 2;
ROLLBACK;

-- unlogged and temporary tables
CREATE UNLOGGED TABLE staged_u (LIKE staged_t INCLUDING ALL);
SELECT rows_loaded FROM ingest_load('staged_u', :'file', 'format csv, strategy staged, mode replace');
SELECT count(*) FROM (TABLE staged_u EXCEPT ALL TABLE staged_copy) d;
CREATE TEMP TABLE staged_temp (LIKE staged_t INCLUDING ALL);
SELECT rows_loaded FROM ingest_load('staged_temp', :'file', 'format csv, strategy staged, mode replace');
SELECT count(*) FROM (TABLE staged_temp EXCEPT ALL TABLE staged_copy) d;
SELECT relname, relpersistence FROM pg_class WHERE relname IN ('staged_u', 'staged_temp') ORDER BY 1;

-- foreign keys of the new rows are checked
CREATE TABLE staged_ref (k int PRIMARY KEY);
INSERT INTO staged_ref SELECT generate_series(0, 5);
CREATE TABLE staged_fk (id int PRIMARY KEY, k int REFERENCES staged_ref, v text);
INSERT INTO staged_fk VALUES (1, 1, 'old');
SELECT FROM ingest_load('staged_fk', :'file', 'format csv, strategy staged, mode replace');
TABLE staged_fk;
INSERT INTO staged_ref VALUES (6);
SELECT rows_loaded FROM ingest_load('staged_fk', :'file', 'format csv, strategy staged, mode replace');

-- what is refused
SELECT FROM ingest_load('staged_ref', :'none', 'format csv, strategy staged, mode replace');
SELECT FROM ingest_load('staged_t', :'none', 'format csv, mode replace');
SELECT FROM ingest_load('staged_t', :'none', 'format csv, strategy direct, mode replace');
SELECT FROM ingest_load('staged_t', :'none', 'format csv, strategy staged, mode replace, commit_rows 10');
SELECT FROM ingest_load('staged_t', :'none', 'format csv, strategy staged, mode sideways');
COPY staged_t FROM '/dev/null' (FORMAT csv, mode replace) WHERE id > 1;
\set VERBOSITY default
SELECT FROM ingest_load('staged_t', :'none', 'format binary, strategy staged, mode replace');
CREATE FUNCTION staged_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER tr BEFORE TRUNCATE ON staged_t EXECUTE FUNCTION staged_trigger();
SELECT FROM ingest_load('staged_t', :'none', 'format csv, strategy staged, mode replace');
DROP TRIGGER tr ON staged_t;
CREATE TABLE staged_d (id int UNIQUE DEFERRABLE);
SELECT FROM ingest_load('staged_d', :'none', 'format csv, strategy staged, mode replace');
BEGIN;
DECLARE c CURSOR FOR TABLE staged_t;
FETCH 1 FROM c;
SELECT FROM ingest_load('staged_t', :'none', 'format csv, strategy staged, mode replace');
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR TABLE staged_p;
FETCH 0 FROM c;
SELECT FROM ingest_load('staged_p', :'none', 'format csv, strategy staged, mode replace');
ROLLBACK;
CREATE ROLE regress_staged;
GRANT INSERT ON staged_t TO regress_staged;
GRANT pg_read_server_files TO regress_staged;
SET ROLE regress_staged;
SELECT FROM ingest_load('staged_t', :'none', 'format csv, strategy staged, mode replace');
RESET ROLE;
GRANT TRUNCATE ON staged_t TO regress_staged;
SET ROLE regress_staged;
SELECT rows_loaded FROM ingest_load('staged_t', :'none', 'format csv, strategy staged, mode replace, analyze off');
RESET ROLE;
SELECT relowner::regrole = current_user::regrole AS same_owner FROM pg_class WHERE oid = 'staged_t'::regclass;

-- rows that are added are not staged
SET client_min_messages = notice;
SELECT strategy_used, reason FROM ingest_load('staged_t', :'none', 'format csv, strategy staged, mode append');
SET client_min_messages = warning;

DROP OWNED BY regress_staged;
DROP ROLE regress_staged;
DROP TABLE staged_t, staged_copy, staged_p, staged_u, staged_temp, staged_fk, staged_ref, staged_d;
DROP FUNCTION staged_trigger();
