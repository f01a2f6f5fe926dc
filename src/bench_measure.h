/*-------------------------------------------------------------------------
 *
 * bench_measure.h
 *		What a clone holds after a run, and what its relations have cost.
 *
 * IDENTIFICATION
 *		src/bench_measure.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_BENCH_MEASURE_H
#define INGEST_BENCH_MEASURE_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "report.h"
#include "session.h"

typedef struct IngestMeasurement
{
	int64		count;			/* rows */
	char	   *hash;			/* of the rows, whatever their order */
	List	   *relations;		/* of IngestReportRelation */
} IngestMeasurement;

/* in bench_measure.c */

/*
 * Have an idle session run hash_sql and look at the relations of the report's
 * meter (NULL: none), whose WAL is that between the report's positions.
 */
extern IngestMeasurement *ingest_bench_measure(IngestSession *session,
											   const char *hash_sql,
											   const IngestReport *report);

/* Found by name; not to be called. */
extern PGDLLEXPORT void ingest_bench_measure_job(StringInfo request,
												 StringInfo reply);

#endif							/* INGEST_BENCH_MEASURE_H */
