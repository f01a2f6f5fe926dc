-- ingest_load(): part of the caller's transaction, one report row.
CREATE TABLE load_t (id serial PRIMARY KEY, a int NOT NULL, b text DEFAULT 'none',
	c int GENERATED ALWAYS AS (a * 2) STORED, CHECK (a < 1000));

-- ids given, or taken from the sequence
SELECT strategy, rows_read, rows_loaded FROM ingest_load('load_t',
	'SELECT 100000 + g, g, ''given'' FROM generate_series(1, 3) g', 'strategy insert');
SELECT strategy, rows_read, rows_loaded FROM ingest_load('load_t',
	'SELECT g, ''sequence'' FROM generate_series(1, 3) g', 'strategy insert_prepared, columns (a, b)');
SELECT strategy, rows_read, rows_loaded FROM ingest_load('load_t',
	'SELECT g FROM generate_series(1, 3) g', 'strategy insert_values, columns (a)');
SELECT strategy, rows_read, rows_loaded FROM ingest_load('load_t',
	'SELECT g FROM generate_series(1, 3) g', 'strategy copy, columns (a)');
SELECT strategy, rows_read, rows_loaded FROM ingest_load('load_t',
	'SELECT g FROM generate_series(1, 3) g', 'strategy online, columns (a)');
SELECT * FROM load_t ORDER BY id;

-- the figures are there, and say nothing that was not measured
SELECT elapsed_ms > 0 AS elapsed, cpu_user_ms + cpu_system_ms >= 0 AS cpu,
	wal_records > 0 AS wal_records, wal_bytes > 0 AS wal_bytes,
	end_lsn > start_lsn AS lsn, shared_blks_hit > 0 AS hit,
	rows_per_second > 0 AS rate, verified, waits, blk_read_time, reason
FROM ingest_load('load_t', 'SELECT g FROM generate_series(1, 100) g',
	'strategy online, columns (a)');
SELECT r->>'relation' AS relation, r->>'kind' AS kind, (r->>'blks_hit')::int > 0 AS hit,
	(r->>'wal_records')::int > 0 AS wal
FROM ingest_last_report() l, jsonb_array_elements(l.relations) r
WHERE r->>'kind' IN ('heap', 'index') ORDER BY 1;
SELECT string_agg(p->>'phase', ' ') AS phases
FROM ingest_last_report() l, jsonb_array_elements(l.phases) p;

-- an error undoes all of it
\set VERBOSITY terse
SELECT count(*) FROM load_t;
SELECT ingest_load('load_t', 'SELECT g FROM generate_series(990, 1010) g', 'strategy online, columns (a)');
SELECT ingest_load('load_t', 'SELECT NULL::int', 'strategy online, columns (a)');
SELECT ingest_load('load_t', 'SELECT 100001, 1', 'strategy online, columns (id, a)');
SELECT count(*) FROM load_t;

-- savepoints, rollback, EXCEPTION
BEGIN;
SELECT rows_loaded FROM ingest_load('load_t', 'SELECT 1', 'strategy online, columns (a)');
SAVEPOINT s;
SELECT rows_loaded FROM ingest_load('load_t', 'SELECT 2', 'strategy online, columns (a)');
ROLLBACK TO s;
SELECT rows_loaded FROM ingest_load('load_t', 'SELECT 3', 'strategy copy, columns (a)');
SELECT count(*) FROM load_t;
ROLLBACK;
SELECT count(*) FROM load_t;
SELECT rows_loaded, strategy FROM ingest_last_report();
DO $$
BEGIN
	BEGIN
		PERFORM ingest_load('load_t', 'SELECT g FROM generate_series(1, 2000) g', 'strategy online, columns (a)');
	EXCEPTION WHEN check_violation THEN
		RAISE NOTICE 'caught';
	END;
	PERFORM ingest_load('load_t', 'SELECT 5', 'strategy online, columns (a)');
END $$;
SELECT count(*) FROM load_t;

-- triggers that change and suppress rows
CREATE FUNCTION load_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.a = 2 THEN
		RETURN NULL;
	END IF;
	NEW.b := 'trigger';
	RETURN NEW;
END $$;
CREATE TRIGGER load_trigger BEFORE INSERT ON load_t FOR EACH ROW EXECUTE FUNCTION load_trigger();
TRUNCATE load_t;
SELECT s.strategy, r.rows_read, r.rows_loaded, r.rows_filtered
FROM ingest_strategies() s,
	LATERAL ingest_load('load_t', 'SELECT g FROM generate_series(1, 3) g',
		format('strategy %s, columns (a)', s.strategy)) r;
SELECT a, b, count(*) FROM load_t GROUP BY a, b ORDER BY a, b;

-- rules: COPY does not follow them
CREATE RULE load_rule AS ON INSERT TO load_t DO ALSO SELECT 1;
SELECT strategy, strategy_used, rows_loaded FROM ingest_load('load_t', 'SELECT 1', 'strategy insert, columns (a)');
SELECT rows_loaded FROM ingest_load('load_t', 'SELECT 1', 'strategy online, columns (a)');
DROP RULE load_rule ON load_t;

-- temporary and unlogged tables
CREATE TEMP TABLE load_temp (a int);
CREATE UNLOGGED TABLE load_unlogged (a int);
SELECT s.strategy, t.rows_loaded, u.rows_loaded
FROM ingest_strategies() s,
	LATERAL ingest_load('load_temp', 'SELECT 1', 'strategy ' || s.strategy) t,
	LATERAL ingest_load('load_unlogged', 'SELECT 1', 'strategy ' || s.strategy) u;
SELECT local_blks_hit > 0 AS local FROM ingest_load('load_temp', 'SELECT 1', 'strategy online');
SELECT ingest_load('load_temp', 'SELECT 1', 'workers 2');

-- read-only
BEGIN READ ONLY;
SELECT ingest_load('load_t', 'SELECT 1', 'columns (a)');
ROLLBACK;

-- in sessions of their own, the caller's ROLLBACK does not undo it
TRUNCATE load_unlogged;
BEGIN;
SELECT workers, workers_used, rows_loaded, commits FROM ingest_load('load_unlogged',
	'SELECT g FROM generate_series(1, 1000) g', 'strategy online, workers 2, commit_rows 100');
ROLLBACK;
SELECT count(*) FROM load_unlogged;

-- rows that are a multiple of commit_rows: no transaction without rows at the end
CREATE TABLE load_commits (a int);
CREATE TABLE load_log (n int);
CREATE FUNCTION load_note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO load_log VALUES (1); RETURN NULL; END';
CREATE TRIGGER load_note AFTER INSERT ON load_commits EXECUTE FUNCTION load_note();
DO $$
DECLARE
	s text;
	r record;
	n int;
BEGIN
	FOREACH s IN ARRAY '{copy,online,insert_values}'::text[] LOOP
		FOR rows IN 29..31 LOOP
			SELECT * FROM ingest_load('load_commits', format('SELECT g FROM generate_series(1, %s) g', rows),
				'commit_rows 10, batch_rows 10, strategy ' || s) INTO r;
			SELECT count(*) FROM load_log INTO n;
			RAISE NOTICE '%: % rows, % commits, % statements', s, r.rows_loaded, r.commits, n;
			DELETE FROM load_log;
		END LOOP;
	END LOOP;
END $$;

DROP TABLE load_t, load_temp, load_unlogged, load_commits, load_log;
DROP FUNCTION load_note;
DROP FUNCTION load_trigger;
