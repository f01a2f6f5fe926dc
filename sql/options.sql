-- Options are what stands between the parentheses of COPY's WITH.
CREATE TABLE options_t (a int, b text);
\set VERBOSITY terse

-- the grammar is COPY's, and so are its errors
SELECT ingest_load('options_t', 'SELECT 1, 2', 'format csv, delimiter');
SELECT ingest_load('options_t', '/dev/null', 'format csv, delimiter ''ab''');
SELECT ingest_load('options_t', '/dev/null', 'format csv, format text');
SELECT ingest_load('options_t', '/dev/null', 'nonsense 1');
SELECT ingest_load('options_t', '/dev/null', 'format xml');

-- nothing else can be put between them
SELECT ingest_load('options_t', '/dev/null', 'format csv) WHERE (true');
SELECT ingest_load('options_t', '/dev/null', 'format csv); DROP TABLE options_t; COPY t FROM STDIN WITH (format csv');
SELECT rows_loaded FROM ingest_load('options_t', '/dev/null', 'format csv -- comment');

-- ours
SELECT ingest_load('options_t', '/dev/null', 'format csv, strategy fastest');
SELECT ingest_load('options_t', '/dev/null', 'format csv, strategy copy, strategy insert');
SELECT ingest_load('options_t', '/dev/null', 'format csv, workers 0');
SELECT ingest_load('options_t', '/dev/null', 'format csv, workers two');
SELECT ingest_load('options_t', '/dev/null', 'format csv, batch_rows 0');
SELECT ingest_load('options_t', '/dev/null', 'format csv, batch_rows 10000000');
SELECT ingest_load('options_t', '/dev/null', 'format csv, split_bytes ''many''');
SELECT ingest_load('options_t', '/dev/null', 'format csv, commit_rows 0');
SELECT ingest_load('options_t', '/dev/null', 'format csv, commit_mode eventually');
SELECT ingest_load('options_t', '/dev/null', 'format csv, index_mode upside_down');
SELECT ingest_load('options_t', '/dev/null', 'format csv, columns a');
SELECT ingest_load('options_t', '/dev/null', 'format csv, columns (a, c)');
SELECT ingest_load('options_t', '/dev/null', 'format csv, columns (a, a)');

-- a hint names what is allowed, a position points into the options
\set VERBOSITY default
SELECT ingest_load('options_t', '/dev/null', 'format csv, strategy fastest');
SELECT ingest_load('options_t', '/dev/null', 'format csv, commit_mode eventually');
SELECT ingest_load('options_t', '/dev/null', 'format csv, ,');

-- what was asked for is in the report
SELECT strategy, batch_rows, split_bytes, commit_rows, commit_mode, workers
FROM ingest_load('options_t', 'SELECT 1, 2',
	'strategy insert_values, batch_rows 7, split_bytes ''1kB''');
SELECT strategy, batch_rows, split_bytes, commit_rows, commit_mode, workers
FROM ingest_load('options_t', 'SELECT 1, 2',
	'strategy insert_values, split_bytes none');
SELECT strategy, batch_rows, split_bytes, commit_rows, commit_mode, commits
FROM ingest_load('options_t', 'SELECT g, g FROM generate_series(1, 10) g',
	'strategy insert, commit_rows 3, commit_mode immediate_nowait');
SELECT count(*) FROM options_t;

DROP TABLE options_t;
