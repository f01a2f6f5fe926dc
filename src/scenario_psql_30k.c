/*-------------------------------------------------------------------------
 *
 * scenario_psql_30k.c
 *		Six ways to insert 30,000 rows, after a thread on a PostgreSQL mailing
 *		list, whose first machine's seconds are the published figures.
 *
 * IDENTIFICATION
 *		src/scenario_psql_30k.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scenario.h"

#define WITH_IDS	"'$s.psql_30k', 'SELECT * FROM $s.source'"
#define WITHOUT_IDS	"'$s.psql_30k', 'SELECT n, x, y, t FROM $s.source', 'columns (n, x, y, t)'"

static const IngestScenarioCase cases[] = {
	{"one INSERT per transaction", 39.359, 0,
	WITHOUT_IDS ", strategies => '{insert}', commit_rows => '{1}'", NULL},
	{"all INSERTs in one transaction", 11.402, 1,
	WITHOUT_IDS ", strategies => '{insert}'", NULL},
	{"same, ids computed beforehand instead of the sequence", 10.138, 2,
	WITH_IDS ", strategies => '{insert}'", NULL},
	{"prepared INSERT, one transaction", 8.173, 3,
	WITH_IDS ", strategies => '{insert_prepared}'", NULL},
	{"COPY, ids from the sequence", 1.498, 4,
	WITHOUT_IDS ", strategies => '{copy}'", NULL},
	{"COPY, ids in the data", 1.286, 5,
	WITH_IDS ", strategies => '{copy}'", NULL},
};

const IngestScenario ingest_scenario_psql_30k = {
	.name = "psql_30k",
	.unit = "seconds",
	.rows = 30000,
	.scale = 1,
	.setup =
	"CREATE SEQUENCE $s.seq;"
	"CREATE TABLE $s.psql_30k (id bigint DEFAULT nextval('$s.seq'), n bigint,"
	" x double precision, y double precision, t timestamp);"
	"CREATE TABLE $s.source AS SELECT g::bigint AS id,"
	" g::bigint * 7919 % 30011 AS n, g / 7.0::double precision AS x,"
	" sqrt(g) AS y, timestamp '2002-06-01' + g * interval '1 second' AS t"
	" FROM generate_series(1, $n) g;"
	"ANALYZE $s.source",
	.ncases = lengthof(cases),
	.cases = cases,
};
