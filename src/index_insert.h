/*-------------------------------------------------------------------------
 *
 * index_insert.h
 *		Ways to put collected keys and rows into one index, and why an index
 *		is not filled in a better way.
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

/*
 * Why an index is not filled in a better way; kept in shared memory.  Their
 * texts are in index.c.
 */
typedef enum IngestIndexReason
{
	INGEST_INDEX_REASON_NONE,
	INGEST_INDEX_REASON_DEFERRABLE,
	INGEST_INDEX_REASON_EXCLUSION,
	INGEST_INDEX_REASON_EXPRESSIONS,
	INGEST_INDEX_REASON_OPCLASS,
	INGEST_INDEX_REASON_METHOD,
	INGEST_INDEX_REASON_NOT_BTREE,
	INGEST_INDEX_REASON_OLD_VERSION,
	INGEST_INDEX_REASON_COLLATION,
	INGEST_INDEX_REASON_SETTING,
	INGEST_INDEX_REASON_OWNER,
	INGEST_INDEX_REASON_INVALID,
	INGEST_INDEX_REASON_IN_USE,
} IngestIndexReason;

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

/* Fetch the transaction's own row, into a slot of the heap's kind. */
extern void ingest_index_fetch_row(Relation heap, ItemPointer tid,
								   TupleTableSlot *slot);

/* A row of the heap, its place in slot->tts_tid. */
extern void ingest_index_insert_row(IngestIndexTarget *target,
									ExprState *predicate,
									TupleTableSlot *slot);

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
 * inserted.  reason() says why the B-tree is not one this can be done with.
 */
extern IngestIndexReason ingest_index_leaf_reason(Relation index);
extern int64 ingest_index_insert_batches(IngestIndexTarget *target,
										 IngestKeyStream *stream);

/* In index_rebuild.c: by the server's own build; see there. */
extern IngestIndexReason ingest_index_rebuild_reason(Relation heap,
													 Relation index);
extern bool ingest_index_is_bare(Relation index);
extern void ingest_index_build_from_keys(IngestIndexTarget *target,
										 IngestKeyStream *stream, Size memory);
extern void ingest_index_build_from_table(Oid indexid, const char *indexname,
										  char persistence);

#endif							/* INGEST_INDEX_INSERT_H */
