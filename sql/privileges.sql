-- Permissions are the caller's.
CREATE ROLE regress_ingest_owner;
CREATE ROLE regress_ingest_loader;
CREATE ROLE regress_ingest_other;
CREATE SCHEMA ingest_priv AUTHORIZATION regress_ingest_owner;
GRANT USAGE ON SCHEMA ingest_priv TO regress_ingest_loader;
SET ROLE regress_ingest_owner;
CREATE TABLE ingest_priv.t (a int, b int);
CREATE TABLE ingest_priv.secret (a int, b int);
RESET ROLE;
\set VERBOSITY terse

-- no INSERT
SET ROLE regress_ingest_loader;
SELECT ingest_load('ingest_priv.t', 'SELECT 1, 2');
SELECT ingest_bench('ingest_priv.t', 'SELECT 1, 2');
RESET ROLE;

-- INSERT on a column
GRANT INSERT (a) ON ingest_priv.t TO regress_ingest_loader;
SET ROLE regress_ingest_loader;
SELECT ingest_load('ingest_priv.t', 'SELECT 1, 2');
SELECT rows_loaded FROM ingest_load('ingest_priv.t', 'SELECT 1', 'columns (a)');
SELECT rows_loaded FROM ingest_load('ingest_priv.t', 'SELECT 1', 'columns (a), strategy online');
RESET ROLE;

-- INSERT on all; a query reads what its caller may read
GRANT INSERT ON ingest_priv.t TO regress_ingest_loader;
SET ROLE regress_ingest_loader;
SELECT rows_loaded FROM ingest_load('ingest_priv.t', 'SELECT 1, 2', 'strategy online');
SELECT ingest_load('ingest_priv.t', 'TABLE ingest_priv.secret');

-- files and programs are for those COPY lets read them
\set VERBOSITY sqlstate
SELECT ingest_load('ingest_priv.t', '/etc/passwd');
SELECT ingest_load('ingest_priv.t', 'program:echo 1,2');
SELECT ingest_bench('ingest_priv.t', '/etc/passwd');
SELECT ingest_bench('ingest_priv.t', 'program:echo 1,2');
\set VERBOSITY terse

-- sessions run as the caller, who may not create tables there; a clone also
-- needs SELECT, as LIKE does
SELECT rows_loaded FROM ingest_load('ingest_priv.t', 'SELECT 1, 2', 'strategy insert, commit_rows 1');
SELECT ingest_bench('ingest_priv.t', 'SELECT 1, 2');
RESET ROLE;
GRANT CREATE ON SCHEMA ingest_priv TO regress_ingest_loader;
GRANT SELECT ON ingest_priv.t TO regress_ingest_loader;
SET ROLE regress_ingest_loader;
SELECT strategy, rows_loaded, verified
FROM ingest_bench('ingest_priv.t', 'SELECT 1, 2', checkpoint => false);
SELECT rows_loaded, verified
FROM ingest_bench('ingest_priv.t', 'SELECT 1, 2', strategies => '{copy}');

-- commit_delay is not for everybody
SELECT ingest_bench('ingest_priv.t', 'SELECT 1, 2', strategies => '{insert}',
	commit_modes => '{batch_wait}', checkpoint => false);

-- a role sees its own history and adds only to it
SELECT DISTINCT role, function FROM ingest_history WHERE role <> current_user;
INSERT INTO ingest_history (role, function) VALUES ('regress_ingest_other', 'forged');
INSERT INTO ingest_history (id, function) VALUES (1, 'forged');
SELECT * FROM ingest_history_table;
SET row_security = off;
SELECT rows_loaded FROM ingest_load('ingest_priv.t', 'SELECT 1, 2', 'strategy online');
RESET row_security;
RESET ROLE;
SET ROLE regress_ingest_other;
SELECT count(*) FROM ingest_history;
RESET ROLE;

-- rights on the columns that can be loaded are enough
CREATE TABLE ingest_priv.g (a int, b int GENERATED ALWAYS AS (a + 1) STORED);
GRANT INSERT (a) ON ingest_priv.g TO regress_ingest_loader;
SET ROLE regress_ingest_loader;
SELECT rows_loaded FROM ingest_load('ingest_priv.g', 'SELECT 1', 'strategy online');
SELECT rows_loaded FROM ingest_load('ingest_priv.g', 'SELECT 1', 'strategy insert');
RESET ROLE;

-- row-level security
ALTER TABLE ingest_priv.t ENABLE ROW LEVEL SECURITY;
SET ROLE regress_ingest_loader;
SELECT ingest_load('ingest_priv.t', 'SELECT 1, 2', 'strategy online');
SELECT ingest_bench('ingest_priv.t', 'SELECT 1, 2');
RESET ROLE;
ALTER TABLE ingest_priv.t DISABLE ROW LEVEL SECURITY;

-- a security-definer function lends its rights, to sessions as well
SET ROLE regress_ingest_owner;
CREATE FUNCTION ingest_priv.load_for_all() RETURNS bigint LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT rows_loaded FROM public.ingest_load('ingest_priv.secret', 'SELECT 1, 2', 'strategy insert, commit_rows 1') $$;
GRANT USAGE ON SCHEMA ingest_priv TO regress_ingest_other;
RESET ROLE;
SET ROLE regress_ingest_other;
SELECT ingest_load('ingest_priv.secret', 'SELECT 1, 2');
SELECT ingest_priv.load_for_all();
RESET ROLE;
SELECT count(*) FROM ingest_priv.secret;

-- names that need quoting, a hostile search_path
CREATE SCHEMA "Odd ""schema";
CREATE TABLE "Odd ""schema"."t'a""b;--" ("x y" serial, "Z'" int CHECK ("Z'" > 0), "select" text);
CREATE INDEX ON "Odd ""schema"."t'a""b;--" (("Z'" + 1));
CREATE SCHEMA ingest_hostile;
CREATE FUNCTION ingest_hostile.count(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE FUNCTION ingest_hostile.hashtextextended(text, bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE FUNCTION ingest_hostile.nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE FUNCTION ingest_hostile.hostile(int, int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE OPERATOR ingest_hostile.= (leftarg = int, rightarg = int, function = ingest_hostile.hostile);
SET search_path = ingest_hostile, "Odd ""schema", public, pg_catalog;
SELECT strategy, rows_loaded, verified
FROM public.ingest_bench('"t''a""b;--"', rows => 10, strategies => '{insert,insert_values,copy,online}');
RESET search_path;
SELECT strategy, rows_loaded, verified FROM ingest_bench('"Odd ""schema"."t''a""b;--"',
	'SELECT g, ''"'' || g FROM generate_series(1, 10) g', 'columns ("Z''", "select")', workers => '{1,2}',
	strategies => '{insert,online}');
SELECT last_value, is_called FROM "Odd ""schema"."t'a""b;--_x y_seq";

SET client_min_messages = warning;
DROP SCHEMA ingest_hostile, "Odd ""schema", ingest_priv CASCADE;
DROP ROLE regress_ingest_owner, regress_ingest_loader, regress_ingest_other;
