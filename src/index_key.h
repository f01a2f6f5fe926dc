/*-------------------------------------------------------------------------
 *
 * index_key.h
 *		Keys of a B-tree index: how they are kept, and how they are sorted.
 *
 * A key is one entry-to-be of a B-tree: the values of the index's columns and
 * the row's TID.  It is kept as an index tuple, or, where the index has one
 * column of a type whose order is that of an integer, as a word key.
 *
 * IDENTIFICATION
 *		src/index_key.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_INDEX_KEY_H
#define INGEST_INDEX_KEY_H

#include "postgres.h"

#include "access/itup.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "index_run.h"

/*
 * A word key: word's unsigned order is the order of the index, direction
 * included; NULLs are apart.
 */
typedef struct IngestWordKey
{
	uint64		word;
	ItemPointerData tid;
	uint16		isnull;
} IngestWordKey;

typedef enum IngestKeyKind
{
	INGEST_KEY_TUPLE,			/* index tuples */
	INGEST_KEY_INT32,			/* word keys of a 4-byte integer */
	INGEST_KEY_INT64,			/* word keys of an 8-byte integer */
} IngestKeyKind;

#define INGEST_INT32_SIGN	((uint64) 0x80000000)
#define INGEST_INT64_SIGN	(UINT64CONST(1) << 63)

/* How keys of one index are kept; the same in every process. */
typedef struct IngestKeyFormat
{
	Relation	heap;
	Relation	index;
	IngestKeyKind kind;
	SortSupportData lead;		/* order of the first column */
} IngestKeyFormat;

/* Where the keys of an index are: one run per process that found any. */
typedef struct IngestKeySource
{
	int			procno;
	dsa_pointer first;
} IngestKeySource;

/*
 * Part of the key space: keys k with lower <= k < upper by their first
 * column; NULL bounds are infinite.  A bound is a key as kept.
 */
typedef struct IngestKeyRange
{
	const char *lower;
	const char *upper;
} IngestKeyRange;

typedef struct IngestKeyStream IngestKeyStream;

/* An integer as a word in the index's order. */
static inline uint64
ingest_key_word(const IngestKeyFormat *format, Datum value)
{
	uint64		word;

	if (format->kind == INGEST_KEY_INT32)
		word = (uint32) DatumGetInt32(value) ^ INGEST_INT32_SIGN;
	else
		word = (uint64) DatumGetInt64(value) ^ INGEST_INT64_SIGN;
	return format->lead.ssup_reverse ? ~word : word;
}

/* in index_key.c */
extern void ingest_key_format_init(IngestKeyFormat *format, Relation heap,
								   Relation index);

/* Append a key to a run. */
extern void ingest_key_append(const IngestKeyFormat *format,
							  IngestRunStore *store, IngestRun *run,
							  Datum *values, bool *isnull, ItemPointer tid);
extern Size ingest_key_size(const IngestKeyFormat *format, const char *key);
extern ItemPointer ingest_key_tid(const IngestKeyFormat *format, char *key);

/*
 * The word of an index tuple whose only key column is not NULL, for formats
 * that have words.
 */
static inline uint64
ingest_key_tuple_word(const IngestKeyFormat *format, IndexTuple tuple)
{
	const char *data = (const char *) tuple +
		IndexInfoFindDataOffset(tuple->t_info);

	return ingest_key_word(format, format->kind == INGEST_KEY_INT32 ?
						   Int32GetDatum(*(const int32 *) data) :
						   Int64GetDatum(*(const int64 *) data));
}

/* Compare two kept keys by their first column (qsort_arg comparator). */
extern int	ingest_key_compare_lead(const char *a, const char *b,
									IngestKeyFormat *format);

/* Bytes of memory that sorting a key takes, all told, if it is known. */
extern Size ingest_key_sort_space(const IngestKeyFormat *format);

/*
 * The keys of a range in the index's order, TIDs as the last column.  nkeys
 * is about how many there are, memory the bytes they may take (past it they
 * are sorted through temporary files).  A tuple returned is valid until the
 * next call; NULL at the end.
 */
extern IngestKeyStream *ingest_key_stream_begin(IngestKeyFormat *format,
												IngestRunReader *reader,
												const IngestKeySource *sources,
												int nsources,
												const IngestKeyRange *range,
												int64 nkeys, Size memory);
extern IndexTuple ingest_key_stream_next(IngestKeyStream *stream);
extern void ingest_key_stream_end(IngestKeyStream *stream);

#endif							/* INGEST_INDEX_KEY_H */
