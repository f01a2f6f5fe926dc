/*-------------------------------------------------------------------------
 *
 * index_run.h
 *		Append-only runs of records in shared memory, past a limit in
 *		temporary files.
 *
 * A process writes its runs, publishes their heads, and from then on every
 * process can read them.  A record is MAXALIGNed bytes whose length its own
 * format tells; the store knows nothing of its content.
 *
 * IDENTIFICATION
 *		src/index_run.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_INDEX_RUN_H
#define INGEST_INDEX_RUN_H

#include "postgres.h"

#include "storage/fileset.h"
#include "utils/dsa.h"

typedef struct IngestRunStore IngestRunStore;
typedef struct IngestRunReader IngestRunReader;

/*
 * A run as its writer sees it.  Zeroed is empty.  The fields belong to
 * index_run.c.
 */
typedef struct IngestRun
{
	dsa_pointer first;			/* head of the chain of pieces */
	dsa_pointer last;
	char	   *last_address;	/* of piece "last" in this process */
	int64		records;

	/* first byte whose record is not yet in its place */
	dsa_pointer mark;
	uint32		mark_offset;
	bool		listed;			/* known to the store */
} IngestRun;

/* in index_run.c */

/*
 * Runs of process procno.  Past limit bytes they are moved to a file of the
 * set, when the writer calls ingest_run_relieve().
 */
extern IngestRunStore *ingest_run_store_begin(dsa_area *area, FileSet *files,
											  int procno, Size limit);

/* Room for len bytes (MAXALIGNed) at the end of the run. */
extern void *ingest_run_append(IngestRunStore *store, IngestRun *run,
							   Size len);

/*
 * Visit the records appended since the last call: visit() returns the length
 * of the one it is given.
 */
typedef Size (*IngestRunVisitor) (void *record, void *arg);
extern void ingest_run_settle(IngestRunStore *store, IngestRun *run,
							  IngestRunVisitor visit, void *arg);

/* Move settled runs to the file if there is too much in memory. */
extern void ingest_run_relieve(IngestRunStore *store);

/* No more appends; other processes may read from now on. */
extern void ingest_run_store_finish(IngestRunStore *store);

/* Reading: pieces one after the other, each an array of whole records. */
extern IngestRunReader *ingest_run_reader_begin(dsa_area *area, FileSet *files);
extern void ingest_run_reader_start(IngestRunReader *reader, int procno,
									dsa_pointer first);
extern char *ingest_run_reader_next(IngestRunReader *reader, Size *len);
extern void ingest_run_reader_end(IngestRunReader *reader);

#endif							/* INGEST_INDEX_RUN_H */
