-- Strategy direct: whole pages, in parallel, the rows and errors of COPY.
\getenv abs_srcdir PG_ABS_SRCDIR
\getenv abs_builddir PG_ABS_BUILDDIR
\set file :abs_srcdir '/test/data/mixed.csv'
\set apart :abs_builddir '/results/direct_apart.csv'
SET client_min_messages = warning;
SET client_encoding = 'UTF8';
-- many chunks, cut anywhere
SET ingest_tools.chunk_size = 1000;

CREATE TABLE direct_t (id int PRIMARY KEY, k int, t text, n numeric(10,2) NOT NULL,
	b bool, d date, l text, CONSTRAINT small CHECK (k < 1000)) PARTITION BY RANGE (id);
CREATE TABLE direct_1 PARTITION OF direct_t FOR VALUES FROM (0) TO (700);
CREATE TABLE direct_2 (l text, t text, id int NOT NULL, k int, dropped int, n numeric(10,2) NOT NULL,
	b bool, d date, CONSTRAINT small CHECK (k < 1000));
ALTER TABLE direct_2 DROP COLUMN dropped;
ALTER TABLE direct_t ATTACH PARTITION direct_2 DEFAULT;
CREATE INDEX ON direct_t (k);
CREATE INDEX ON direct_t (lower(t), n DESC) WHERE b;
CREATE INDEX ON direct_t USING hash (d);
CREATE INDEX ON direct_t USING brin (n);
CREATE TABLE direct_expected (LIKE direct_t);
COPY direct_expected FROM :'file' (FORMAT csv);
SELECT count(*), count(*) FILTER (WHERE b AND t IS NOT NULL) AS partial FROM direct_expected;

-- rows that differ from the expected ones, and rows that each index finds
CREATE FUNCTION direct_check(OUT different bigint, OUT by_id bigint, OUT by_k bigint, OUT partial bigint)
LANGUAGE plpgsql SET enable_bitmapscan = off AS $$
BEGIN
	SELECT count(*) FROM ((TABLE direct_t EXCEPT ALL TABLE direct_expected)
		UNION ALL (TABLE direct_expected EXCEPT ALL TABLE direct_t)) x INTO different;
	SET LOCAL enable_seqscan = off;
	SELECT count(*) FROM direct_t x WHERE x.id >= 0 INTO by_id;
	SELECT count(*) FROM direct_t x WHERE x.k >= 0 INTO by_k;
	SELECT count(*) FROM direct_t x WHERE lower(x.t) >= '' AND x.b INTO partial;
	SET LOCAL enable_seqscan = on;
END $$;

SELECT strategy_used, rows_read, rows_loaded, reason
FROM ingest_load('direct_t', :'file', 'format csv, strategy direct');
SELECT * FROM direct_check();
TRUNCATE direct_t;
SELECT strategy_used, rows_read, rows_loaded, reason
FROM ingest_load('direct_t', :'file', 'format csv, strategy direct, workers 3');
SELECT * FROM direct_check();

-- duplicates of the table's rows
\set VERBOSITY terse
SELECT ingest_load('direct_1', :'file', 'format csv, strategy direct');
\set VERBOSITY sqlstate
SELECT ingest_load('direct_t', :'file', 'format csv, strategy direct, workers 2');
SELECT * FROM direct_check();

-- rollback, savepoint, and again over what they left
BEGIN;
TRUNCATE direct_t;
SAVEPOINT s;
SELECT rows_loaded FROM ingest_load('direct_t', :'file', 'format csv, strategy direct, workers 2');
ROLLBACK TO s;
SELECT count(*) FROM direct_t;
SELECT rows_loaded FROM ingest_load('direct_t', :'file', 'format csv, strategy direct, workers 2');
COMMIT;
SELECT * FROM direct_check();
DELETE FROM direct_t;
BEGIN;
SELECT rows_loaded FROM ingest_load('direct_t', :'file', 'format csv, strategy direct, workers 2');
ROLLBACK;
SELECT rows_loaded FROM ingest_load('direct_t', :'file', 'format csv, strategy direct, workers 2');
SELECT * FROM direct_check();

-- in a bench, which reads a query into a file first
SELECT strategy, strategy_used, rows_loaded, verified, reason
FROM ingest_bench('direct_t', :'file', strategies => '{direct}', workers => '{1,2}', checkpoint => false);
SELECT strategy, strategy_used, rows_loaded, verified, reason
FROM ingest_bench('direct_t', 'TABLE direct_expected', strategies => '{direct}', workers => '{2}', checkpoint => false);

-- where it cannot be used another strategy is, and the report says why
SELECT strategy, strategy_used, rows_loaded, reason
FROM ingest_load('direct_expected', 'TABLE direct_expected', 'strategy direct');

-- fields apart from each other, or in another order than the columns, beside a
-- default longer than all of the record; COPY is asked, too
CREATE TABLE direct_apart (pad text DEFAULT repeat('pad ', 1500), n numeric(9,2),
	c char(5), mid text DEFAULT repeat('mid', 700), t text, d date, f float8, i int);
ALTER TABLE direct_apart ALTER pad SET STORAGE main, ALTER mid SET STORAGE main;
CREATE TABLE direct_apart_copy (LIKE direct_apart INCLUDING DEFAULTS INCLUDING STORAGE);
COPY (SELECT g * 1.25, 'c' || g % 10, repeat('t', g * 7 % 900), date '2020-01-01' + g,
		g / 8.0, nullif(g % 5, 0)
	FROM generate_series(1, 500) g)
	TO :'apart' (FORMAT csv);
COPY direct_apart_copy (n, c, t, d, f, i) FROM :'apart' (FORMAT csv);
SELECT rows_loaded FROM ingest_load('direct_apart', :'apart',
	'format csv, strategy direct, workers 2, columns (n, c, t, d, f, i)');
TABLE direct_apart EXCEPT ALL TABLE direct_apart_copy;
TRUNCATE direct_apart, direct_apart_copy;
COPY (SELECT g, g / 8.0, date '2020-01-01' + g, repeat('t', g * 7 % 900), 'c' || g % 10, g * 1.25
	FROM generate_series(1, 500) g)
	TO :'apart' (FORMAT csv);
COPY direct_apart_copy (i, f, d, t, c, n) FROM :'apart' (FORMAT csv);
SELECT rows_loaded FROM ingest_load('direct_apart', :'apart',
	'format csv, strategy direct, workers 2, columns (i, f, d, t, c, n)');
TABLE direct_apart EXCEPT ALL TABLE direct_apart_copy;
DROP TABLE direct_apart, direct_apart_copy;

-- bytes that are no text, read ahead of a chunk's end in search of an end-of-data marker
\set bad :abs_builddir '/results/direct_bad.csv'
\set write 'printf ''a\\nt\\n\\\\x\\nt\\n\\360\\237\\nt\\\\\\\\nz\\n'' > ' :bad
COPY (SELECT) TO PROGRAM :'write';
CREATE TABLE direct_bad (t text);
SET ingest_tools.chunk_size = 1;
COPY direct_bad FROM :'bad' (FORMAT csv, QUOTE E'\\');
SELECT ingest_load('direct_bad', :'bad', $$format csv, quote E'\\', strategy direct$$);
SELECT ingest_load('direct_bad', :'bad', $$format csv, quote E'\\', strategy direct, workers 2$$);
DROP TABLE direct_bad;

DROP FUNCTION direct_check;
DROP TABLE direct_t, direct_expected;
