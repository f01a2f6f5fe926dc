/*-------------------------------------------------------------------------
 *
 * key_set.h
 *		The distinct keys among many rows, each with the first row that has it.
 *
 * IDENTIFICATION
 *		src/key_set.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_KEY_SET_H
#define INGEST_KEY_SET_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "storage/itemptr.h"

typedef struct IngestKeySet IngestKeySet;

/* in key_set.c */

/*
 * An empty set in CurrentMemoryContext.  A key is the first nkeys columns of
 * desc, which must stay as long as the set does.
 */
extern IngestKeySet *ingest_key_set_begin(TupleDesc desc, int nkeys);

/*
 * Add a key; returns its number, or -1 if it is there already.  Values out of
 * line or compressed in values[] are replaced by the plain ones, in
 * CurrentMemoryContext.
 */
extern int64 ingest_key_set_add(IngestKeySet *set, Datum *values,
								const bool *isnull, ItemPointer tid);

extern int64 ingest_key_set_count(const IngestKeySet *set);

/* Memory that the keys take, in bytes. */
extern Size ingest_key_set_size(const IngestKeySet *set);

/* Mark a key by its number. */
extern void ingest_key_set_mark(IngestKeySet *set, int64 number);

/*
 * Put the rows of the keys without a mark into tids, which has room for one
 * of each key; returns how many there are.
 */
extern int64 ingest_key_set_unmarked(const IngestKeySet *set,
									 ItemPointer tids);

/* Forget all keys. */
extern void ingest_key_set_reset(IngestKeySet *set);

#endif							/* INGEST_KEY_SET_H */
