-- Sources: files, programs, queries, generated rows.
CREATE TABLE source_t (id int, name text);
\getenv abs_srcdir PG_ABS_SRCDIR
\set file :abs_srcdir '/test/data/two_rows.csv'
\set empty :abs_srcdir '/test/data/empty.csv'
\set header :abs_srcdir '/test/data/header_only.csv'

CREATE FUNCTION load(source text, options text DEFAULT 'format csv, strategy online')
RETURNS TABLE (rows_read bigint, rows_loaded bigint, table_rows bigint)
LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE source_t;
	SELECT r.rows_read, r.rows_loaded FROM ingest_load('source_t', source, options) r
	INTO rows_read, rows_loaded;
	SELECT count(*) FROM source_t INTO table_rows;
	RETURN NEXT;
END $$;

SELECT * FROM load(:'file');
SELECT * FROM source_t;
SELECT * FROM load(:'empty');
SELECT * FROM load(:'header', 'format csv, header, strategy copy');
SELECT * FROM load(:'header', 'format csv, header, strategy online');

SELECT * FROM load('program:echo 5,five');
SELECT * FROM load('SELECT g, NULL FROM generate_series(1, 3) g');
SELECT * FROM source_t;
SELECT * FROM load('VALUES (1, ''''), (2, ''a"b,c'')');
SELECT *, name IS NULL AS is_null FROM source_t;
SELECT * FROM load('WITH x AS (SELECT 1, ''with'') SELECT * FROM x');
SELECT * FROM load('query:SELECT 1, ''prefix''');
SELECT * FROM load('TABLE source_t');

-- the query sees what its transaction has done, and its errors are its own
BEGIN;
CREATE TEMP TABLE source_temp AS SELECT 1 AS id, 'temp'::text AS name;
SELECT * FROM load('TABLE source_temp');
ROLLBACK;
\set VERBOSITY terse
SELECT * FROM load('SELECT 1/0, 1');
SELECT * FROM load('SELECT 1');
SELECT * FROM load('SELECT 1, 2, 3');
SELECT * FROM load('query:DELETE FROM source_t');
SELECT * FROM load('query:SELECT 1, 2; SELECT 3, 4');
SELECT * FROM load('SELECT FROM nowhere');

-- files that cannot be read
DO $$
BEGIN
	PERFORM load('/no/such/file');
EXCEPTION WHEN undefined_file THEN
	RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;
SELECT * FROM load('/');
SELECT * FROM load('program:exit 3');

-- generated rows: the same seed gives the same rows
SELECT * FROM load('generate:seed=1', 'strategy copy');
SELECT count(DISTINCT id), count(DISTINCT name) > 1 AS names FROM source_t;
CREATE TABLE source_copy AS TABLE source_t;
SELECT * FROM load('generate:seed=1', 'strategy online');
SELECT count(*) FROM (TABLE source_t EXCEPT ALL TABLE source_copy) d;
SELECT * FROM load('generate:seed=2', 'strategy online');
SELECT count(*) > 0 AS differs FROM (TABLE source_t EXCEPT ALL TABLE source_copy) d;
SELECT * FROM load('generate:id=sideways');
SELECT * FROM load('generate:nothing=random');
SELECT * FROM load('generate:seed=x');

DROP FUNCTION load;
DROP TABLE source_t, source_copy;
