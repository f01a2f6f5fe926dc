/*-------------------------------------------------------------------------
 *
 * parallel.h
 *		Parallel workers in the caller's transaction.
 *
 * It knows nothing of loading: a caller names a function of this library,
 * which every worker runs with the shared memory the caller has filled.
 *
 *		p = ingest_parallel_begin(nworkers, size);
 *		... fill ingest_parallel_shared(p) ...
 *		ingest_parallel_launch(p, "my_entry");
 *		... do the leader's part ...
 *		ingest_parallel_wait(p);
 *		... read what the workers have left in shared memory ...
 *		ingest_parallel_finish(p, meter);
 *
 * Between begin and finish the leader is in parallel mode: no transaction id,
 * command id or subtransaction may be begun.
 *
 * IDENTIFICATION
 *		src/parallel.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_PARALLEL_H
#define INGEST_PARALLEL_H

#include "postgres.h"

#include "storage/dsm.h"
#include "storage/shm_toc.h"

#include "usage.h"

typedef struct IngestParallel IngestParallel;

/*
 * What a worker runs: its number counts from 1 (the leader may see itself as
 * 0).  The meter is running; what it has counted at the end is added to the
 * leader's.
 */
typedef void (*IngestParallelEntry) (void *shared, int worker,
									 IngestMeter *meter);

/* in parallel.c */
extern IngestParallel *ingest_parallel_begin(int nworkers, Size shared_size);
extern void *ingest_parallel_shared(IngestParallel *parallel);

/* Returns the number of workers that are started: possibly fewer, or none. */
extern int	ingest_parallel_launch(IngestParallel *parallel,
								   const char *entry);

/* Wait for the workers to end. */
extern void ingest_parallel_wait(IngestParallel *parallel);

/* Add up what the workers used, and leave parallel mode. */
extern void ingest_parallel_finish(IngestParallel *parallel,
								   IngestMeter *meter);

/*
 * Do some work on pages that workers may be waiting for, indexes that is, so
 * that they need not wait should it fail.  The work leaves nothing pinned,
 * open or attached.
 */
extern void ingest_parallel_guard(void (*work) (void *arg), void *arg);

extern PGDLLEXPORT void ingest_parallel_main(dsm_segment *seg, shm_toc *toc);

#endif							/* INGEST_PARALLEL_H */
