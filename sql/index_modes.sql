-- Ways to fill the indexes of a direct load: each leaves the rows and the index
-- entries that COPY leaves, or its error, and the report says what was done.
\getenv abs_builddir PG_ABS_BUILDDIR
\set rows :abs_builddir '/results/index_modes.csv'
\set twice :abs_builddir '/results/index_modes_twice.csv'
SET client_min_messages = warning;
-- so small that several processes take part
SET ingest_tools.chunk_size = 4000;
SET maintenance_work_mem = '4MB';

COPY (SELECT i, i * 7919 % 20011, md5(i::text), i % 7, nullif(i % 5, 0), i / 4.0,
		format('[%s,%s)', i * 2, i * 2 + 1), format('(%s,%s)', i % 97, i), format('{%s,%s}', i % 10, i),
		format('Name %s', i)
	FROM generate_series(1, 4000) i) TO :'rows' (FORMAT csv);
-- the last row has the id of the first
COPY (SELECT i, i, md5(i::text), i % 7, i, i, format('[%s,%s)', i * 2, i * 2 + 1), '(1,2)', '{1}', i
	FROM generate_series(10001, 13000) i UNION ALL
	SELECT 10001, -1, 'x', 0, -1, 0, '[-9,-8)', '(1,2)', '{1}', -1) TO :'twice' (FORMAT csv);

CREATE FUNCTION serial_lower(text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS
	'BEGIN RETURN lower($1); END';
CREATE TABLE modes_t (id int PRIMARY KEY, a int UNIQUE, b text, few int, half int, n numeric, r int4range,
	p point, l int[], c text);
CREATE UNIQUE INDEX modes_include ON modes_t (b COLLATE "C" DESC) INCLUDE (n);
CREATE UNIQUE INDEX modes_nulls ON modes_t (half, id) NULLS NOT DISTINCT;
CREATE INDEX modes_few ON modes_t (few);
CREATE INDEX modes_half ON modes_t (half DESC NULLS FIRST);
CREATE INDEX modes_two ON modes_t (few, n DESC);
CREATE INDEX modes_partial ON modes_t (n) WHERE few = 3;
CREATE INDEX modes_expression ON modes_t (lower(b), (a + id));
CREATE INDEX modes_serial ON modes_t (serial_lower(b));
CREATE INDEX modes_hash ON modes_t USING hash (a);
CREATE INDEX modes_gin ON modes_t USING gin (l);
CREATE INDEX modes_gist ON modes_t USING gist (p);
CREATE INDEX modes_spgist ON modes_t USING spgist (p);
CREATE INDEX modes_brin ON modes_t USING brin (id) WITH (pages_per_range = 4);
ALTER TABLE modes_t ADD CONSTRAINT modes_exclude EXCLUDE USING gist (r WITH &&),
	ADD CONSTRAINT modes_deferrable UNIQUE (n) DEFERRABLE;
-- a collation that is not deterministic, if the server has ICU
DO $$
BEGIN
	CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	CREATE INDEX modes_any_case ON modes_t (c COLLATE any_case);
EXCEPTION WHEN feature_not_supported THEN
	CREATE INDEX modes_any_case ON modes_t (c);
END $$;
CREATE TABLE modes_expected (LIKE modes_t);
COPY modes_expected FROM :'rows' (FORMAT csv);

-- what an index scan finds for each index, and the rows that are not COPY's
CREATE FUNCTION modes_check(OUT different bigint, OUT entries bigint[])
LANGUAGE plpgsql SET enable_sort = off AS $$
DECLARE
	condition text;
	n bigint;
BEGIN
	SELECT count(*) FROM ((SELECT x::text FROM modes_t x EXCEPT ALL SELECT x::text FROM modes_expected x)
		UNION ALL (SELECT x::text FROM modes_expected x EXCEPT ALL SELECT x::text FROM modes_t x)) y INTO different;
	SET LOCAL enable_seqscan = off;
	FOREACH condition IN ARRAY ARRAY['id >= 0', 'a >= 0', 'b COLLATE "C" > ''''', 'half = 2 AND id > 0', 'few = 5',
		'half IS NULL', 'few = 2 AND n > 100', 'few = 3 AND n > 0', 'lower(b) > ''''', 'serial_lower(b) > ''''',
		'a = 7919', 'l @> ''{3}''', 'p <@ ''(10,0),(20,4000)''::box', 'id BETWEEN 100 AND 200', 'r && ''[100,200)''',
		'n BETWEEN 10 AND 20']
	LOOP
		EXECUTE format('SELECT count(*) FROM modes_t WHERE %s', condition) INTO n;
		entries := entries || n;
	END LOOP;
	SET LOCAL enable_seqscan = on;
END $$;

-- load into the empty table, and say what was done with each index
CREATE FUNCTION modes_load(file text, options text, OUT workers int, OUT uses text[])
LANGUAGE plpgsql AS $$
BEGIN
	SELECT r.workers_used, array(SELECT format('%s: %s%s%s', replace(j->>'relation', 'modes_', ''), j->>'index_mode',
				CASE WHEN (j->>'leaf_batches')::bool THEN ', leaf batches' END, ', ' || (j->>'index_reason'))
			FROM jsonb_array_elements(r.relations) j WHERE j->>'kind' = 'index' AND j->>'relation' <> 'modes_any_case'
			ORDER BY j->>'relation' COLLATE "C")
		FROM ingest_load('modes_t', file, 'format csv, strategy direct, ' || options) r INTO workers, uses;
END $$;

COPY modes_t FROM :'rows' (FORMAT csv);
SELECT * FROM modes_check();
TRUNCATE modes_t;

SELECT workers, unnest(uses) FROM modes_load(:'rows', 'workers 3, index_mode row');
SELECT * FROM modes_check();
TRUNCATE modes_t;
SELECT workers, unnest(uses) FROM modes_load(:'rows', 'workers 3, index_mode sorted');
SELECT * FROM modes_check();
TRUNCATE modes_t;
SELECT workers, unnest(uses) FROM modes_load(:'rows', 'workers 3, index_mode rebuild');
SELECT * FROM modes_check();
TRUNCATE modes_t;
SET ingest_tools.leaf_batches = off;
SELECT workers, unnest(uses) FROM modes_load(:'rows', 'workers 3, index_mode auto');
SELECT * FROM modes_check();
RESET ingest_tools.leaf_batches;

-- by one process
TRUNCATE modes_t;
SELECT workers FROM modes_load(:'rows', 'index_mode row');
SELECT * FROM modes_check();
TRUNCATE modes_t;
SELECT workers FROM modes_load(:'rows', 'index_mode sorted');
SELECT * FROM modes_check();
TRUNCATE modes_t;
SELECT workers FROM modes_load(:'rows', 'index_mode rebuild');
SELECT * FROM modes_check();

-- what no one else sees is built anew unless told otherwise
BEGIN;
TRUNCATE modes_t;
SELECT workers, unnest(uses) FROM modes_load(:'rows', 'workers 2');
COMMIT;
SELECT * FROM modes_check();
BEGIN;
TRUNCATE modes_t;
INSERT INTO modes_t TABLE modes_expected;
DELETE FROM modes_t;
SELECT DISTINCT split_part(unnest(uses), ' ', 2) FROM modes_load(:'rows', 'workers 2');
COMMIT;
SELECT * FROM modes_check();

-- onto dead rows, and over what an aborted load has left
CREATE FUNCTION modes_dead() RETURNS void LANGUAGE sql AS
	'TRUNCATE modes_t; INSERT INTO modes_t SELECT * FROM modes_expected; DELETE FROM modes_t';
SELECT modes_dead();
SELECT DISTINCT split_part(unnest(uses), ' ', 2) AS mode FROM modes_load(:'rows', 'workers 2, index_mode row') ORDER BY 1;
SELECT * FROM modes_check();
SELECT modes_dead();
SELECT DISTINCT split_part(unnest(uses), ' ', 2) AS mode FROM modes_load(:'rows', 'workers 2, index_mode sorted') ORDER BY 1;
SELECT * FROM modes_check();
SELECT modes_dead();
SELECT DISTINCT split_part(unnest(uses), ' ', 2) AS mode FROM modes_load(:'rows', 'workers 2, index_mode rebuild') ORDER BY 1;
SELECT * FROM modes_check();
TRUNCATE modes_t;
BEGIN;
SELECT workers FROM modes_load(:'rows', 'workers 2, index_mode sorted');
ROLLBACK;
SELECT workers FROM modes_load(:'rows', 'workers 2, index_mode rebuild');
SELECT * FROM modes_check();
BEGIN;
TRUNCATE modes_t;
SAVEPOINT s;
SELECT workers FROM modes_load(:'rows', 'workers 2, index_mode rebuild');
ROLLBACK TO s;
SELECT count(*) FROM modes_t;
SELECT workers FROM modes_load(:'rows', 'workers 2, index_mode row');
COMMIT;
SELECT * FROM modes_check();

-- duplicates within the file, in different processes' parts; then with the table
CREATE FUNCTION modes_error(command text, OUT state text, OUT message text, OUT detail text, OUT constraint_name text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
EXCEPTION WHEN integrity_constraint_violation THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		constraint_name = CONSTRAINT_NAME;
END $$;
CREATE TABLE ways (way text);
INSERT INTO ways VALUES ('row'), ('sorted'), ('rebuild'), ('auto');
ALTER TABLE modes_t DROP CONSTRAINT modes_deferrable, DROP CONSTRAINT modes_exclude, DROP CONSTRAINT modes_t_a_key;
SELECT e.* FROM modes_error(format('COPY modes_t FROM %L (FORMAT csv)', :'twice')) e;
SELECT w.way, workers, e.* FROM ways w, generate_series(1, 2) workers, modes_error(format(
	'SELECT * FROM ingest_load(''modes_t'', %L, ''format csv, strategy direct, workers %s, index_mode %s'')',
	:'twice', workers, w.way)) e ORDER BY 1, 2;
TRUNCATE modes_t;
SELECT w.way, workers, e.* FROM ways w, generate_series(1, 2) workers, modes_error(format(
	'SELECT * FROM ingest_load(''modes_t'', %L, ''format csv, strategy direct, workers %s, index_mode %s'')',
	:'twice', workers, w.way)) e ORDER BY 1, 2;
INSERT INTO modes_t VALUES (4000, 1, 'y', 0, 99);
SELECT e.* FROM modes_error(format('COPY modes_t FROM %L (FORMAT csv)', :'rows')) e;
SELECT w.way, workers, e.* FROM ways w, generate_series(1, 2) workers, modes_error(format(
	'SELECT * FROM ingest_load(''modes_t'', %L, ''format csv, strategy direct, workers %s, index_mode %s'')',
	:'rows', workers, w.way)) e ORDER BY 1, 2;
SELECT count(*), min(id) FROM modes_t;

-- only the owner's indexes are built anew, and none that a cursor uses
CREATE ROLE regress_modes;
GRANT INSERT ON modes_t TO regress_modes;
GRANT pg_read_server_files TO regress_modes;
TRUNCATE modes_t;
SET ROLE regress_modes;
SELECT unnest(uses) FROM modes_load(:'rows', 'index_mode rebuild');
RESET ROLE;
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
DECLARE c CURSOR FOR SELECT id FROM modes_t WHERE id > 5000 ORDER BY id;
FETCH c;
DELETE FROM modes_t;
SELECT unnest(uses) FROM modes_load(:'rows', 'index_mode rebuild');
COMMIT;
SELECT count(*) FROM modes_t WHERE id > 0;
REVOKE pg_read_server_files FROM regress_modes;
DROP TABLE modes_t, modes_expected, ways;
DROP ROLE regress_modes;
DROP FUNCTION serial_lower, modes_check, modes_load, modes_dead, modes_error;
DROP COLLATION IF EXISTS any_case;
