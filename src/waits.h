/*-------------------------------------------------------------------------
 *
 * waits.h
 *		Wait events of working processes, sampled.
 *
 * The server keeps no exact counts of waits, so the process that waits for
 * the workers looks at them every ingest_tools.wait_sample_interval and books
 * the time since its last look to the event it sees ("CPU" when there is
 * none, as pg_stat_activity shows a NULL wait_event).
 *
 * IDENTIFICATION
 *		src/waits.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_WAITS_H
#define INGEST_WAITS_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct IngestWait
{
	const char *type;			/* wait event type, or "CPU" */
	const char *event;			/* NULL for "CPU" */
	int64		samples;
	int64		us;				/* time booked, microseconds */
} IngestWait;

typedef struct IngestWaits IngestWaits;

/* in waits.c */
extern IngestWaits *ingest_waits_begin(void);
extern void ingest_waits_sample(IngestWaits *waits, const int *pids, int npids);
extern List *ingest_waits_list(const IngestWaits *waits);	/* longest first */

#endif							/* INGEST_WAITS_H */
