/* ingest_tools 1.0 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION ingest_tools" to load this file. \quit

--
-- Reports
--

-- One load.  Times are in milliseconds, sizes in bytes, buffers in blocks;
-- names are those of pg_stat_statements and pg_stat_wal.
CREATE TYPE ingest_report AS (
	target text,
	source text,
	strategy text,
	strategy_used text,
	reason text,
	repetition int,
	batch_rows int,
	split_bytes bigint,
	commit_rows text,
	commit_mode text,
	index_mode text,
	workers int,
	workers_used int,
	rows_read bigint,
	rows_loaded bigint,
	rows_filtered bigint,
	rows_rejected bigint,
	commits bigint,
	elapsed_ms float8,
	rows_per_second float8,
	cpu_user_ms float8,
	cpu_system_ms float8,
	wal_records bigint,
	wal_fpi bigint,
	wal_bytes bigint,
	wal_write bigint,
	wal_sync bigint,
	wal_write_time float8,
	wal_sync_time float8,
	shared_blks_hit bigint,
	shared_blks_read bigint,
	shared_blks_dirtied bigint,
	shared_blks_written bigint,
	local_blks_hit bigint,
	local_blks_read bigint,
	local_blks_dirtied bigint,
	local_blks_written bigint,
	temp_blks_read bigint,
	temp_blks_written bigint,
	blk_read_time float8,
	blk_write_time float8,
	start_lsn pg_lsn,
	end_lsn pg_lsn,
	phases jsonb,
	relations jsonb,
	waits jsonb,
	verified boolean
);

COMMENT ON TYPE ingest_report IS
'what one load did and what it cost; times in milliseconds, sizes in bytes, buffers in blocks, NULL for what is not known';

CREATE TABLE ingest_history_table (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	recorded_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
	role name NOT NULL DEFAULT CURRENT_USER,
	function text NOT NULL,
	LIKE ingest_report
);

COMMENT ON TABLE ingest_history_table IS
'reports of past loads of all roles; use the view ingest_history';

SELECT pg_catalog.pg_extension_config_dump('ingest_history_table', '');
SELECT pg_catalog.pg_extension_config_dump('ingest_history_table_id_seq', '');

-- Row-level security on the table itself would keep roles without BYPASSRLS
-- from dumping the database.
CREATE VIEW ingest_history WITH (security_barrier) AS
SELECT * FROM ingest_history_table
WHERE role = CURRENT_USER
	OR pg_catalog.pg_has_role(CURRENT_USER, 'pg_read_all_stats', 'MEMBER');

COMMENT ON VIEW ingest_history IS
'reports of past loads; a role sees its own, members of pg_read_all_stats see all';
COMMENT ON COLUMN ingest_history.role IS 'role that loaded';
COMMENT ON COLUMN ingest_history.function IS 'function that was called';

-- The functions run with their caller's rights and so does the INSERT of a
-- report.  Nobody can choose the id, the time or the role of a report.
GRANT SELECT ON ingest_history TO PUBLIC;
DO $$
BEGIN
	EXECUTE (SELECT pg_catalog.format('GRANT INSERT (%s) ON @extschema@.ingest_history TO PUBLIC',
									  pg_catalog.string_agg(pg_catalog.quote_ident(attname), ', '))
			 FROM pg_catalog.pg_attribute
			 WHERE attrelid OPERATOR(pg_catalog.=) '@extschema@.ingest_history'::pg_catalog.regclass
				AND attname NOT IN ('id', 'recorded_at', 'role')
				AND attnum OPERATOR(pg_catalog.>) 0);
END $$;

CREATE FUNCTION ingest_last_report()
RETURNS ingest_report
AS 'MODULE_PATHNAME', 'ingest_last_report'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION ingest_last_report() IS
'report of the last load of this session, also after a rollback; NULL if there was none';

--
-- Strategies
--

CREATE FUNCTION ingest_strategies(
	OUT strategy text,
	OUT description text,
	OUT atomic boolean,
	OUT crash_safe boolean,
	OUT replicated boolean,
	OUT fires_triggers boolean,
	OUT lock text,
	OUT uses_batch_rows boolean,
	OUT commits text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ingest_strategies'
LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 10;

COMMENT ON FUNCTION ingest_strategies() IS
'the ways to load: what each does, what it promises in the caller''s transaction, its lock on the target, and when it commits in a session of its own';

--
-- Loading
--

CREATE FUNCTION ingest_load(
	target regclass,
	source text,
	options text DEFAULT 'format csv'
)
RETURNS ingest_report
AS 'MODULE_PATHNAME', 'ingest_load'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION ingest_load(regclass, text, text) IS
'load a file, program:COMMAND, query or generate:SPEC into a table; options are those of COPY and strategy, workers, batch_rows, split_bytes, commit_rows, commit_mode, columns; errors are COPY''s';

CREATE FUNCTION ingest_bench(
	target regclass,
	source text DEFAULT NULL,
	options text DEFAULT 'format csv',
	rows bigint DEFAULT NULL,
	strategies text[] DEFAULT NULL,
	batch_rows int[] DEFAULT '{1000}',
	workers int[] DEFAULT '{1}',
	commit_modes text[] DEFAULT '{immediate_wait}',
	index_modes text[] DEFAULT '{auto}',
	commit_rows int[] DEFAULT NULL,
	preload bigint DEFAULT 0,
	repeat int DEFAULT 1,
	checkpoint boolean DEFAULT true
)
RETURNS SETOF ingest_report
AS 'MODULE_PATHNAME', 'ingest_bench'
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;

COMMENT ON FUNCTION ingest_bench(regclass, text, text, bigint, text[], int[], int[], text[], text[], int[], bigint, int, boolean) IS
'load rows of a source (NULL: generated) in every way asked for, each into a fresh clone of the target; one report per run, as it ends; the target itself is not touched';

CREATE FUNCTION ingest_scenario(
	name text,
	scale float8 DEFAULT NULL,
	OUT scenario text,
	OUT number int,
	OUT description text,
	OUT elapsed_ms float8,
	OUT rows_per_second float8,
	OUT ratio float8,
	OUT published float8,
	OUT unit text,
	OUT published_ratio float8,
	OUT holds boolean,
	OUT note text,
	OUT report ingest_report
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ingest_scenario'
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;

COMMENT ON FUNCTION ingest_scenario(text, float8) IS
'run a published study (blob_inline, commit_write, db2_load, polardbx_batch, psql_30k) on this server: a row for each of its cases, with the time it took, the published figure, the ratio of both to those of the case it is compared with, and whether the study''s conclusion holds; scale 1 is the study''s size, NULL one that takes about a minute; nothing is left behind';

CREATE FUNCTION ingest_cleanup()
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'ingest_cleanup'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 1;

COMMENT ON FUNCTION ingest_cleanup() IS
'drop the clones that a crash of the server has left in this database; returns their names';

--
-- Progress
--

-- pg_stat_get_progress_info() hides other roles' figures as it does for
-- pg_stat_progress_copy.  The parameters are those of src/progress.c.
CREATE VIEW ingest_progress AS
SELECT p.pid,
	NULLIF(p.param19, 0)::int AS leader_pid,
	d.datname,
	p.relid,
	CASE p.param15
		WHEN 1 THEN 'loading'
		WHEN 2 THEN 'reading source'
		WHEN 3 THEN 'loading reference'
		WHEN 4 THEN 'creating clone'
		WHEN 5 THEN 'checkpoint'
		WHEN 6 THEN 'running'
		WHEN 7 THEN 'verifying'
	END AS phase,
	s.strategy,
	NULLIF(p.param17, 0)::int AS run,
	NULLIF(p.param18, 0)::int AS runs,
	p.param3 AS rows_loaded,
	p.param1 AS bytes_processed,
	NULLIF(p.param2, 0) AS bytes_total,
	round(100.0 * p.param1 / NULLIF(p.param2, 0), 1) AS percent
FROM pg_catalog.pg_stat_get_progress_info('COPY') p
	LEFT JOIN pg_catalog.pg_database d ON d.oid = p.datid
	LEFT JOIN ingest_strategies() WITH ORDINALITY
		s(strategy, description, atomic, crash_safe, replicated,
		  fires_triggers, lock, uses_batch_rows, commits, number)
		ON s.number = p.param16
WHERE p.param20 = 20260001;

COMMENT ON VIEW ingest_progress IS
'loads in progress: one row for each process that loads and one for each ingest_bench() that has others load; bytes, rows, percent';

GRANT SELECT ON ingest_progress TO PUBLIC;

--
-- Values in their rows
--

CREATE FUNCTION ingest_est_inline_length(value "any")
RETURNS int
AS 'MODULE_PATHNAME', 'ingest_est_inline_length'
LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION ingest_est_inline_length("any") IS
'bytes a value needs in its row, compressed where the server would; NULL for NULL, -1 if it cannot fit, -2 if it is out of line and would have to be read';

CREATE FUNCTION ingest_inline_profile(
	"table" regclass,
	"column" name,
	OUT threshold int,
	OUT not_null bigint,
	OUT fits bigint,
	OUT share float8,
	OUT command text,
	OUT note text
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ingest_inline_profile'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED ROWS 6;

COMMENT ON FUNCTION ingest_inline_profile(regclass, name) IS
'share of a column''s values that stay in their rows at each toast_tuple_target, and the command that sets it';
