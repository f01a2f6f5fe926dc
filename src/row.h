/*-------------------------------------------------------------------------
 *
 * row.h
 *		A row as the data area of a heap tuple.
 *
 * What a page needs is then one memcpy away, and a slot's values can point
 * into it.  Columns are appended in attribute order.
 *
 * IDENTIFICATION
 *		src/row.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_ROW_H
#define INGEST_ROW_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"

/* The data area of one tuple being formed. */
typedef struct IngestRow
{
	int			natts;			/* columns appended so far */
	bool		has_null;
	uint16		infomask;		/* HEAP_HASNULL, HEAP_HASVARWIDTH */
	char	   *data;			/* maximally aligned */
	Size		len;
	Size		size;			/* allocated */
	bool	   *isnull;			/* per column */
	uint32	   *offset;			/* of each value in data, where not null */
} IngestRow;

/* in row.c */

/* An empty row for tuples of that many columns, in CurrentMemoryContext. */
extern IngestRow *ingest_row_create(int natts);

/* Have room for size bytes altogether. */
extern void ingest_row_reserve(IngestRow *row, Size size);

/* Append a value, or NULL. */
extern void ingest_row_append(IngestRow *row, Form_pg_attribute att,
							  Datum value, bool isnull);

/* Append value n (from 0) of another row. */
extern void ingest_row_copy(IngestRow *row, Form_pg_attribute att,
							const IngestRow *from, int n);

/* Make the row hold what the slot holds. */
extern void ingest_row_from_slot(IngestRow *row, TupleTableSlot *slot);

/*
 * Let a virtual slot's values point into the row.  The slot's descriptor is
 * the row's, and the slot is good as long as the row is not changed.
 */
extern void ingest_row_to_slot(const IngestRow *row, TupleTableSlot *slot);

/* An attribute's alignment in bytes. */
extern Size ingest_row_alignment(Form_pg_attribute att);

static inline void
ingest_row_empty(IngestRow *row)
{
	row->natts = 0;
	row->len = 0;
	row->has_null = false;
	row->infomask = 0;
}

#endif							/* INGEST_ROW_H */
