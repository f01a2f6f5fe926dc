/*-------------------------------------------------------------------------
 *
 * convert.h
 *		Fields to the bytes of a heap tuple.
 *
 * A row is kept as the data area of a heap tuple, as heap_fill_tuple() lays
 * it out: what a page needs is then one memcpy away, and a slot's values can
 * point into it.  Columns are appended in attribute order.
 *
 * IDENTIFICATION
 *		src/convert.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_CONVERT_H
#define INGEST_CONVERT_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"

/*
 * A field.  data need not be NUL-terminated; NULL stands for SQL NULL.
 */
typedef struct IngestField
{
	const char *data;
	size_t		len;
} IngestField;

/* The data area of one tuple being formed. */
typedef struct IngestRow
{
	int			natts;			/* columns appended so far */
	bool		has_null;
	uint16		infomask;		/* HEAP_HASNULL, HEAP_HASVARWIDTH */
	char	   *data;			/* maximally aligned */
	Size		len;
	Size		size;			/* allocated */
	Size		reserve;		/* what the record in hand may take, at most */
	bool	   *isnull;			/* per column */
	uint32	   *offset;			/* of each value in data, where not null */
	MemoryContext context;		/* owns all of it */
} IngestRow;

typedef struct IngestConverter IngestConverter;

/* in convert.c */
extern IngestConverter *ingest_convert_begin(TupleDesc desc);

/* May the column's input function run in a parallel worker? */
extern bool ingest_convert_parallel_safe(TupleDesc desc, int attnum);

/* An empty row for tuples of that many columns, in CurrentMemoryContext. */
extern IngestRow *ingest_row_create(int natts);

/*
 * Empty the row, and make room for any row of a record of that many bytes.
 */
extern void ingest_convert_start(IngestConverter *converter, IngestRow *row,
								 size_t record_len);

/*
 * Append column attnum (from 1), the next one.  What the type's input
 * function allocates stays in CurrentMemoryContext, which the caller resets
 * from row to row.
 */
extern void ingest_convert_field(IngestConverter *converter, IngestRow *row,
								 int attnum, IngestField field);

/* Call the input function for its error, or to learn the value. */
extern Datum ingest_convert_call(IngestConverter *converter, int attnum,
								 IngestField field);

/* Append a value that is there already. */
extern void ingest_row_append(IngestRow *row, Form_pg_attribute att,
							  Datum value, bool isnull);

/* Make the row hold what the slot holds. */
extern void ingest_row_from_slot(IngestRow *row, TupleTableSlot *slot);

/* Let a virtual slot's values point into the row. */
extern void ingest_row_to_slot(const IngestRow *row, TupleTableSlot *slot);

/*
 * The column whose input function runs, for an error context: 0 if none does.
 * *field is what it was given.
 */
extern int	ingest_convert_current(const IngestConverter *converter,
								   const char **field);

#endif							/* INGEST_CONVERT_H */
