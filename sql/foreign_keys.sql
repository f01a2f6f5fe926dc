-- Foreign keys of a direct load: what COPY accepts, what COPY says.
\getenv abs_builddir PG_ABS_BUILDDIR
\set dir :abs_builddir '/results/'
SET client_min_messages = warning;
SET ingest_tools.fallback = error;
SET ingest_tools.chunk_size = 10000;
CREATE SCHEMA fk;
SET search_path = fk, public;
SELECT set_config('fk.dir', :'dir', false) <> '' AS dir;

-- Load the rows of a query by COPY and by direct, each undone; what each says
CREATE FUNCTION try(command text, OUT state text, OUT message text, OUT detail text, OUT context text)
LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		EXECUTE command;
		SET CONSTRAINTS ALL IMMEDIATE;
		RAISE EXCEPTION USING ERRCODE = 'UUUUU';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
			detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	END;
	IF state = 'UUUUU' THEN
		state := 'ok';
		message := NULL;
	END IF;
	context := substring(context FROM 'COPY \w+, line \d+');
	SET CONSTRAINTS ALL DEFERRED;
END $$;
CREATE FUNCTION versus(target text, query text, workers int DEFAULT 1)
RETURNS TABLE (state text, message text, detail text, differs text) LANGUAGE plpgsql AS $$
DECLARE
	file text := current_setting('fk.dir') || 'foreign_keys.csv';
	copy record;
	direct record;
BEGIN
	EXECUTE format('COPY (%s) TO %L (FORMAT csv)', query, file);
	SELECT * FROM try(format('COPY %s FROM %L (FORMAT csv)', target, file)) INTO copy;
	SELECT * FROM try(format('SELECT ingest_load(%L, %L, ''format csv, strategy direct, workers %s'')',
		target, file, workers)) INTO direct;
	RETURN QUERY SELECT direct.state, direct.message, direct.detail,
		CASE WHEN direct <> copy THEN copy::text END;
END $$;

CREATE TABLE parent (id int PRIMARY KEY, name text UNIQUE, a int, b text, UNIQUE (a, b));
INSERT INTO parent SELECT g, 'name ' || g, g / 100, 'b' || g % 100 FROM generate_series(0, 4999) g;
DELETE FROM parent WHERE id = 3000;
CREATE TABLE child (n int, parent int REFERENCES parent, name text REFERENCES parent (name));

-- few keys and many; none missing
SELECT * FROM versus('child', 'SELECT g, g % 10, NULL FROM generate_series(1, 1000) g');
SELECT * FROM versus('child', 'SELECT g, g % 2000, ''name '' || g % 1000 FROM generate_series(1, 10000) g');
SELECT * FROM versus('child', 'SELECT g, g % 2000, ''name '' || g % 1000 FROM generate_series(1, 10000) g', 3);

-- the first of several rows without a referenced one, of either key
SELECT * FROM versus('child', 'SELECT g, CASE g WHEN 500 THEN -1 WHEN 600 THEN -2 ELSE g % 10 END, NULL FROM generate_series(1, 1000) g');
SELECT * FROM versus('child', 'SELECT g, g, NULL FROM generate_series(1, 4000) g');
SELECT * FROM versus('child', 'SELECT g, g, CASE WHEN g > 2990 THEN ''none'' END FROM generate_series(1, 4000) g');
SELECT * FROM versus('child', 'SELECT g, 1, ''name '' || g + 4000 FROM generate_series(1, 4000) g');
SELECT * FROM versus('child', 'SELECT g, g, ''Name '' || g FROM generate_series(1, 2000) g');

-- more keys than fit into memory at once
SET maintenance_work_mem = '1MB';
SELECT * FROM versus('child', 'SELECT g, g % 5000, NULL FROM generate_series(1, 3000) g UNION ALL SELECT 0, g % 2900, ''name '' || g % 2900 FROM generate_series(1, 20000) g');
SELECT * FROM versus('child', 'SELECT g, g % 2900, ''name '' || g % 2900 FROM generate_series(1, 20000) g');
RESET maintenance_work_mem;

-- MATCH SIMPLE and FULL, of several columns
CREATE TABLE simple (n int, a int, b text, FOREIGN KEY (a, b) REFERENCES parent (a, b));
CREATE TABLE match_full (n int, a int, b text, FOREIGN KEY (b, a) REFERENCES parent (b, a) MATCH FULL);
SELECT t, b.* FROM unnest('{simple,match_full}'::text[]) t,
	versus(t, 'SELECT g, g / 100, ''b'' || g % 100 FROM generate_series(0, 2000) g UNION ALL SELECT 1, NULL, NULL') b;
SELECT t, b.* FROM unnest('{simple,match_full}'::text[]) t,
	versus(t, 'SELECT g, g / 100, ''b'' || g % 100 FROM generate_series(0, 2000) g UNION ALL SELECT 1, NULL, ''x''') b;
SELECT t, b.* FROM unnest('{simple,match_full}'::text[]) t,
	versus(t, 'SELECT g, g / 100, ''b'' || g % 100 FROM generate_series(0, 2000) g UNION ALL SELECT 1, 1, ''x''') b;

-- types that differ, domains, cast operators, values that are equal and not the same
CREATE DOMAIN positive AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN word AS varchar(20);
CREATE TABLE numbers (id numeric PRIMARY KEY, f float8 UNIQUE, c char(10) UNIQUE);
INSERT INTO numbers SELECT g, g / 2.0, 'c' || g FROM generate_series(1, 1000) g;
CREATE TABLE types (p positive REFERENCES parent, w word REFERENCES parent (name), i smallint REFERENCES numbers,
	f float4 REFERENCES numbers (f), n numeric REFERENCES numbers, c char(20) REFERENCES numbers (c));
SELECT * FROM versus('types', 'SELECT g, ''name '' || g, g % 1000 + 1, (g % 1000 + 1) / 2.0, (g % 1000 + 1) || repeat(''0'', 0) || ''.'' || repeat(''0'', g % 5), ''c'' || g % 1000 + 1 FROM generate_series(1, 2900) g');
SELECT * FROM versus('types', 'SELECT g, ''name '' || g, g % 1000 + 1, (g % 1000 + 1) / 2.0, (g % 1000 + 1) || ''.'' || repeat(''0'', g % 5) || ''1'', NULL FROM generate_series(1, 2900) g');
SELECT * FROM versus('types', 'SELECT g, ''name '' || g, g % 1000 + 1, (g % 1000 + 1) / 2.0, NULL, ''d'' || g % 1000 + 1 FROM generate_series(1, 2900) g');

-- values out of line and compressed
CREATE TABLE long_parent (id text PRIMARY KEY);
CREATE TABLE long_child (id text REFERENCES long_parent);
ALTER TABLE long_child ALTER id SET STORAGE EXTERNAL;
INSERT INTO long_parent SELECT repeat(md5(g::text), 60) FROM generate_series(1, 500) g;
SELECT * FROM versus('long_child', 'SELECT repeat(md5((g % 500 + 1)::text), 60) FROM generate_series(1, 1000) g');
SELECT state, left(detail, 60), right(detail, 60), differs FROM versus('long_child', 'SELECT repeat(md5((g % 501 + 1)::text), 60) FROM generate_series(1, 1000) g');

-- a table that refers to itself: to its old rows and to those of the same load
CREATE TABLE self (id int PRIMARY KEY, boss int REFERENCES self);
INSERT INTO self VALUES (0, NULL);
SELECT * FROM versus('self', 'SELECT g, 2000 - g FROM generate_series(1, 2000) g');
SELECT * FROM versus('self', 'SELECT g, 2001 - g FROM generate_series(1, 1999) g');

-- partitions on either side, columns in another order, referenced inheritance parents
CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 (v text, gone int, id int NOT NULL);
ALTER TABLE parts_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_2 DEFAULT;
INSERT INTO parts SELECT g FROM generate_series(0, 2999) g;
CREATE TABLE leaves (n int, part int REFERENCES parts, parent int) PARTITION BY LIST (n);
CREATE TABLE leaves_1 PARTITION OF leaves FOR VALUES IN (1);
CREATE TABLE leaves_2 (gone text, part int, parent int REFERENCES parent, n int);
ALTER TABLE leaves_2 DROP COLUMN gone;
ALTER TABLE leaves ATTACH PARTITION leaves_2 DEFAULT;
CREATE TABLE inherited () INHERITS (numbers);
INSERT INTO inherited VALUES (2000);
CREATE TABLE no_inherited (n numeric REFERENCES numbers);
SELECT * FROM versus('leaves', 'SELECT g % 2, g % 3000, g % 3000 FROM generate_series(1, 6000) g', 2);
SELECT * FROM versus('leaves', 'SELECT g % 2, g % 3001, 1 FROM generate_series(1, 6000) g');
SELECT * FROM versus('leaves', 'SELECT g % 3, 1, g FROM generate_series(1, 5500) g');
SELECT * FROM versus('leaves_2', 'SELECT g % 3000, g % 3001, 2 FROM generate_series(1, 6000) g');
SELECT * FROM versus('no_inherited', 'SELECT g FROM generate_series(1, 1000) g UNION ALL SELECT 2000');

-- deferrable constraints, deferred or not; not valid; triggers that do not fire
CREATE TABLE postponed (n int, p int REFERENCES parent DEFERRABLE, q int REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED, r int REFERENCES parent);
SELECT * FROM versus('postponed', 'SELECT g, g % 2000, g % 2000, g % 2000 FROM generate_series(1, 3000) g');
SELECT * FROM versus('postponed', 'SELECT g, g, NULL, NULL FROM generate_series(2900, 3100) g');
SELECT * FROM versus('postponed', 'SELECT g, NULL, g, NULL FROM generate_series(2900, 3100) g');
SELECT * FROM versus('postponed', 'SELECT g, g, g, g FROM generate_series(2900, 3100) g');
\set deferred :dir 'deferred.csv'
COPY (SELECT g, g, g, NULL FROM generate_series(2900, 3100) g) TO :'deferred' (FORMAT csv);
BEGIN;
SET CONSTRAINTS postponed_p_fkey DEFERRED;
SELECT rows_loaded FROM ingest_load('postponed', :'deferred', 'format csv, strategy direct');
INSERT INTO parent VALUES (3000);
SET CONSTRAINTS ALL IMMEDIATE;
DELETE FROM parent WHERE id = 3000;
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT rows_loaded FROM ingest_load('postponed', :'deferred', 'format csv, strategy direct');
DELETE FROM postponed WHERE p = 3000;
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT rows_loaded FROM ingest_load('postponed', :'deferred', 'format csv, strategy direct');
COMMIT;
SELECT count(*) FROM postponed;

CREATE TABLE not_valid (p int);
INSERT INTO not_valid VALUES (-1);
ALTER TABLE not_valid ADD FOREIGN KEY (p) REFERENCES parent NOT VALID;
SELECT * FROM versus('not_valid', 'SELECT g FROM generate_series(1, 2000) g');
SELECT * FROM versus('not_valid', 'SELECT g FROM generate_series(1, 3000) g');
SET session_replication_role = replica;
SELECT * FROM versus('not_valid', 'SELECT g FROM generate_series(1, 3000) g');
RESET session_replication_role;
ALTER TABLE not_valid DISABLE TRIGGER ALL;
SELECT * FROM versus('not_valid', 'SELECT g FROM generate_series(1, 3000) g');

-- PERIOD, where there is such a thing
DO $$
DECLARE
	bad int;
	r record;
BEGIN
	IF current_setting('server_version_num')::int < 180000 THEN
		RETURN;
	END IF;
	CREATE TABLE rooms (room int4range, during daterange);
	CREATE TABLE stays (room int4range, during daterange);
	EXECUTE 'ALTER TABLE rooms ADD PRIMARY KEY (room, during WITHOUT OVERLAPS)';
	EXECUTE 'ALTER TABLE stays ADD FOREIGN KEY (room, PERIOD during) REFERENCES rooms (room, PERIOD during)';
	INSERT INTO rooms SELECT int4range(g, g, '[]'), daterange(y, (y + interval '1 year')::date)
	FROM generate_series(1, 200) g, unnest('{2020-01-01,2021-01-01}'::date[]) y;
	FOREACH bad IN ARRAY '{0,200}'::int[] LOOP
		SELECT * FROM versus('stays', format('SELECT int4range(g, g, ''[]''), daterange(''2020-06-01'', ''2021-06-01'') FROM generate_series(1, 200) g '
			'UNION ALL SELECT int4range(%s, %1$s, ''[]''), daterange(''2021-06-01'', ''2022-06-01'') WHERE %1$s > 0', bad)) INTO r;
		IF r.state IS DISTINCT FROM (CASE bad WHEN 0 THEN 'ok' ELSE '23503' END) OR r.differs IS NOT NULL THEN
			RAISE EXCEPTION '%', r;
		END IF;
	END LOOP;
END $$;

-- who checks: the referenced table's owner, whatever policies there are
CREATE ROLE regress_ingest_owner;
CREATE ROLE regress_ingest_loader;
GRANT pg_read_server_files, pg_write_server_files TO regress_ingest_loader;
GRANT ALL ON SCHEMA fk TO regress_ingest_owner;
GRANT USAGE ON SCHEMA fk TO regress_ingest_loader;
CREATE TABLE secret (id int PRIMARY KEY);
INSERT INTO secret SELECT g FROM generate_series(1, 1000) g;
CREATE TABLE open (id int, s int REFERENCES secret);
GRANT INSERT ON open TO regress_ingest_loader;
ALTER TABLE secret OWNER TO regress_ingest_owner;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE secret FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON secret USING (id < 10);
SET ROLE regress_ingest_loader;
SELECT * FROM versus('open', 'SELECT g, g FROM generate_series(1, 1000) g');
SELECT * FROM versus('open', 'SELECT g, g FROM generate_series(1, 1001) g');
RESET ROLE;
GRANT SELECT ON open TO regress_ingest_loader;
SET ROLE regress_ingest_loader;
SELECT * FROM versus('open', 'SELECT g, g FROM generate_series(1, 1001) g');
RESET ROLE;
REVOKE SELECT ON secret FROM regress_ingest_owner;
SELECT * FROM versus('open', 'SELECT g, g FROM generate_series(1, 1000) g');

-- names of all kinds, and a search path full of traps
CREATE SCHEMA "My ""schema""";
CREATE TABLE "My ""schema"""."ingest_keys" ("k1" int PRIMARY KEY, "Two words" text UNIQUE);
INSERT INTO "My ""schema"""."ingest_keys" SELECT g, g FROM generate_series(1, 500) g;
CREATE TABLE "My ""schema"""."Child" (n int REFERENCES "My ""schema"""."ingest_keys", t text REFERENCES "My ""schema"""."ingest_keys" ("Two words"));
CREATE FUNCTION trap(int, int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
CREATE OPERATOR fk.= (FUNCTION = trap, LEFTARG = int, RIGHTARG = int);
CREATE TABLE ingest_keys ();
SET search_path = fk, pg_catalog, public;
SELECT * FROM versus('"My ""schema"""."Child"', 'SELECT g, g FROM generate_series(1, 500) g');
SELECT * FROM versus('"My ""schema"""."Child"', 'SELECT g, g + 1 FROM generate_series(1, 500) g');
RESET search_path;

-- isolation levels
SET search_path = fk, public;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM versus('leaves', 'SELECT g % 2, g % 3000, g % 3000 FROM generate_series(1, 6000) g');
SELECT * FROM versus('leaves', 'SELECT g % 2, g % 3001, 1 FROM generate_series(1, 6000) g');
SELECT * FROM versus('child', 'SELECT g, g, NULL FROM generate_series(1, 4000) g');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM versus('child', 'SELECT g, g, NULL FROM generate_series(1, 2000) g', 2);
SELECT * FROM versus('child', 'SELECT g, g, NULL FROM generate_series(1, 4000) g');
COMMIT;

-- a parent that is new in the transaction, empty, unlogged, temporary
BEGIN;
CREATE TABLE new_parent (id int PRIMARY KEY);
CREATE TABLE new_child (id int REFERENCES new_parent);
SELECT * FROM versus('new_child', 'SELECT g FROM generate_series(1, 500) g');
INSERT INTO new_parent SELECT g FROM generate_series(1, 1000) g;
SELECT * FROM versus('new_child', 'SELECT g FROM generate_series(1, 500) g');
SAVEPOINT s;
DELETE FROM new_parent WHERE id = 5;
SELECT * FROM versus('new_child', 'SELECT g FROM generate_series(1, 500) g');
ROLLBACK TO s;
CREATE TEMP TABLE temp_parent (id int PRIMARY KEY);
CREATE TEMP TABLE temp_child (id int REFERENCES temp_parent);
INSERT INTO temp_parent SELECT g FROM generate_series(1, 1000) g;
SELECT * FROM versus('temp_child', 'SELECT g FROM generate_series(1, 1001) g');
ROLLBACK;

SET client_min_messages = error;
DROP SCHEMA fk, "My ""schema""" CASCADE;
DROP OWNED BY regress_ingest_owner, regress_ingest_loader;
DROP ROLE regress_ingest_owner, regress_ingest_loader;
