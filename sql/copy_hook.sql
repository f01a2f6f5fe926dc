-- COPY FROM by strategies of ours.
\getenv abs_srcdir PG_ABS_SRCDIR
\set two_rows :abs_srcdir '/test/data/two_rows.csv'
CREATE TABLE copy_hook_t (id int PRIMARY KEY, name text);
CREATE FUNCTION copy_hook_last(OUT strategy text, OUT used text, OUT reason text, OUT workers int, OUT rows bigint)
LANGUAGE sql AS $$ SELECT strategy, strategy_used, reason, workers, rows_loaded FROM ingest_last_report() $$;
-- loads the library
SELECT * FROM copy_hook_last();

-- off: the server's own
SHOW ingest_tools.strategy;
COPY copy_hook_t FROM :'two_rows' (FORMAT csv);
SELECT * FROM copy_hook_last();
COPY copy_hook_t TO STDOUT;
TRUNCATE copy_hook_t;

-- a file, a program and the client, by the command's options
COPY copy_hook_t FROM :'two_rows' (FORMAT csv, STRATEGY direct);
SELECT * FROM copy_hook_last();
COPY copy_hook_t FROM PROGRAM 'echo 10,ten' (FORMAT csv, STRATEGY online);
SELECT * FROM copy_hook_last();
COPY copy_hook_t FROM STDIN (FORMAT csv, HEADER, STRATEGY direct, WORKERS 2);
id,name
20,"twenty
"
21,
22,""
\.
SELECT * FROM copy_hook_last();
COPY copy_hook_t (name, id) FROM STDIN (FORMAT csv, STRATEGY online);
thirty,30
\.
COPY copy_hook_t FROM STDIN (FORMAT csv, STRATEGY insert_values, BATCH_ROWS 2);
40,forty
41,
42,x
\.
SELECT * FROM copy_hook_last();
-- options of ours but no strategy
COPY copy_hook_t FROM STDIN (FORMAT csv, WORKERS 2);
50,fifty
\.
SELECT * FROM copy_hook_t ORDER BY id;
SELECT function, regexp_replace(source, '.*/', '') AS source, strategy, strategy_used, rows_loaded FROM ingest_history
WHERE target = 'public.copy_hook_t' ORDER BY id;
TRUNCATE copy_hook_t;

-- what only the server can do; a strategy that is named says so
COPY copy_hook_t FROM STDIN (STRATEGY direct);
1	one
\.
COPY copy_hook_t FROM STDIN (FORMAT csv, STRATEGY online) WHERE id > 2;
2,two
3,three
\.
CREATE VIEW copy_hook_v AS SELECT * FROM copy_hook_t;
CREATE FUNCTION copy_hook_insert() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO copy_hook_t VALUES (new.id, 'by the trigger'); RETURN new; END $$;
CREATE TRIGGER copy_hook_insert INSTEAD OF INSERT ON copy_hook_v FOR EACH ROW EXECUTE FUNCTION copy_hook_insert();
COPY copy_hook_v FROM PROGRAM 'echo 4,four' (FORMAT csv, STRATEGY direct);
SET ingest_tools.fallback = error;
COPY copy_hook_v FROM PROGRAM 'echo 5,five' (FORMAT csv, STRATEGY direct);
COPY copy_hook_t FROM PROGRAM 'echo 5,five' (FORMAT csv, ENCODING latin1, STRATEGY direct);
RESET ingest_tools.fallback;
SELECT * FROM copy_hook_t ORDER BY id;
TRUNCATE copy_hook_t;

-- by the setting, silently
SET ingest_tools.strategy = direct;
COPY copy_hook_t FROM STDIN;
1	one
\.
COPY copy_hook_t FROM STDIN csv;
2,two
\.
SELECT * FROM copy_hook_last();
COPY copy_hook_t FROM STDIN WITH DELIMITER ';' CSV HEADER QUOTE '''';
id;name
3;'thr;ee'
\.
SELECT * FROM copy_hook_last();
-- the command's option goes before the setting
COPY copy_hook_t FROM STDIN (FORMAT csv, STRATEGY insert);
4,four
\.
SELECT * FROM copy_hook_last();
SET ingest_tools.strategy = auto;
SET ingest_tools.workers = 2;
COPY copy_hook_t FROM PROGRAM 'seq 1000 6000 | sed "s/$/,x/"' (FORMAT csv);
COPY copy_hook_t FROM STDIN (FORMAT csv);
5,five
\.
SELECT * FROM copy_hook_last();
RESET ingest_tools.workers;
SELECT count(*), sum(id) FROM copy_hook_t;

-- in functions, blocks, subtransactions
SET ingest_tools.strategy = direct;
TRUNCATE copy_hook_t;
CREATE FUNCTION copy_hook_f(file text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('COPY copy_hook_t FROM %L (FORMAT csv)', file);
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
SELECT copy_hook_f(:'two_rows');
\set VERBOSITY terse
SELECT copy_hook_f(:'two_rows');
\set VERBOSITY default
BEGIN;
COPY copy_hook_t FROM STDIN (FORMAT csv);
60,sixty
\.
SAVEPOINT s;
COPY copy_hook_t FROM STDIN (FORMAT csv);
61,sixty-one
\.
ROLLBACK TO s;
COMMIT;
SELECT * FROM copy_hook_t ORDER BY id;

-- a SECURITY DEFINER function does what it says, whatever its caller has set
ALTER FUNCTION copy_hook_f SECURITY DEFINER;
DELETE FROM copy_hook_t WHERE id < 3;
SELECT rows FROM copy_hook_last();
SELECT copy_hook_f(:'two_rows');
SELECT rows AS still FROM copy_hook_last();

-- errors are COPY's; the connection goes on
COPY copy_hook_t FROM STDIN (FORMAT csv);
70,seventy
7x,seventy
\.
COPY copy_hook_t FROM STDIN (FORMAT csv);
71,seventy,one
\.
COPY copy_hook_t FROM STDIN (FORMAT csv);
60,again
\.
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv);
COPY copy_hook_none FROM '/nonexistent/file' (FORMAT csv);
COPY copy_hook_t (id, none) FROM '/nonexistent/file' (FORMAT csv);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, NONE);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, FORMAT csv);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, STRATEGY direct, STRATEGY online);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, STRATEGY fastest);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, WORKERS 0);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, INDEX_MODE none);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, COMMIT_MODE none);
COPY copy_hook_t FROM '/nonexistent/file' (FORMAT csv, COLUMNS (id));
BEGIN READ ONLY;
COPY copy_hook_t FROM :'two_rows' (FORMAT csv);
ROLLBACK;
SET ingest_tools.strategy = fastest;
SET ingest_tools.workers = -1;
SELECT count(*) FROM copy_hook_t;

-- rights are COPY's
CREATE ROLE regress_copy_hook;
SET ROLE regress_copy_hook;
\set VERBOSITY sqlstate
COPY copy_hook_t FROM :'two_rows' (FORMAT csv);
COPY copy_hook_t FROM PROGRAM 'echo 80,x' (FORMAT csv);
\set VERBOSITY default
RESET ROLE;
GRANT pg_execute_server_program TO regress_copy_hook;
GRANT INSERT (id) ON copy_hook_t TO regress_copy_hook;
SET ROLE regress_copy_hook;
COPY copy_hook_t FROM PROGRAM 'echo 81,x' (FORMAT csv);
COPY copy_hook_t (id) FROM PROGRAM 'echo 82' (FORMAT csv);
RESET ROLE;
ALTER TABLE copy_hook_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON copy_hook_t USING (true);
SET ROLE regress_copy_hook;
COPY copy_hook_t (id) FROM PROGRAM 'echo 83' (FORMAT csv);
RESET ROLE;
SELECT * FROM copy_hook_t ORDER BY id;

RESET ingest_tools.strategy;
DROP VIEW copy_hook_v;
DROP TABLE copy_hook_t;
DROP FUNCTION copy_hook_last, copy_hook_insert, copy_hook_f;
DROP ROLE regress_copy_hook;
