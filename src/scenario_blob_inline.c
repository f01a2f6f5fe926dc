/*-------------------------------------------------------------------------
 *
 * scenario_blob_inline.c
 *		Large values beside ordinary rows: logged or not, out of line or in
 *		their rows, after a field report on Db2 LUW.
 *
 * Three values of four would fit into their rows if these were allowed to be
 * that long, as there.  None can be compressed, which the report does not
 * speak of; without compression nothing is tried either.  The report took all
 * its remedies together: only the first and the last case have figures.  What
 * the TOAST table took of the buffers and the WAL is in the report of a case.
 *
 * IDENTIFICATION
 *		src/scenario_blob_inline.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scenario.h"

#define LOAD(table)		"'$s." table "', 'SELECT * FROM $s.source', strategies => '{copy}'"
#define LOST			"a crash empties the table"

static const IngestScenarioCase cases[] = {
	{"logged, values out of line", 24593, 0, LOAD("logged"), NULL},
	{"logged, values in their rows where they fit", 0, 0, LOAD("logged_inline"), NULL},
	{"logged, values out of line without compression", 0, 0, LOAD("logged_external"), NULL},
	{"not logged, values out of line", 0, 0, LOAD("unlogged"), LOST},
	{"not logged, values out of line without compression", 0, 0, LOAD("unlogged_external"), LOST},
	{"not logged, values in their rows where they fit", 1622, 1, LOAD("unlogged_inline"), LOST},
};

const IngestScenario ingest_scenario_blob_inline = {
	.name = "blob_inline",
	.unit = "milliseconds of writes",
	.rows = 5000,
	.scale = 4,
	.setup =
	"CREATE TABLE $s.logged (id int PRIMARY KEY, changed timestamp, v bytea);"
	"CREATE UNLOGGED TABLE $s.unlogged (LIKE $s.logged INCLUDING ALL);"
	"CREATE TABLE $s.logged_inline (LIKE $s.logged INCLUDING ALL) WITH (toast_tuple_target = 8160);"
	"CREATE UNLOGGED TABLE $s.unlogged_inline (LIKE $s.logged INCLUDING ALL) WITH (toast_tuple_target = 8160);"
	"CREATE TABLE $s.logged_external (LIKE $s.logged INCLUDING ALL);"
	"CREATE UNLOGGED TABLE $s.unlogged_external (LIKE $s.logged INCLUDING ALL);"
	"ALTER TABLE $s.logged_inline ALTER v SET STORAGE main;"
	"ALTER TABLE $s.unlogged_inline ALTER v SET STORAGE main;"
	"ALTER TABLE $s.logged_external ALTER v SET STORAGE external;"
	"ALTER TABLE $s.unlogged_external ALTER v SET STORAGE external;"
	"CREATE TABLE $s.source AS SELECT g AS id, timestamp '2010-01-01' + g * interval '1 second' AS changed,"
	" (SELECT string_agg(sha512(int4send(g) || int4send(i)), '' ORDER BY i)"
	"  FROM generate_series(1, CASE WHEN g % 4 = 0 THEN 180 ELSE 35 + g % 20 END) i) AS v"
	" FROM generate_series(1, $n) g;"
	"ANALYZE $s.source",
	.ncases = lengthof(cases),
	.cases = cases,
};
