-- What test/bench/direct.sh loads: tables, and functions that make their rows up.
-- The rows depend on nothing but their key and the seed, so that every run, and
-- every server, has the same.
--
-- Variable: seed.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;

CREATE EXTENSION ingest_tools;
CREATE EXTENSION pg_prewarm;
CREATE FUNCTION bits(key int, part int) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashint8extended(key, :seed * 100 + part);

-- Workload W1: 26 columns of INTEGER, DECIMAL and CHAR, 118 bytes a row.
CREATE TABLE w1_flat (
	k int, n1 int, n2 int, i1 int, i2 int, i3 int, i4 int, i5 int, i6 int, i7 int,
	d1 numeric(7, 2), d2 numeric(7, 2), d3 numeric(7, 2), d4 numeric(7, 2),
	d5 numeric(7, 2), d6 numeric(7, 2), d7 numeric(7, 2), d8 numeric(7, 2),
	c1 char(1), c2 char(1), c3 char(1), c4 char(2), c5 char(2), c6 char(2), c7 char(2), c8 char(3));

-- n1 and n2 have nothing to do with the key.
CREATE FUNCTION w1_rows(first int, last int, step int DEFAULT 1) RETURNS SETOF w1_flat LANGUAGE sql STABLE AS $$
SELECT k, (a & 134217727)::int, ((a >> 27) & 134217727)::int,
	(b & 262143)::int, ((b >> 18) & 262143)::int, ((b >> 36) & 262143)::int,
	(c & 262143)::int, ((c >> 18) & 262143)::int, ((c >> 36) & 262143)::int, ((f >> 40) & 262143)::int,
	0.01 * (d & 65535), 0.01 * ((d >> 16) & 65535), 0.01 * ((d >> 32) & 65535), 0.01 * ((d >> 47) & 65535),
	0.01 * (e & 65535), 0.01 * ((e >> 16) & 65535), 0.01 * ((e >> 32) & 65535), 0.01 * ((e >> 47) & 65535),
	substr(s, 1 + (f & 31)::int, 1), substr(s, 1 + ((f >> 5) & 31)::int, 1), substr(s, 1 + ((f >> 10) & 31)::int, 1),
	substr(s, 1 + ((f >> 15) & 31)::int, 2), substr(s, 1 + ((f >> 20) & 31)::int, 2),
	substr(s, 1 + ((f >> 25) & 31)::int, 2), substr(s, 1 + ((f >> 30) & 31)::int, 2),
	substr(s, 1 + ((f >> 35) & 31)::int, 3)
FROM generate_series(first, last, step) k,
	LATERAL (SELECT bits(k, 1) AS a, bits(k, 2) AS b, bits(k, 3) AS c, bits(k, 4) AS d, bits(k, 5) AS e, bits(k, 6) AS f,
		'ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHI' AS s OFFSET 0) x
$$;

-- The keys already there (part 0) and the ones to add (part 1): of the width keys
-- of each of ten partitions the first 80 percent and the others.
CREATE FUNCTION w1_part(part int, width int) RETURNS SETOF w1_flat LANGUAGE sql STABLE AS $$
SELECT r.* FROM generate_series(0, 9) p,
	LATERAL w1_rows(p * width + 1 + part * (width / 10 * 8),
		CASE part WHEN 0 THEN p * width + width / 10 * 8 ELSE (p + 1) * width END) r
$$;

-- A table of n range partitions of width keys each, from key 1 on.
CREATE PROCEDURE w1_table(name text, n int, width int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (LIKE w1_flat) PARTITION BY RANGE (k)', name);
	FOR p IN 0 .. n - 1 LOOP
		EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)',
			name || '_' || p, name, p * width + 1, (p + 1) * width + 1);
	END LOOP;
END $$;

-- The first, second or third index of W1.
CREATE PROCEDURE w1_index(name text, number int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE %s INDEX ON %I (%I)', CASE number WHEN 1 THEN 'UNIQUE' END, name,
		('{k,n1,n2}'::text[])[number]);
END $$;

-- Columns for indexes of other kinds of keys.
CREATE TABLE keys (k int, i1 int, i2 int, i3 int, t1 text, t2 text, t3 text, x1 numeric, x2 numeric, x3 numeric,
	m1 timestamp, m2 timestamp, m3 timestamp, s1 int, s2 int, s3 int, z1 int, z2 int, z3 int);
CREATE FUNCTION key_rows(first int, last int) RETURNS SETOF keys LANGUAGE sql STABLE AS $$
SELECT k, (a & 134217727)::int, ((a >> 27) & 134217727)::int, (b & 134217727)::int,
	'Item ' || to_hex(c), 'ref ' || to_hex(d & 1099511627775), to_hex(d >> 24) || ' of ' || k % 1000,
	0.01 * (c & 68719476735), 0.001 * (d & 1073741823), 0.1 * (a & 281474976710655),
	timestamp '2000-01-01' + interval '1 second' * (b & 536870911),
	timestamp '2000-01-01' + interval '1 second' * (c & 536870911),
	timestamp '2000-01-01' + interval '1 second' * (d & 536870911),
	(b & 15)::int, ((b >> 27) & 65535)::int % 100, ((b >> 43) & 65535)::int % 100,
	CASE WHEN (c & 65535) % 100 >= 33 THEN (a & 134217727)::int END,
	CASE WHEN (d & 65535) % 100 >= 33 THEN (b & 134217727)::int END,
	CASE WHEN ((c >> 16) & 65535) % 100 >= 90 THEN (d & 134217727)::int END
FROM generate_series(first, last) k,
	LATERAL (SELECT bits(k, 11) AS a, bits(k, 12) AS b, bits(k, 13) AS c, bits(k, 14) AS d OFFSET 0) x
$$;

-- Three indexes of a kind.
CREATE PROCEDURE key_indexes(kind text) LANGUAGE plpgsql AS $$
DECLARE
	definition text;
BEGIN
	FOREACH definition IN ARRAY CASE kind
		WHEN 'text' THEN ARRAY['(t1 COLLATE "en-US-x-icu")', '(t2 COLLATE "en-US-x-icu")', '(t3 COLLATE "en-US-x-icu")']
		WHEN 'two' THEN ARRAY['(i1, i2)', '(i3, t1 COLLATE "C")', '(x1, m1)']
		WHEN 'numeric' THEN ARRAY['(x1)', '(x2)', '(x3)']
		WHEN 'expression' THEN ARRAY['(lower(t1))', '((i2 / 2))', '((x1 + 1), upper(t2))']
		WHEN 'partial' THEN ARRAY['(i1) WHERE s1 < 8', '(i2) WHERE s2 < 67', '(i3) WHERE s3 = 0']
		WHEN 'null' THEN ARRAY['(z1)', '(z2)', '(z3)']
		WHEN 'distinct' THEN ARRAY['(s1)', '(s2)', '(s3)']
		END
	LOOP
		EXECUTE 'CREATE INDEX ON keys ' || definition;
	END LOOP;
END $$;

-- Values of about 4 kB, which compress to some 2.7 kB and so go out of line.
CREATE TABLE long_values (k int, v text);
CREATE FUNCTION long_rows(first int, last int) RETURNS SETOF long_values LANGUAGE sql STABLE AS $$
SELECT k, string_agg(md5(k || ' ' || i) || md5(i || ' ' || k) || 'and the quick brown fox jumps over it ', '')
FROM generate_series(first, last) k, generate_series(1, 40) i
GROUP BY k ORDER BY k
$$;
