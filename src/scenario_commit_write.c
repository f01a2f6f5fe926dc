/*-------------------------------------------------------------------------
 *
 * scenario_commit_write.c
 *		What a commit for each row costs, after an Oracle case.
 *
 * "wait" is synchronous_commit, "batch" is commit_delay without a number of
 * siblings to wait for.  The waits are in the report, with their seconds and
 * counts.
 *
 * IDENTIFICATION
 *		src/scenario_commit_write.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scenario.h"

#define EACH_ROW	"'$s.commit_write', 'SELECT * FROM $s.source'," \
	" strategies => '{insert_prepared}', commit_rows => '{1}', commit_modes => "
#define SAFE		"a crash loses nothing that was committed"
#define UNSAFE		"a crash can lose the last commits, those of up to three times wal_writer_delay"

static const IngestScenarioCase cases[] = {
	{"batch, wait", 58.36, 0, EACH_ROW "'{batch_wait}'", SAFE},
	{"immediate, wait", 56.68, 1, EACH_ROW "'{immediate_wait}'", SAFE},
	{"immediate, nowait", 25.22, 2, EACH_ROW "'{immediate_nowait}'", UNSAFE},
	{"batch, nowait", 19.87, 3, EACH_ROW "'{batch_nowait}'",
		UNSAFE "; commit_delay delays only commits that wait, and the study's modes differ by what they read from disk"},
	{"control: a commit after 1,000 rows, wait", 0, 0,
		"'$s.commit_write', 'SELECT * FROM $s.source',"
		" strategies => '{insert_prepared}', commit_rows => '{1000}'",
	SAFE},
};

const IngestScenario ingest_scenario_commit_write = {
	.name = "commit_write",
	.unit = "seconds",
	.rows = 50000,
	.scale = 0.5,
	.setup =
	"CREATE TABLE $s.commit_write (n numeric, v varchar(500));"
	"SELECT setseed(0.5);"
	"CREATE TABLE $s.source AS SELECT g::numeric AS n,"
	" (SELECT string_agg(chr(65 + (random() * 25)::int), '')"
	" FROM generate_series(1, 500) WHERE g > 0) AS v"
	" FROM generate_series(1, $n) g;"
	"ANALYZE $s.source",
	.ncases = lengthof(cases),
	.cases = cases,
};
