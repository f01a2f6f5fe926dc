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

-- a new partition, attached in the same transaction
BEGIN;
CREATE TABLE staged_p4 (LIKE staged_p INCLUDING ALL, CHECK (id >= 4000 AND id < 9000));
COPY (SELECT i, i, 'new' FROM generate_series(4000, 4999) i) TO :'dup' (FORMAT csv);
SELECT rows_loaded FROM ingest_load('staged_p4', :'dup', 'format csv, strategy staged, mode replace');
ALTER TABLE staged_p ATTACH PARTITION staged_p4 FOR VALUES FROM (4000) TO (9000);
SELECT relation::regclass, mode FROM pg_locks
WHERE pid = pg_backend_pid() AND relation::regclass::text IN ('staged_p', 'staged_p1', 'staged_p2')
	AND mode NOT IN ('AccessShareLock', 'RowExclusiveLock')
ORDER BY 1, 2;
COMMIT;
SELECT tableoid::regclass, count(*) FROM staged_p GROUP BY 1 ORDER BY 1;
SELECT relallvisible = relpages AS frozen, reltuples FROM pg_class WHERE oid = 'staged_p4'::regclass;
COPY (SELECT i % 400, i, 'x' FROM generate_series(1, 500) i) TO :'dup' (FORMAT csv);

-- every kind of index, and what belongs to a table beside its rows
CREATE TABLE staged_i (id int, k int, v text, r int4range, p point, n int);
ALTER TABLE staged_i ADD CONSTRAINT staged_i_key UNIQUE (id) INCLUDE (k);
CREATE INDEX staged_i_hash ON staged_i USING hash (k);
CREATE INDEX staged_i_gin ON staged_i USING gin (string_to_array(v, ' '));
CREATE INDEX staged_i_gist ON staged_i USING gist (p);
CREATE INDEX staged_i_spgist ON staged_i USING spgist (v text_ops);
CREATE INDEX staged_i_brin ON staged_i USING brin (id int4_minmax_ops) WITH (pages_per_range = 4);
CREATE INDEX staged_i_desc ON staged_i (k DESC NULLS LAST, v COLLATE "C") WITH (fillfactor = 70);
CREATE UNIQUE INDEX staged_i_partial ON staged_i (n) NULLS NOT DISTINCT WHERE id > 10;
CREATE INDEX staged_i_expression ON staged_i ((id % 10));
ALTER TABLE staged_i ALTER id SET STATISTICS 7;
ALTER TABLE staged_i ADD CONSTRAINT staged_i_excl EXCLUDE USING gist (r WITH &&);
INSERT INTO staged_i SELECT i, i, 'old', int4range(i, i + 1), point(i, i), i FROM generate_series(1, 50) i;
ANALYZE staged_i;
\set kinds :abs_builddir '/results/staged_kinds.csv'
COPY (SELECT i, i % 7, CASE WHEN i % 100 = 0 THEN repeat(i || ' ', 5000) ELSE 'row ' || i END,
	int4range(i, i + 1), point(i, -i), nullif(i, 2000) FROM generate_series(1, 3000) i) TO :'kinds' (FORMAT csv);
CREATE TEMP VIEW staged_i_catalog AS
	SELECT c.relname, pg_get_indexdef(c.oid) AS def, i.indisvalid, i.indisready, i.indislive, i.indisunique,
		d.conname, d.contype, c.relam, c.reloptions
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_constraint d ON d.conindid = i.indexrelid
	WHERE i.indrelid = 'staged_i'::regclass;
CREATE TEMP TABLE staged_i_catalog_before AS TABLE staged_i_catalog;
SELECT rows_loaded FROM ingest_load('staged_i', :'kinds', 'format csv, strategy staged, mode replace');
SELECT count(*) FROM (TABLE staged_i_catalog EXCEPT TABLE staged_i_catalog_before) d;
SET enable_seqscan = off;
SELECT count(*) FROM staged_i WHERE id BETWEEN 1000 AND 1009;
SELECT count(*) FROM staged_i WHERE k = 5;
SELECT count(*) FROM staged_i WHERE string_to_array(v, ' ') @> '{1700}';
SELECT count(*) FROM staged_i WHERE p <@ box '(10,-10),(20,-20)';
SELECT count(*) FROM staged_i WHERE v = 'row 17';
SELECT count(*) FROM staged_i WHERE k = 5 AND v COLLATE "C" = 'row 12';
SELECT count(*) FROM staged_i WHERE n IS NULL AND id > 10;
SELECT count(*) FROM staged_i WHERE r && int4range(100, 110);
SELECT count(*) FROM staged_i WHERE id % 10 = 3;
SET enable_indexscan = off;
SELECT count(*) FROM staged_i WHERE id BETWEEN 1000 AND 1009;
RESET enable_indexscan;
RESET enable_seqscan;
SELECT relname, reltuples FROM pg_class WHERE relname IN ('staged_i', 'staged_i_key', 'staged_i_partial') ORDER BY 1;
SELECT tablename, attname, n_distinct, array_length(histogram_bounds, 1) AS bounds, array_length(most_common_vals, 1) AS common
FROM pg_stats WHERE tablename IN ('staged_i', 'staged_i_expression')
	AND attname IN ('id', 'k', 'expr') ORDER BY 1, 2;
-- the report knows the table and its indexes, and nothing else
SELECT r->>'relation' AS relation, r->>'kind' AS kind, r->>'index_mode' AS index_mode
FROM ingest_load('staged_i', :'kinds', 'format csv, strategy staged, mode replace, analyze off') l,
	json_array_elements(l.relations::json) r ORDER BY 1, 2;
-- each constraint by its own name and with COPY's error
\set VERBOSITY default
\set wrong :abs_builddir '/results/staged_wrong.csv'
COPY (SELECT i % 2, i, 'x', int4range(i, i + 1), NULL, i FROM generate_series(1, 3) i) TO :'wrong' (FORMAT csv);
SELECT FROM ingest_load('staged_i', :'wrong', 'format csv, strategy staged, mode replace');
COPY (SELECT i, i, 'x', int4range(i, i + 1), NULL, NULL FROM generate_series(11, 13) i) TO :'wrong' (FORMAT csv);
SELECT FROM ingest_load('staged_i', :'wrong', 'format csv, strategy staged, mode replace');
COPY (SELECT i, i, 'x', int4range(i, i + 2), NULL, i FROM generate_series(1, 3) i) TO :'wrong' (FORMAT csv);
SELECT FROM ingest_load('staged_i', :'wrong', 'format csv, strategy staged, mode replace');
\set VERBOSITY terse
SELECT count(*) FROM staged_i;
-- statistics of several columns, and options, which only the table has
ALTER INDEX staged_i_expression ALTER COLUMN 1 SET STATISTICS 3;
SELECT rows_loaded FROM ingest_load('staged_i', :'kinds', 'format csv, strategy staged, mode replace');
SELECT array_length(most_common_vals, 1) AS common FROM pg_stats WHERE tablename = 'staged_i_expression';
ALTER INDEX staged_i_expression ALTER COLUMN 1 SET STATISTICS -1;
ALTER TABLE staged_i ALTER k SET (n_distinct = 1234);
SELECT rows_loaded FROM ingest_load('staged_i', :'kinds', 'format csv, strategy staged, mode replace');
SELECT n_distinct FROM pg_stats WHERE tablename = 'staged_i' AND attname = 'k';
ALTER TABLE staged_i ALTER k RESET (n_distinct);
CREATE STATISTICS staged_i_stats ON id, k FROM staged_i;
SELECT rows_loaded FROM ingest_load('staged_i', :'kinds', 'format csv, strategy staged, mode replace');
SELECT count(*) FROM pg_statistic_ext_data d JOIN pg_statistic_ext s ON s.oid = d.stxoid WHERE stxname = 'staged_i_stats';
-- an index that is not ready is left alone, one that is but is not valid is filled
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'staged_i_desc'::regclass;
UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = 'staged_i_hash'::regclass;
SELECT rows_loaded FROM ingest_load('staged_i', :'none', 'format csv, strategy staged, mode replace');
SELECT relname, indisvalid, indisready FROM staged_i_catalog WHERE relname IN ('staged_i_desc', 'staged_i_hash') ORDER BY 1;
SELECT pg_relation_size('staged_i_desc') = 8192 AS is_empty, pg_relation_size('staged_i_hash') > 100000 AS has_old_content;
REINDEX TABLE staged_i;
SELECT count(*) FROM (TABLE staged_i_catalog EXCEPT TABLE staged_i_catalog_before) d;
-- a TOAST table belongs to its table, and is gone with it
SELECT t.relname = 'pg_toast_' || c.oid AS named, i.relname = 'pg_toast_' || c.oid || '_index' AS index_named, t.relrewrite
FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid
JOIN pg_index x ON x.indrelid = t.oid JOIN pg_class i ON i.oid = x.indexrelid WHERE c.relname = 'staged_i';
SELECT reltoastrelid AS toast FROM pg_class WHERE relname = 'staged_i' \gset
DROP VIEW staged_i_catalog;
DROP TABLE staged_i;
SELECT count(*) FROM pg_class WHERE oid = :toast;

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
CREATE FUNCTION staged_index() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN CREATE INDEX staged_new ON staged_p1 (v); RETURN NULL; END';
CREATE TRIGGER tr BEFORE INSERT ON staged_p EXECUTE FUNCTION staged_index();
SELECT FROM ingest_load('staged_p', :'none', 'format csv, strategy staged, mode replace');
DROP TRIGGER tr ON staged_p;
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

SELECT set_config('staged.dup', :'dup', false) <> '' AS ok;

-- mode append: rows are staged, then added
SET ingest_tools.chunk_size = 4096;
CREATE TABLE staged_a (id int, k int, v text, UNIQUE (id, k)) PARTITION BY RANGE (id);
CREATE TABLE staged_a1 PARTITION OF staged_a FOR VALUES FROM (0) TO (1000);
CREATE TABLE staged_a2 (gone int, v text, k int, id int);
ALTER TABLE staged_a2 DROP gone;
ALTER TABLE staged_a ATTACH PARTITION staged_a2 DEFAULT;
ALTER TABLE staged_a2 ALTER v SET STORAGE external;
CREATE INDEX ON staged_a (k);
CREATE INDEX ON staged_a USING gin (string_to_array(left(v, 100), ' '));
CREATE INDEX staged_a_long ON staged_a (md5(v));
INSERT INTO staged_a SELECT i, -1, repeat('old ', 3000) FROM generate_series(1, 4000, 100) i;
CREATE TEMP TABLE staged_a_before AS TABLE staged_a;
SELECT strategy_used, reason, rows_read, rows_loaded, workers_used > 1 AS parallel
FROM ingest_load('staged_a', :'file', 'format csv, strategy staged, workers 3');
SELECT count(*) FROM (TABLE staged_a EXCEPT ALL (TABLE staged_copy UNION ALL TABLE staged_a_before)) d;
SELECT count(*) FROM ((TABLE staged_copy UNION ALL TABLE staged_a_before) EXCEPT ALL TABLE staged_a) d;
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM staged_a WHERE k >= -1;
SELECT count(*) FROM staged_a WHERE string_to_array(left(v, 100), ' ') @> '{17}';
SELECT count(*) FROM staged_a a JOIN staged_copy c ON md5(a.v) = md5(c.v) AND a.id = c.id;
RESET enable_seqscan;
SELECT count(*) FROM pg_class WHERE relrewrite <> 0 OR relname LIKE 'pg\_temp\_%';
SELECT r->>'relation' AS relation, r->>'kind' AS kind, r->>'index_mode' AS index_mode, (r->>'wal_records')::int > 0 AS wal
FROM ingest_load('staged_a2', :'none', 'format csv, strategy staged') l, json_array_elements(l.relations::json) r ORDER BY 1, 2;
-- a file that is bad leaves no trace in the table: not a page
CREATE TEMP VIEW staged_a_size AS SELECT sum(pg_total_relation_size(relid)) AS bytes FROM pg_partition_tree('staged_a');
SELECT bytes FROM staged_a_size \gset
\set VERBOSITY default
SELECT FROM ingest_load('staged_a', :'file', 'format csv, strategy staged');
\set VERBOSITY terse
SELECT FROM ingest_load('staged_a', :'bad', 'format csv, strategy staged, workers 2');
COPY (SELECT i % 3000 + 5000, 1, 'x' FROM generate_series(1, 3001) i) TO :'dup' (FORMAT csv);
SELECT FROM ingest_load('staged_a', :'dup', 'format csv, strategy staged, workers 2');
SELECT bytes = :bytes AS same_size FROM staged_a_size;
-- but one that direct loads does
SELECT FROM ingest_load('staged_a', :'dup', 'format csv, strategy direct');
SELECT bytes > :bytes AS larger FROM staged_a_size;
-- keys that mix with those of the table, descending, of several columns, NULL
CREATE TABLE staged_m (a int, b text, c int, UNIQUE (a, b), UNIQUE (c));
CREATE UNIQUE INDEX staged_m_desc ON staged_m (c DESC, a) WHERE a % 2 = 0;
CREATE UNIQUE INDEX staged_m_low ON staged_m (lower(b), a);
INSERT INTO staged_m SELECT i / 10, 'b' || i, i FROM generate_series(1, 2000, 2) i;
INSERT INTO staged_m VALUES (NULL, NULL, NULL);
COPY (SELECT i / 10, 'b' || i, i FROM generate_series(2, 3000, 2) i UNION ALL SELECT NULL, NULL, NULL) TO :'dup' (FORMAT csv);
SELECT rows_loaded FROM ingest_load('staged_m', :'dup', 'format csv, strategy staged');
SELECT count(*), count(DISTINCT c), sum(c) FROM staged_m;
\set VERBOSITY default
DO $$
DECLARE
	i int;
	file text := current_setting('staged.dup');
	bytes bigint := pg_total_relation_size('staged_m');
	message text;
BEGIN
	FOREACH i IN ARRAY ARRAY[1, 2, 999, 1000, 1999, 2000, 2998, 3000] LOOP
		EXECUTE format('COPY (SELECT * FROM (SELECT 10000 + g, ''new'' || g, 10000 + g FROM generate_series(1, 100) g
			UNION ALL SELECT a, b, -c FROM staged_m WHERE c = %s AND a IS NOT NULL
			UNION ALL SELECT -g, ''new'' || g, -10000 - g FROM generate_series(1, 100) g) x) TO %L (FORMAT csv)', i, file);
		BEGIN
			PERFORM ingest_load('staged_m', file, 'format csv, strategy staged');
			RAISE WARNING 'key % was not found', i;
		EXCEPTION WHEN unique_violation THEN
			GET STACKED DIAGNOSTICS message = CONSTRAINT_NAME;
			IF pg_total_relation_size('staged_m') <> bytes THEN
				RAISE WARNING 'key % was found late', i;
			END IF;
		END;
	END LOOP;
END $$;
\set VERBOSITY terse
-- within a transaction, over a savepoint, into rows of its own
BEGIN;
SELECT rows_loaded FROM ingest_load('staged_a', :'none', 'format csv, strategy staged');
TRUNCATE staged_a;
SELECT rows_loaded FROM ingest_load('staged_a', :'file', 'format csv, strategy staged');
SAVEPOINT s;
SELECT FROM ingest_load('staged_a', :'file', 'format csv, strategy staged');
ROLLBACK TO s;
DELETE FROM staged_a WHERE id % 2 = 0;
COPY (SELECT * FROM staged_copy WHERE id % 2 = 0) TO :'dup' (FORMAT csv);
COPY staged_a FROM :'dup' (FORMAT csv, STRATEGY staged, WORKERS 2);
COMMIT;
SELECT count(*) FROM (TABLE staged_a EXCEPT ALL TABLE staged_copy) d;
-- foreign keys, deferrable and exclusion constraints, triggers of statements
CREATE TABLE staged_c (id int UNIQUE DEFERRABLE INITIALLY DEFERRED, k int REFERENCES staged_ref, v text,
	EXCLUDE (id WITH =));
CREATE FUNCTION staged_statement() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN RAISE WARNING ''% %: % rows'', TG_WHEN, TG_OP, (SELECT count(*) FROM staged_c); RETURN NULL; END';
CREATE TRIGGER before BEFORE INSERT ON staged_c EXECUTE FUNCTION staged_statement();
CREATE TRIGGER after AFTER INSERT ON staged_c EXECUTE FUNCTION staged_statement();
SELECT rows_loaded FROM ingest_load('staged_c', :'file', 'format csv, strategy staged');
SELECT FROM ingest_load('staged_c', :'file', 'format csv, strategy staged');
SELECT count(*) FROM staged_c;
-- unlogged and temporary tables, and one that cannot be staged
SELECT rows_loaded FROM ingest_load('staged_u', :'none', 'format csv, strategy staged');
TRUNCATE staged_u, staged_temp;
SELECT rows_loaded FROM ingest_load('staged_u', :'file', 'format csv, strategy staged');
SELECT rows_loaded FROM ingest_load('staged_temp', :'file', 'format csv, strategy staged');
SELECT count(*) FROM (TABLE staged_u EXCEPT ALL TABLE staged_temp) d;
CREATE FUNCTION staged_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER tr BEFORE INSERT ON staged_u FOR EACH ROW EXECUTE FUNCTION staged_row();
SELECT strategy_used, reason FROM ingest_load('staged_u', :'none', 'format csv, strategy staged');
-- benches: what a run leaves is what COPY leaves, in an empty table for mode replace
SELECT strategy, strategy_used, workers_used, rows_loaded, verified
FROM ingest_bench('staged_a', :'file', strategies => '{staged}', workers => '{1,2}');
SELECT strategy, strategy_used, workers_used, rows_loaded, verified
FROM ingest_bench('staged_a', :'file', 'format csv, mode replace, analyze off', workers => '{1,2}', preload => 100);
RESET ingest_tools.chunk_size;

DROP OWNED BY regress_staged;
DROP ROLE regress_staged;
DROP TABLE staged_t, staged_copy, staged_p, staged_u, staged_temp, staged_fk, staged_ref, staged_d, staged_a, staged_m, staged_c CASCADE;
DROP FUNCTION staged_trigger(), staged_index(), staged_statement(), staged_row();
