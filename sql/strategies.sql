-- The ways to load, as people see them.
SELECT strategy, description FROM ingest_strategies();
SELECT strategy, atomic, crash_safe, replicated, fires_triggers, lock,
	uses_batch_rows, commits
FROM ingest_strategies();

-- every object of the extension has a comment
SELECT p.proname
FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
	JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE e.extname = 'ingest_tools' AND obj_description(p.oid, 'pg_proc') IS NULL;
