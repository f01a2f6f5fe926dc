-- ingest_scenario(): published studies.  How long a case takes is not for this
-- test, so neither is whether a study's conclusion holds.
CREATE FUNCTION cases(scenario text, scale float8)
RETURNS TABLE (number int, description text, rows bigint, strategy text, used boolean, verified boolean, judged boolean)
LANGUAGE sql AS $$
SELECT s.number, s.description, (s.report).rows_loaded, (s.report).strategy,
	(s.report).strategy = (s.report).strategy_used, (s.report).verified,
	s.published_ratio IS NOT NULL AND s.ratio IS NOT NULL AND (s.holds IS NOT NULL OR s.note LIKE 'less than%')
FROM ingest_scenario(scenario, scale) s
$$;

SELECT * FROM cases('psql_30k', 0.01);
SELECT * FROM cases('commit_write', 0.002);
SELECT * FROM cases('db2_load', 0.0001);
SELECT * FROM cases('polardbx_batch', 0.0005);
SELECT * FROM cases('blob_inline', 0.02);

-- what a row says of itself agrees with its report, and a conclusion with the
-- ratios it is drawn from
SELECT bool_and(s.elapsed_ms = (s.report).elapsed_ms AND s.rows_per_second = (s.report).rows_per_second
	AND s.scenario = 'psql_30k' AND s.unit = 'seconds') AS consistent,
	coalesce(bool_and(s.holds = ((s.ratio < 1) = (s.published_ratio < 1))), true) AS concluded,
	bool_and(s.holds IS NULL OR abs(s.ratio - 1) > 0.049) AS clear,
	round(sum(s.published)::numeric, 3) AS published
FROM ingest_scenario('psql_30k', 0.004) s;

-- nothing is left, whether it ends well or not
\set SHOW_CONTEXT never
SET statement_timeout = '500ms';
SELECT count(*) FROM ingest_scenario('commit_write', 1);
SET statement_timeout = '3s';
SELECT count(*) FROM ingest_scenario('psql_30k', 10);
RESET statement_timeout;
BEGIN;
SELECT count(*) FROM ingest_scenario('psql_30k', 0.004);
ROLLBACK;
SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ingest\_scenario%';
SELECT relname FROM pg_class WHERE relname LIKE 'ingest\_clone%';

-- bad input
SELECT ingest_scenario('psql_30');
SELECT ingest_scenario(NULL);
SELECT ingest_scenario('psql_30k', 0);
SELECT ingest_scenario('psql_30k', -1);
SELECT ingest_scenario('psql_30k', 'NaN');
SELECT ingest_scenario('psql_30k', 101);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT ingest_scenario('psql_30k', 0.01);
ROLLBACK;
BEGIN READ ONLY;
SELECT ingest_scenario('psql_30k', 0.01);
ROLLBACK;
CREATE ROLE regress_ingest_scenario;
SET ROLE regress_ingest_scenario;
\set VERBOSITY sqlstate
SELECT ingest_scenario('psql_30k', 0.01);
\set VERBOSITY default
RESET ROLE;
DROP ROLE regress_ingest_scenario;
DROP FUNCTION cases;
