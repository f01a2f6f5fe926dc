/*-------------------------------------------------------------------------
 *
 * convert.h
 *		Fields to the bytes of a heap tuple.
 *
 * Fields are in the server's encoding and known to be valid in it.
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

#include "csv.h"
#include "row.h"

typedef struct IngestConverter IngestConverter;

/* in convert.c */

/*
 * A converter for rows of that descriptor, which must outlive it, as
 * CurrentMemoryContext does.
 */
extern IngestConverter *ingest_convert_begin(TupleDesc desc);

/* May the column's input function run in a parallel worker? */
extern bool ingest_convert_parallel_safe(TupleDesc desc, int attnum);

/*
 * Empty the row, and make room for any row of a record of that many bytes.
 */
extern void ingest_convert_start(IngestConverter *converter, IngestRow *row,
								 size_t record_len);

/*
 * Append the fields of n columns from attnum (from 1) on, or of one column,
 * behind what the row has.  A field whose data is NULL stands for SQL NULL.
 * What input functions allocate stays in CurrentMemoryContext, which the
 * caller resets from row to row.
 */
extern void ingest_convert_fields(IngestConverter *converter, IngestRow *row,
								  int attnum, const IngestCsvField *fields,
								  int n);

/*
 * The column whose input function runs, for an error context: 0 if none does.
 * *field is what it was given.
 */
extern int	ingest_convert_current(const IngestConverter *converter,
								   const char **field);

#endif							/* INGEST_CONVERT_H */
