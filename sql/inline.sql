-- Values in their rows: ingest_est_inline_length(), ingest_inline_profile().
SELECT ingest_est_inline_length(NULL::text) AS "null",
	ingest_est_inline_length(1) AS "int", ingest_est_inline_length(1::bigint) AS "bigint",
	ingest_est_inline_length('abc'::text) AS short, ingest_est_inline_length('abc') AS literal,
	ingest_est_inline_length(repeat('x', 126)) AS "126", ingest_est_inline_length(repeat('x', 127)) AS "127",
	ingest_est_inline_length(ARRAY[1, 2]) AS "array";

-- values that do not compress
CREATE FUNCTION inline_noise(length int, seed int) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
SELECT substring(string_agg(sha512((seed || ' ' || g)::bytea), '' ORDER BY g) FOR length)
FROM generate_series(0, length / 64) g
$$;

-- the longest that can stay, alone in its row
SELECT length, ingest_est_inline_length(inline_noise(length, 1))
FROM unnest('{0,126,127,2000,8132,8133,100000}'::int[]) length;

-- What it says is what the server does, for all lengths and kinds of values: where
-- it says that a value needs no more than the server's target leaves, that is the
-- length in the row; a longer one is out of line and not judged.
CREATE FUNCTION inline_value(g int) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
SELECT CASE g % 3 WHEN 0 THEN inline_noise(g * 27, g)
	WHEN 1 THEN convert_to(g || repeat('abc ', g * 20), 'UTF8')
	ELSE inline_noise(g * 10, g) || convert_to(repeat('z', g * 30), 'UTF8') END
$$;
CREATE TABLE inline_one (v bytea);
INSERT INTO inline_one SELECT inline_value(g) FROM generate_series(0, 400) g;
SELECT CASE WHEN e = -1 OR e > 2032 - 24 THEN 'too long' ELSE 'fits' END AS estimate, count(*) > 50 AS many,
	count(*) FILTER (WHERE CASE WHEN e = -1 OR e > 2032 - 24 THEN s = -2
		ELSE s = e AND pg_column_size(v) = e END) = count(*) AS "right"
FROM generate_series(0, 400) g JOIN inline_one ON v = inline_value(g),
	LATERAL (SELECT ingest_est_inline_length(inline_value(g)) AS e, ingest_est_inline_length(v) AS s) l
GROUP BY 1 ORDER BY 1;

-- the profile says what happens after its command and a rewrite
SELECT threshold, not_null, fits, round(share::numeric, 3) AS share, command FROM ingest_inline_profile('inline_one', 'v');
SELECT DISTINCT note FROM ingest_inline_profile('inline_one', 'v');
CREATE TABLE inline_many (id int, "the v" bytea, other text, w text);
INSERT INTO inline_many SELECT g, inline_value(g), repeat('o', g % 30), CASE WHEN g % 5 = 0 THEN 'w' END
FROM generate_series(0, 400) g UNION ALL SELECT 500, NULL, NULL, NULL;
ALTER TABLE inline_many DROP COLUMN w;
CREATE TABLE inline_counts (threshold int, "column" text, said bigint, were bigint);
CREATE PROCEDURE inline_try(target regclass, "column" name) LANGUAGE plpgsql AS $$
DECLARE
	p record;
BEGIN
	FOR p IN SELECT * FROM ingest_inline_profile(target, "column") LOOP
		EXECUTE p.command;
		EXECUTE format('CREATE TABLE inline_rewritten (LIKE %s INCLUDING STORAGE) WITH (toast_tuple_target = %s)', target, p.threshold);
		EXECUTE format('INSERT INTO inline_rewritten SELECT * FROM %s', target);
		EXECUTE format('UPDATE inline_rewritten SET %I = %1$I || ''''', "column");
		EXECUTE format('INSERT INTO inline_counts SELECT %s, %L, %s, count(%I) FROM inline_rewritten WHERE ingest_est_inline_length(%4$I) <> -2',
			p.threshold, "column", p.fits, "column");
		DROP TABLE inline_rewritten;
	END LOOP;
	EXECUTE format('ALTER TABLE %s RESET (toast_tuple_target)', target);
END $$;
CALL inline_try('inline_one', 'v');
ALTER TABLE inline_many ALTER COLUMN "the v" SET STORAGE EXTERNAL;
SELECT command FROM ingest_inline_profile('inline_many', 'the v') WHERE threshold = 4080;
CALL inline_try('inline_many', 'the v');
-- alignment is left out of what a profile counts
SELECT "column", threshold, said BETWEEN were AND were + 2 AS "right" FROM inline_counts ORDER BY 1, 2;

-- rows that are there move when they are rewritten
SELECT count(*) FILTER (WHERE ingest_est_inline_length(v) <> -2) AS before FROM inline_one \gset
SELECT command AS command, fits AS fits FROM ingest_inline_profile('inline_one', 'v') WHERE threshold = 8160 \gset
:command;
SELECT count(*) FILTER (WHERE ingest_est_inline_length(v) <> -2) = :before AS unmoved FROM inline_one;
VACUUM FULL inline_one;
SELECT count(*) FILTER (WHERE ingest_est_inline_length(v) <> -2) = :fits AS moved, :fits > :before AS more FROM inline_one;

-- nothing there; what cannot be
CREATE TABLE inline_empty (v text, i int);
SELECT threshold, not_null, fits, share FROM ingest_inline_profile('inline_empty', 'v') WHERE threshold = 8160;
\set VERBOSITY terse
SELECT ingest_inline_profile('inline_empty', 'i');
SELECT ingest_inline_profile('inline_empty', 'x');
SELECT ingest_inline_profile('inline_empty', 'ctid');
CREATE VIEW inline_view AS TABLE inline_empty;
SELECT ingest_inline_profile('inline_view', 'v');

-- it reads what its caller may read
CREATE ROLE regress_ingest_inline;
SET ROLE regress_ingest_inline;
SELECT ingest_inline_profile('inline_empty', 'v');
RESET ROLE;
DROP ROLE regress_ingest_inline;

SET client_min_messages = warning;
DROP TABLE inline_one, inline_many, inline_counts, inline_empty CASCADE;
DROP FUNCTION inline_value, inline_noise;
DROP PROCEDURE inline_try;
