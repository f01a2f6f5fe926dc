/*-------------------------------------------------------------------------
 *
 * chunk.h
 *		A file shared out to processes, record by record.
 *
 * The file is cut into chunks of equal size, which the processes take one
 * after the other.  A record belongs to the chunk its first byte is in.
 * Where records begin in a chunk depends on the quotes before it: each
 * process finds out what its chunk does to the state of quoting, whatever
 * that is at its beginning, and the chunks pass the state on in file order.
 *
 * IDENTIFICATION
 *		src/chunk.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_CHUNK_H
#define INGEST_CHUNK_H

#include "postgres.h"

#include "csv.h"
#include "source.h"

/* Bytes in a chunk, unless a test asks for others. */
#define INGEST_CHUNK_SIZE	(1024 * 1024)

/* The file's parts, in shared memory. */
typedef struct IngestChunkQueue IngestChunkQueue;

/* One process's part of the work. */
typedef struct IngestChunks IngestChunks;

/* in chunk.c */
extern Size ingest_chunk_queue_size(int nprocesses);

/*
 * The records from byte start, where one begins, to byte end, or beyond it if
 * the file grows.  first_line is the number of the line at byte start.  Raises
 * no errors.
 */
extern void ingest_chunk_queue_init(IngestChunkQueue *queue,
									const CopyFormatOptions *format,
									IngestCsvEol eol, int64 start, int64 end,
									bool grows, int64 first_line, int64 chunk_size,
									int nprocesses);

/*
 * Take part, as process 0 .. nprocesses - 1.  The state is allocated in
 * CurrentMemoryContext; the file belongs to the current (sub)transaction.
 */
extern IngestChunks *ingest_chunk_attach(IngestChunkQueue *queue, int process,
										 const char *path,
										 const CopyFormatOptions *format,
										 int max_fields);

/*
 * For the one process that has the feed of a file that grows: read_on adds to
 * it what comes next, false if nothing does.  A process that calls it until
 * then takes no chunk before, so that the others need not wait for it; one that
 * is alone need not call it, the file grows as it is read.
 */
extern void ingest_chunk_set_feed(IngestChunks *chunks, IngestFeed *feed);
extern bool ingest_chunk_read_on(IngestChunks *chunks);

/*
 * The next record of this process, split into fields, or false if there is
 * none left for it.  Raises COPY's errors for what is no record; record->data
 * is NULL then unless COPY would show it.  The record is good until the next
 * call.
 */
extern bool ingest_chunk_next(IngestChunks *chunks, IngestCsvRecord *record);

/* How far in the file the chunks are that have been handed out. */
extern int64 ingest_chunk_position(IngestChunkQueue *queue);

/*
 * The line that the process is at, as COPY counts.  Reads the file up to
 * there, so it is meant for an error message.
 */
extern int64 ingest_chunk_line(IngestChunks *chunks);

/*
 * This process has met an error in its chunk.  Nothing beyond the chunk will
 * be handed out; waits until everything before it has been done, because an
 * error there comes first.
 */
extern void ingest_chunk_fail(IngestChunks *chunks);

extern void ingest_chunk_detach(IngestChunks *chunks);

#endif							/* INGEST_CHUNK_H */
