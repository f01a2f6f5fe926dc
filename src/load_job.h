/*-------------------------------------------------------------------------
 *
 * load_job.h
 *		A load as a job for a background session: request and reply.
 *
 * IDENTIFICATION
 *		src/load_job.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_LOAD_JOB_H
#define INGEST_LOAD_JOB_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "lib/stringinfo.h"

#include "load.h"

#define INGEST_LOAD_JOB		"ingest_load_job"

/*
 * First part of the reply; the reason, which may be NULL, the name of the
 * strategy used and the session's meter follow.
 */
typedef struct IngestLoadResult
{
	int64		rows_read;		/* -1: unknown */
	int64		rows_loaded;
	int64		commits;
	int64		start_us;		/* the machine's monotonic clock, which */
	int64		end_us;			/* all processes of the server share */
	XLogRecPtr	start_lsn;
	XLogRecPtr	end_lsn;
	int			workers_used;	/* processes, the session included */
} IngestLoadResult;

/* in load.c */
extern void ingest_load_job_put(StringInfo request, const IngestLoad *load);
extern PGDLLEXPORT void ingest_load_job(StringInfo request, StringInfo reply);

#endif							/* INGEST_LOAD_JOB_H */
