/*-------------------------------------------------------------------------
 *
 * write_pages.h
 *		Rows to whole heap pages, appended to their relation.
 *
 * Pages are built in private memory and copied into shared buffers past the
 * end of the relation, a batch at a time.  Leader and parallel workers may do
 * so at the same time, with any relation, in the same transaction.
 *
 * IDENTIFICATION
 *		src/write_pages.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_WRITE_PAGES_H
#define INGEST_WRITE_PAGES_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/relcache.h"

#include "row.h"
#include "usage.h"

/* Pages that are appended to a relation at once. */
#define INGEST_PAGES_BATCH	32

/* All the pages a process has in memory. */
typedef struct IngestPages IngestPages;

/* Those of one relation. */
typedef struct IngestPageWriter IngestPageWriter;

/*
 * Called when a batch is in the relation: pages[i], of the caller's rows in
 * the order of their putting, is block blocks[i].
 */
typedef void (*IngestPagesPlaced) (void *arg, const Page *pages,
								   const BlockNumber *blocks, int nblocks);

/* in write_pages.c */

/*
 * The transaction id and command id are those of the rows; both are assigned
 * before parallel mode begins.  State is allocated in CurrentMemoryContext.
 * meter (NULL for none) is told which relation the work is for.
 */
extern IngestPages *ingest_pages_begin(TransactionId xid, CommandId cid,
									   IngestMeter *meter);

/*
 * From now on pages are those of storage that nobody sees before it has been
 * logged as a whole: they are not logged.  With frozen their rows are seen by
 * everybody then.
 */
extern void ingest_pages_stage(IngestPages *pages, bool frozen);
extern bool ingest_pages_staged(const IngestPages *pages);

/*
 * Write pages of a relation: heap access method, opened and locked by the
 * caller.  placed may be NULL.
 */
extern IngestPageWriter *ingest_pages_open(IngestPages *pages, Relation rel,
										   IngestPagesPlaced placed,
										   void *arg);

/*
 * Put a row, or a tuple whose header's transaction fields are yet to be set,
 * on a page.  tid is set to its place, where the block is the ordinal of the
 * page in its batch.  Raises the server's error if it does not fit a page.
 */
extern void ingest_pages_put(IngestPageWriter *writer, const IngestRow *row,
							 ItemPointer tid);
extern void ingest_pages_put_tuple(IngestPageWriter *writer, HeapTuple tuple,
								   ItemPointer tid);

/* Append all pages there are. */
extern void ingest_pages_flush(IngestPages *pages);

#endif							/* INGEST_WRITE_PAGES_H */
