/*-------------------------------------------------------------------------
 *
 * scenario_polardbx_batch.c
 *		How many rows an INSERT should have, and how many sessions there should
 *		be, after a guide to PolarDB-X.
 *
 * There a statement of more than 256 kB is cut into smaller ones (SPLIT), or not
 * (NONE).  The table has 32 shards, here partitions by hash.  The published
 * figures are rows per second by 32 sessions, or as many as the case says; here
 * batches are compared with two sessions, and up to four are tried, for which
 * the server needs max_worker_processes of at least 7.
 *
 * IDENTIFICATION
 *		src/scenario_polardbx_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scenario.h"

#define PER_ROW(rows_per_second)	(1e6 / (rows_per_second))

#define BATCH(table, split, rows, sessions) \
	"'$s." table "', 'SELECT * FROM $s.source', 'split_bytes " split "'," \
	" strategies => '{insert_values}', batch_rows => '{" rows "}'," \
	" workers => '{" sessions "}'"
#define SPLIT(rows)		BATCH("sharded", "''256kB''", rows, "2")
#define UNSPLIT(rows)	BATCH("sharded", "none", rows, "2")
#define DEGREE(sessions)	BATCH("sharded", "''256kB''", "1000", sessions)

static const IngestScenarioCase cases[] = {
	{"SPLIT, 1 row", PER_ROW(12804), 0, SPLIT("1"), NULL},
	{"SPLIT, 10 rows", PER_ROW(80987), 1, SPLIT("10"), NULL},
	{"SPLIT, 100 rows", PER_ROW(229995), 2, SPLIT("100"), NULL},
	{"SPLIT, 500 rows", PER_ROW(401215), 3, SPLIT("500"), NULL},
	{"SPLIT, 1,000 rows", PER_ROW(431579), 4, SPLIT("1000"), NULL},
	{"SPLIT, 2,000 rows", PER_ROW(410120), 5, SPLIT("2000"), NULL},
	{"SPLIT, 5,000 rows", PER_ROW(395398), 6, SPLIT("5000"), NULL},
	{"SPLIT, 10,000 rows", PER_ROW(389176), 7, SPLIT("10000"), NULL},
	{"NONE, 1,000 rows", PER_ROW(431579), 0, UNSPLIT("1000"), NULL},
	{"NONE, 2,000 rows", PER_ROW(463112), 9, UNSPLIT("2000"), NULL},
	{"NONE, 5,000 rows", PER_ROW(490350), 10, UNSPLIT("5000"), NULL},
	{"NONE, 10,000 rows", PER_ROW(526751), 11, UNSPLIT("10000"), NULL},
	{"NONE, 20,000 rows", PER_ROW(549990), 12, UNSPLIT("20000"), NULL},
	{"degree 1, 1,000 rows", PER_ROW(40967), 0, DEGREE("1"), NULL},
	{"degree 2, 1,000 rows", PER_ROW(80535), 14, DEGREE("2"), NULL},
	{"degree 4, 1,000 rows", PER_ROW(151415), 15, DEGREE("4"), NULL},
	{"one table instead of 32 shards, 1,000 rows", PER_ROW(431579 / 2), 5,
		BATCH("sbtest1", "''256kB''", "1000", "2"),
	"the study says \"about half\" of the figure with shards"},
};

const IngestScenario ingest_scenario_polardbx_batch = {
	.name = "polardbx_batch",
	.unit = "microseconds per row",
	.rows = 1000000,
	.scale = 0.05,
	.setup =
	"CREATE TABLE $s.sbtest1 (id int PRIMARY KEY, k int NOT NULL DEFAULT 0,"
	" c char(120), pad char(60));"
	"CREATE INDEX ON $s.sbtest1 (k);"
	"CREATE TABLE $s.sharded (LIKE $s.sbtest1 INCLUDING ALL) PARTITION BY HASH (id);"
	"DO $$ BEGIN"
	" FOR i IN 0 .. 31 LOOP"
	"  EXECUTE format('CREATE TABLE $s.sharded_%s PARTITION OF $s.sharded"
	" FOR VALUES WITH (MODULUS 32, REMAINDER %s)', i, i);"
	" END LOOP; END $$;"
	"CREATE TABLE $s.source AS SELECT g AS id, (hashint8(g) & 1048575) AS k,"
	" repeat(md5(g::text), 4)::char(120) AS c, repeat(md5(g::text), 2)::char(60) AS pad"
	" FROM generate_series(1, $n) g;"
	"ANALYZE $s.source",
	.ncases = lengthof(cases),
	.cases = cases,
};
