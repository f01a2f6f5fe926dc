-- A strategy that cannot do a load is replaced by one that can, and says why.
\getenv abs_srcdir PG_ABS_SRCDIR
\set two_rows :abs_srcdir '/test/data/two_rows.csv'
CREATE TABLE fallback_t (id int, name text);

-- a notice by default, in COPY's place an error on demand
SELECT strategy, strategy_used, reason, rows_loaded
FROM ingest_load('fallback_t', 'SELECT 1, ''one''', 'strategy direct');
SET ingest_tools.fallback = error;
SELECT ingest_load('fallback_t', 'SELECT 1, ''one''', 'strategy direct');
\set VERBOSITY sqlstate
SELECT ingest_load('fallback_t', 'SELECT 1, ''one''', 'strategy direct');
\set VERBOSITY default
SELECT strategy_used, reason FROM ingest_load('fallback_t', :'two_rows', 'format csv, strategy direct');
SET ingest_tools.fallback = silent;
SELECT strategy, strategy_used, reason, rows_loaded
FROM ingest_load('fallback_t', 'SELECT 1, ''one''', 'strategy direct');
SET ingest_tools.fallback = on;
SHOW ingest_tools.fallback;
RESET ingest_tools.fallback;

-- the notice comes once, whichever processes load; a bench shows the reason in its rows
SELECT strategy, strategy_used, reason, workers, workers_used, rows_loaded, commits
FROM ingest_load('fallback_t', :'two_rows',
	'format csv, encoding latin1, strategy direct, workers 2, commit_mode immediate_nowait');
SELECT strategy, strategy_used, reason, workers_used, rows_loaded, commits
FROM ingest_load('fallback_t', :'two_rows', 'format csv, encoding latin1, strategy direct, workers 2');
SELECT strategy, strategy_used, reason, verified
FROM ingest_bench('fallback_t', :'two_rows', options => 'format csv, encoding latin1', strategies => '{direct}',
	workers => '{1,2}', checkpoint => false);

-- what the source is, and how it is written
SET ingest_tools.fallback = silent;
CREATE FUNCTION fallback_try(source text, options text, OUT strategy text, OUT used text, OUT reason text, OUT rows bigint)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT s, r.strategy_used, r.reason, r.rows_loaded
	FROM unnest('{insert,insert_prepared,online,direct}'::text[]) s,
		ingest_load('fallback_t', source, format('strategy %s, %s', s, options)) r;
$$;
SELECT * FROM fallback_try(:'two_rows', 'format text, delimiter '',''');
SELECT * FROM fallback_try('program:echo 1,one', 'format csv');
SELECT * FROM fallback_try('/dev/null', 'format csv');
SELECT * FROM fallback_try(:'two_rows', 'format csv, encoding latin1');
SELECT strategy_used, reason FROM ingest_load('fallback_t', :'two_rows', 'format csv, escape E''\n'', strategy direct');
BEGIN;
TRUNCATE fallback_t;
SELECT strategy_used, reason FROM ingest_load('fallback_t', :'two_rows', 'format csv, freeze, strategy direct');
ROLLBACK;

-- what the table is
CREATE SCHEMA fallback_s;
SET search_path = fallback_s, public;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION stay_put() RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN 1; END';

CREATE TABLE before_row (id int, name text);
CREATE TRIGGER t BEFORE INSERT ON before_row FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TABLE after_row (id int, name text);
CREATE TRIGGER t AFTER INSERT ON after_row FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TABLE transition (id int, name text);
CREATE TRIGGER t AFTER INSERT ON transition REFERENCING NEW TABLE AS n EXECUTE FUNCTION nothing();
CREATE TABLE statement (id int, name text);
CREATE TRIGGER a BEFORE INSERT ON statement EXECUTE FUNCTION nothing();
CREATE TRIGGER b AFTER INSERT ON statement EXECUTE FUNCTION nothing();
CREATE TABLE update_row (id int, name text);
CREATE TRIGGER t BEFORE UPDATE OR DELETE ON update_row FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TABLE volatile_default (id int, name text, v int DEFAULT stay_put());
CREATE TABLE row_rule (id int, name text);
CREATE RULE r AS ON INSERT TO row_rule DO INSTEAD NOTHING;
CREATE ACCESS METHOD fallback_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE heap_by_another_name (id int, name text) USING fallback_heap;

CREATE FOREIGN DATA WRAPPER fallback_fdw;
CREATE SERVER fallback_server FOREIGN DATA WRAPPER fallback_fdw;
CREATE TABLE foreign_leaf (id int, name text) PARTITION BY RANGE (id);
CREATE TABLE foreign_leaf_1 PARTITION OF foreign_leaf FOR VALUES FROM (0) TO (1000000);
CREATE FOREIGN TABLE foreign_leaf_2 PARTITION OF foreign_leaf FOR VALUES FROM (1000000) TO (2000000) SERVER fallback_server;
CREATE TABLE leaf_trigger (id int, name text) PARTITION BY LIST (id);
CREATE TABLE leaf_trigger_1 PARTITION OF leaf_trigger DEFAULT;
CREATE TRIGGER t BEFORE INSERT ON leaf_trigger_1 FOR EACH ROW EXECUTE FUNCTION nothing();

SELECT t AS target, r.strategy_used, r.reason, r.rows_loaded
FROM unnest('{before_row,after_row,transition,statement,update_row,volatile_default,row_rule,heap_by_another_name,foreign_leaf,leaf_trigger}'::text[]) t,
	ingest_load(t::regclass, :'two_rows', 'format csv, columns (id, name), strategy direct') r;

-- triggers that do not fire do no harm
ALTER TABLE before_row DISABLE TRIGGER t;
ALTER TABLE after_row ENABLE REPLICA TRIGGER t;
ALTER TABLE transition ENABLE ALWAYS TRIGGER t;
SET session_replication_role = replica;
SELECT t AS target, r.strategy_used, r.reason
FROM unnest('{before_row,after_row,transition,leaf_trigger}'::text[]) t,
	ingest_load(t::regclass, :'two_rows', 'format csv, strategy direct') r;
RESET session_replication_role;
SELECT t AS target, r.strategy_used, r.reason
FROM unnest('{before_row,after_row,transition,leaf_trigger}'::text[]) t,
	ingest_load(t::regclass, :'two_rows', 'format csv, strategy direct') r;

SET client_min_messages = warning;
DROP SCHEMA fallback_s CASCADE;
DROP FOREIGN DATA WRAPPER fallback_fdw CASCADE;
DROP ACCESS METHOD fallback_heap;
DROP FUNCTION public.fallback_try;
DROP TABLE public.fallback_t;
