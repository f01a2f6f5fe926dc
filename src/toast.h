/*-------------------------------------------------------------------------
 *
 * toast.h
 *		Values of rows that are too long for a page, also in a worker.
 *
 * IDENTIFICATION
 *		src/toast.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_TOAST_H
#define INGEST_TOAST_H

#include "postgres.h"

#include "access/htup.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

#include "write_pages.h"

/* TOAST of one table, in one process. */
typedef struct IngestToaster IngestToaster;

/* in toast.c */

/*
 * rel is open and locked, and stays so.  Values go onto pages of the TOAST
 * table through pages.  State is allocated in CurrentMemoryContext.  Values of
 * a staging table get OIDs that are new in the TOAST table of the table it
 * is for as well.
 */
extern IngestToaster *ingest_toast_begin(Relation rel, IngestPages *pages);

/*
 * The slot's row as a tuple in CurrentMemoryContext that is as short as the
 * table's settings want it, its long values compressed or out of line.
 */
extern HeapTuple ingest_toast_row(IngestToaster *toaster,
								  TupleTableSlot *slot);

/*
 * Take over a row of another TOAST table, whose value no row of this one has
 * (see ingest_toast_begin()).
 */
extern void ingest_toast_adopt(IngestToaster *toaster, HeapTuple chunk);

/* Rows put into the TOAST table. */
extern int64 ingest_toast_rows(const IngestToaster *toaster);

/* Close the TOAST table; its pages have been flushed. */
extern void ingest_toast_end(IngestToaster *toaster);

#endif							/* INGEST_TOAST_H */
