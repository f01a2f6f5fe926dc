/*-------------------------------------------------------------------------
 *
 * index_insert.h
 *		Ways to put collected keys and rows into one index.
 *
 * IDENTIFICATION
 *		src/index_insert.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_INDEX_INSERT_H
#define INGEST_INDEX_INSERT_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "index_key.h"

/* An index being filled.  All of it is the caller's. */
typedef struct IngestIndexTarget
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	EState	   *estate;
} IngestIndexTarget;

/* in index_sorted.c: one entry at a time */
extern void ingest_index_insert_key(IngestIndexTarget *target,
									IndexTuple tuple);

/* The next two return the number of entries inserted. */
extern int64 ingest_index_insert_keys(IngestIndexTarget *target,
									  IngestKeyStream *stream);
extern int64 ingest_index_insert_rows(IngestIndexTarget *target,
									  IngestRunReader *reader,
									  const IngestKeySource *sources,
									  int nsources);

/*
 * The same for several indexes of one table, as the executor does it: with
 * exclusion constraints, and with deferrable ones, whose recheck is queued.
 */
extern void ingest_index_insert_serial(Relation heap, Relation *indexes,
									   int nindexes, EState *estate,
									   IngestRunReader *reader,
									   const IngestKeySource *sources,
									   int nsources);

/*
 * In index_leaf.c: leaf page by leaf page.  Returns the number of entries
 * inserted.  usable() says whether the B-tree is one this can be done with.
 */
extern bool ingest_index_leaf_usable(Relation index, const char **reason);
extern int64 ingest_index_insert_batches(IngestIndexTarget *target,
										 IngestKeyStream *stream);

#endif							/* INGEST_INDEX_INSERT_H */
