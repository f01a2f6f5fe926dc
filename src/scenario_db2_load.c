/*-------------------------------------------------------------------------
 *
 * scenario_db2_load.c
 *		Row-level against page-level loading of a partitioned table that has
 *		one index on its key, and one or two that have nothing to do with it,
 *		after a study of Db2 for z/OS V7.
 *
 * The study gives ratios of elapsed times; the published figures here are
 * multiples of its offline load with the same indexes.  Its index sets have
 * 8,000,000 rows to begin with, 4 for each that is added.  Page requests, WAL
 * records and page updates of each table and index are in the report.
 *
 * IDENTIFICATION
 *		src/scenario_db2_load.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scenario.h"

/* Arguments of the bench for the table with so many indexes. */
#define ADD(indexes)	"'$s.indexes" indexes "', 'SELECT * FROM $s.added'," \
	" preload => $n OPERATOR(pg_catalog.*) 4, strategies => "
#define INSERTS			"'{insert_prepared}', commit_rows => '{10000}'"
#define ONLINE			"'{online}'"
#define OFFLINE			"'{direct}'"
#define SORTKEYS		"'{direct}', workers => '{2}'"

static const IngestScenarioCase cases[] = {
	{"1 index: INSERT, commit every 10,000 rows", 3.64, 0, ADD("1") INSERTS, NULL},
	{"1 index: online load", 2.4, 1, ADD("1") ONLINE, NULL},
	{"1 index: offline load", 1, 2, ADD("1") OFFLINE, NULL},
	{"1 index: offline load, index keys sorted in parallel", 0, 0, ADD("1") SORTKEYS, NULL},
	{"2 indexes: INSERT, commit every 10,000 rows", 5.75, 0, ADD("2") INSERTS, NULL},
	{"2 indexes: online load", 4.6, 5, ADD("2") ONLINE, NULL},
	{"2 indexes: offline load", 1, 6, ADD("2") OFFLINE, NULL},
	{"2 indexes: offline load, index keys sorted in parallel", 0.65, 7, ADD("2") SORTKEYS, NULL},
	{"3 indexes: INSERT, commit every 10,000 rows", 7.29, 0, ADD("3") INSERTS, NULL},
	{"3 indexes: online load", 6.2, 9, ADD("3") ONLINE, NULL},
	{"3 indexes: offline load", 1, 10, ADD("3") OFFLINE, NULL},
	{"3 indexes: offline load, index keys sorted in parallel", 0.5, 11, ADD("3") SORTKEYS, NULL},
};

const IngestScenario ingest_scenario_db2_load = {
	.name = "db2_load",
	.unit = "multiples of the offline load's time",
	.rows = 2000000,
	.scale = 0.01,
	.setup =
	"CREATE TABLE $s.added (k int, n1 int, n2 int,"
	" i1 int, i2 int, i3 int, i4 int, i5 int, i6 int, i7 int,"
	" d1 numeric(7, 2), d2 numeric(7, 2), d3 numeric(7, 2), d4 numeric(7, 2),"
	" d5 numeric(7, 2), d6 numeric(7, 2), d7 numeric(7, 2), d8 numeric(7, 2),"
	" c1 char(1), c2 char(1), c3 char(1), c4 char(2), c5 char(2), c6 char(2),"
	" c7 char(2), c8 char(3));"
	"CREATE FUNCTION $s.bits(k int, part int) RETURNS int LANGUAGE sql IMMUTABLE"
	" RETURN (hashint8extended(k, part) & 134217727)::int;"
	"CREATE FUNCTION $s.rows(first int, last int) RETURNS SETOF $s.added LANGUAGE sql"
	" BEGIN ATOMIC"
	" SELECT k, $s.bits(k, 1), $s.bits(k, 2), $s.bits(k, 3), $s.bits(k, 4), $s.bits(k, 5),"
	" $s.bits(k, 6), $s.bits(k, 7), $s.bits(k, 8), $s.bits(k, 9),"
	" 0.01 * ($s.bits(k, 10) & 65535), 0.01 * ($s.bits(k, 11) & 65535),"
	" 0.01 * ($s.bits(k, 12) & 65535), 0.01 * ($s.bits(k, 13) & 65535),"
	" 0.01 * ($s.bits(k, 14) & 65535), 0.01 * ($s.bits(k, 15) & 65535),"
	" 0.01 * ($s.bits(k, 16) & 65535), 0.01 * ($s.bits(k, 17) & 65535),"
	" chr(65 + k % 26), chr(65 + k % 25), chr(65 + k % 23), 'ab', 'cd', 'ef', 'gh', 'ijk'"
	" FROM generate_series(first, last) k; END;"

	/* ten partitions of $n / 2 keys each; of these the last fifth is added */
	"DO $$ DECLARE width int := $n / 2; BEGIN"
	" FOR i IN 1 .. 3 LOOP"
	"  EXECUTE format('CREATE TABLE $s.indexes%s (LIKE $s.added) PARTITION BY RANGE (k)', i);"
	"  FOR p IN 0 .. 9 LOOP"
	"   EXECUTE format('CREATE TABLE $s.indexes%s_%s PARTITION OF $s.indexes%s"
	" FOR VALUES FROM (%s) TO (%s)', i, p, i, p * width + 1, (p + 1) * width + 1);"
	"  END LOOP;"
	"  EXECUTE format('INSERT INTO $s.indexes%s SELECT r.* FROM generate_series(0, 9) p,"
	" $s.rows(p * %s + 1, p * %s + %s / 5 * 4) r', i, width, width, width);"
	"  EXECUTE format('CREATE UNIQUE INDEX ON $s.indexes%s (k)', i);"
	"  IF i > 1 THEN EXECUTE format('CREATE INDEX ON $s.indexes%s (n1)', i); END IF;"
	"  IF i > 2 THEN EXECUTE format('CREATE INDEX ON $s.indexes%s (n2)', i); END IF;"
	" END LOOP;"
	" INSERT INTO $s.added SELECT r.* FROM generate_series(0, 9) p,"
	"  $s.rows(p * width + width / 5 * 4 + 1, (p + 1) * width) r;"
	"END $$",
	.ncases = lengthof(cases),
	.cases = cases,
};
