/*-------------------------------------------------------------------------
 *
 * progress.h
 *		Where a running load is, for pg_stat_progress_copy and
 *		ingest_progress.
 *
 * IDENTIFICATION
 *		src/progress.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_PROGRESS_H
#define INGEST_PROGRESS_H

#include "postgres.h"

/* What the process does; the view ingest_progress has the names. */
typedef enum IngestStage
{
	INGEST_STAGE_LOADING = 1,
	INGEST_STAGE_SPOOLING,		/* reading the source once */
	INGEST_STAGE_REFERENCE,		/* what COPY leaves, to verify against */
	INGEST_STAGE_CLONING,
	INGEST_STAGE_CHECKPOINT,
	INGEST_STAGE_RUNNING,		/* background sessions load */
	INGEST_STAGE_VERIFYING,
} IngestStage;

/* in progress.c */
extern void ingest_progress_begin(Oid relid, int strategy, int leader_pid);
extern void ingest_progress_mark(void);
extern void ingest_progress_total(int64 bytes);
extern void ingest_progress_rows(int64 rows, int64 bytes);
extern void ingest_progress_stage(IngestStage stage);
extern void ingest_progress_run(int run, int runs, int strategy);
extern void ingest_progress_end(void);

#endif							/* INGEST_PROGRESS_H */
