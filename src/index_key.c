/*-------------------------------------------------------------------------
 *
 * index_key.c
 *		Keys of a B-tree index: how they are kept, and how they are sorted.
 *
 * Index tuples are sorted by the server's tuplesort, in the order a CREATE
 * INDEX would give them, which spills past the memory it is given.  Word keys
 * are sorted here, by radix, as long as they fit; if they do not, they go
 * through tuplesort as well.
 *
 * Which types may be kept as words is asked of the operator class: it offers
 * one of the server's own integer comparators through SortSupport, or it does
 * not (nbtcompare.c, timestamp.c and date.c do).
 *
 * IDENTIFICATION
 *		src/index_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/tuplesort.h"

#include "compat.h"
#include "index_key.h"
#include "prefault.h"

#define ST_SORT sort_word_keys_by_tid
#define ST_ELEMENT_TYPE IngestWordKey
#define ST_COMPARE(a, b) ItemPointerCompare(&(a)->tid, &(b)->tid)
#define ST_SCOPE static
#define ST_DECLARE
#define ST_DEFINE
#include "lib/sort_template.h"

struct IngestKeyStream
{
	IngestKeyFormat *format;
	MemoryContext context;		/* of all below */

	/* word keys sorted here: non-NULLs and NULLs apart */
	IngestWordKey *words;
	int64		nwords;
	IngestWordKey *nulls;
	int64		nnulls;
	int64		next;			/* over both, in the order of the index */
	IndexTuple	word_tuple;		/* what a word is handed out as */
	IndexTuple	null_tuple;

	/* anything else */
	Tuplesortstate *sort;
};

/* Fill in format->lead, as tuplesort_begin_index_btree() would. */
static void
init_lead(IngestKeyFormat *format)
{
	BTScanInsert insert_key = _bt_mkscankey(format->index, NULL);
	ScanKey		key = &insert_key->scankeys[0];
	SortSupport lead = &format->lead;

	memset(lead, 0, sizeof(SortSupportData));
	lead->ssup_cxt = CurrentMemoryContext;
	lead->ssup_collation = key->sk_collation;
	lead->ssup_nulls_first = (key->sk_flags & SK_BT_NULLS_FIRST) != 0;
	lead->ssup_attno = key->sk_attno;
	lead->abbreviate = false;
	PrepareSortSupportFromIndexRelCompat(format->index,
										 (key->sk_flags & SK_BT_DESC) != 0,
										 lead);
	pfree(insert_key);
}

/*
 * Decide how keys of the index are kept.  What the format refers to is
 * allocated in CurrentMemoryContext; the relations stay the caller's.
 */
void
ingest_key_format_init(IngestKeyFormat *format, Relation heap, Relation index)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), 0);

	format->heap = heap;
	format->index = index;
	format->kind = INGEST_KEY_TUPLE;
	init_lead(format);

	if (IndexRelationGetNumberOfAttributes(index) != 1 || !att->attbyval)
		return;
	if (format->lead.comparator == ssup_datum_int32_cmp &&
		att->attlen == sizeof(int32))
		format->kind = INGEST_KEY_INT32;
#if SIZEOF_DATUM >= 8
	else if (format->lead.comparator == ssup_datum_signed_cmp &&
			 att->attlen == sizeof(int64))
		format->kind = INGEST_KEY_INT64;
#endif
}

static inline Datum
datum_from_word(const IngestKeyFormat *format, uint64 word)
{
	if (format->lead.ssup_reverse)
		word = ~word;
	if (format->kind == INGEST_KEY_INT32)
		return Int32GetDatum((int32) (uint32) (word ^ INGEST_INT32_SIGN));
	return Int64GetDatum((int64) (word ^ INGEST_INT64_SIGN));
}

void
ingest_key_append(const IngestKeyFormat *format, IngestRunStore *store,
				  IngestRun *run, Datum *values, bool *isnull, ItemPointer tid)
{
	if (format->kind == INGEST_KEY_TUPLE)
	{
		IndexTuple	tuple = index_form_tuple(RelationGetDescr(format->index),
											 values, isnull);

		tuple->t_tid = *tid;
		memcpy(ingest_run_append(store, run, MAXALIGN(IndexTupleSize(tuple))),
			   tuple, IndexTupleSize(tuple));
		pfree(tuple);
	}
	else
	{
		IngestWordKey *key = ingest_run_append(store, run,
											   sizeof(IngestWordKey));

		key->word = isnull[0] ? 0 : ingest_key_word(format, values[0]);
		key->tid = *tid;
		key->isnull = isnull[0];
	}
}

Size
ingest_key_size(const IngestKeyFormat *format, const char *key)
{
	if (format->kind == INGEST_KEY_TUPLE)
		return MAXALIGN(IndexTupleSize((IndexTuple) key));
	return sizeof(IngestWordKey);
}

ItemPointer
ingest_key_tid(const IngestKeyFormat *format, char *key)
{
	if (format->kind == INGEST_KEY_TUPLE)
		return &((IndexTuple) key)->t_tid;
	return &((IngestWordKey *) key)->tid;
}

int
ingest_key_compare_lead(const char *a, const char *b, IngestKeyFormat *format)
{
	if (format->kind == INGEST_KEY_TUPLE)
	{
		TupleDesc	desc = RelationGetDescr(format->index);
		Datum		avalue,
					bvalue;
		bool		anull,
					bnull;

		avalue = index_getattr((IndexTuple) a, 1, desc, &anull);
		bvalue = index_getattr((IndexTuple) b, 1, desc, &bnull);
		return ApplySortComparator(avalue, anull, bvalue, bnull,
								   &format->lead);
	}
	else
	{
		const IngestWordKey *akey = (const IngestWordKey *) a;
		const IngestWordKey *bkey = (const IngestWordKey *) b;

		if (akey->isnull || bkey->isnull)
		{
			if (akey->isnull && bkey->isnull)
				return 0;
			return (akey->isnull != 0) == format->lead.ssup_nulls_first ? -1 : 1;
		}
		if (akey->word == bkey->word)
			return 0;
		return akey->word < bkey->word ? -1 : 1;
	}
}

Size
ingest_key_sort_space(const IngestKeyFormat *format)
{
	/* Keys and the radix sort's second copy; tuplesort minds its own memory. */
	return format->kind == INGEST_KEY_TUPLE ? 0 : 2 * sizeof(IngestWordKey);
}

/* Does a key belong to the range? */
static inline bool
in_range(const char *key, const IngestKeyRange *range, IngestKeyFormat *format)
{
	if (range->lower &&
		ingest_key_compare_lead(key, range->lower, format) < 0)
		return false;
	return range->upper == NULL ||
		ingest_key_compare_lead(key, range->upper, format) < 0;
}

/*
 * Sort keys by word, least significant byte first; bytes that are the same in
 * all keys cost nothing.  copy has room for as many keys.  Returns whichever
 * of the two arrays holds the result.
 */
static IngestWordKey *
radix_sort(IngestWordKey *keys, IngestWordKey *copy, int64 n)
{
	uint64		(*counts)[256] = palloc0(sizeof(uint64) * 256 * sizeof(uint64));

	for (int64 i = 0; i < n; i++)
	{
		uint64		word = keys[i].word;

		for (int byte = 0; byte < (int) sizeof(uint64); byte++)
			counts[byte][(word >> (8 * byte)) & 0xFF]++;
	}

	for (int byte = 0; byte < (int) sizeof(uint64); byte++)
	{
		uint64	   *place = counts[byte];
		uint64		sum = 0;
		IngestWordKey *swap;

		if (n == 0 || place[(keys[0].word >> (8 * byte)) & 0xFF] == (uint64) n)
			continue;
		CHECK_FOR_INTERRUPTS();

		for (int value = 0; value < 256; value++)
		{
			uint64		count = place[value];

			place[value] = sum;
			sum += count;
		}
		for (int64 i = 0; i < n; i++)
			copy[place[(keys[i].word >> (8 * byte)) & 0xFF]++] = keys[i];
		swap = keys;
		keys = copy;
		copy = swap;
	}

	pfree(counts);
	return keys;
}

/* Put keys of the same word in the order of their TIDs. */
static void
order_equal_words(IngestWordKey *keys, int64 n)
{
	int64		start = 0;

	while (start < n)
	{
		int64		end = start + 1;

		while (end < n && keys[end].word == keys[start].word)
			end++;
		if (end - start > 1)
			sort_word_keys_by_tid(keys + start, end - start);
		start = end;
	}
}

/* A growing array of word keys, up to a limit. */
typedef struct WordArray
{
	IngestWordKey *keys;
	int64		n;
	int64		size;
	int64		limit;
} WordArray;

static void
word_array_grow(WordArray *array, int64 size)
{
	Size		bytes;

	array->size = Min(size, array->limit);
	bytes = array->size * sizeof(IngestWordKey);
	array->keys = array->keys == NULL ?
		palloc_extended(bytes, MCXT_ALLOC_HUGE) :
		repalloc_huge(array->keys, bytes);
	ingest_prefault(array->keys + array->n,
					(array->size - array->n) * sizeof(IngestWordKey));
}

static inline bool
word_array_add(WordArray *array, const IngestWordKey *key)
{
	if (unlikely(array->n == array->size))
	{
		if (array->size >= array->limit)
			return false;
		word_array_grow(array, Max(array->size * 2, 64));
	}
	array->keys[array->n++] = *key;
	return true;
}

/* The tuples that word keys are handed out as. */
static void
init_word_tuples(IngestKeyStream *stream)
{
	TupleDesc	desc = RelationGetDescr(stream->format->index);
	Datum		value = datum_from_word(stream->format, 0);
	bool		isnull = false;

	stream->word_tuple = index_form_tuple(desc, &value, &isnull);
	isnull = true;
	stream->null_tuple = index_form_tuple(desc, &value, &isnull);
}

/*
 * Read and sort word keys within memory bytes.  Returns false if there are too
 * many, with nothing kept.
 */
static bool
sort_words(IngestKeyStream *stream, IngestRunReader *reader,
		   const IngestKeySource *sources, int nsources,
		   const IngestKeyRange *range, int64 nkeys, Size memory)
{
	WordArray	words = {0};
	WordArray	nulls = {0};
	WordArray	copy = {0};

	words.limit = nulls.limit = memory / (2 * sizeof(IngestWordKey));
	if (nkeys > words.limit)
		return false;

	/* a little more, because of a range the number is an estimate */
	word_array_grow(&words, nkeys + nkeys / 8 + 1);

	for (int i = 0; i < nsources; i++)
	{
		char	   *piece;
		Size		len;

		ingest_run_reader_start(reader, sources[i].procno, sources[i].first);
		while ((piece = ingest_run_reader_next(reader, &len)) != NULL)
		{
			const IngestWordKey *key = (const IngestWordKey *) piece;
			const IngestWordKey *end = (const IngestWordKey *) (piece + len);

			CHECK_FOR_INTERRUPTS();
			for (; key < end; key++)
			{
				if (!in_range((const char *) key, range, stream->format))
					continue;
				if (!word_array_add(key->isnull ? &nulls : &words, key))
				{
					MemoryContextReset(stream->context);
					return false;
				}
			}
		}
	}

	copy.limit = words.limit;
	word_array_grow(&copy, Max(words.n, 1));
	stream->words = radix_sort(words.keys, copy.keys, words.n);
	stream->nwords = words.n;
	order_equal_words(stream->words, words.n);
	stream->nulls = nulls.keys;
	stream->nnulls = nulls.n;
	if (nulls.n > 1)
		sort_word_keys_by_tid(nulls.keys, nulls.n);
	init_word_tuples(stream);
	return true;
}

/* Give one kept key to tuplesort. */
static void
put_key(IngestKeyStream *stream, char *key)
{
	IngestKeyFormat *format = stream->format;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (format->kind == INGEST_KEY_TUPLE)
		index_deform_tuple((IndexTuple) key, RelationGetDescr(format->index),
						   values, isnull);
	else
	{
		IngestWordKey *word = (IngestWordKey *) key;

		isnull[0] = word->isnull;
		values[0] = datum_from_word(format, word->word);
	}
	tuplesort_putindextuplevalues(stream->sort, format->index,
								  ingest_key_tid(format, key),
								  values, isnull);
}

/* Sort keys of any kind with the server's tuplesort. */
static void
sort_tuples(IngestKeyStream *stream, IngestRunReader *reader,
			const IngestKeySource *sources, int nsources,
			const IngestKeyRange *range, Size memory)
{
	IngestKeyFormat *format = stream->format;

	stream->sort = tuplesort_begin_index_btree(format->heap, format->index,
											   false, false,
											   Max(memory / 1024, 64), NULL,
											   TUPLESORT_NONE);
	for (int i = 0; i < nsources; i++)
	{
		char	   *piece;
		Size		len;

		ingest_run_reader_start(reader, sources[i].procno, sources[i].first);
		while ((piece = ingest_run_reader_next(reader, &len)) != NULL)
		{
			char	   *end = piece + len;

			CHECK_FOR_INTERRUPTS();
			for (char *key = piece; key < end; key += ingest_key_size(format, key))
			{
				if (in_range(key, range, format))
					put_key(stream, key);
			}
		}
	}
	tuplesort_performsort(stream->sort);
}

IngestKeyStream *
ingest_key_stream_begin(IngestKeyFormat *format, IngestRunReader *reader,
						const IngestKeySource *sources, int nsources,
						const IngestKeyRange *range, int64 nkeys, Size memory)
{
	IngestKeyStream *stream = palloc0(sizeof(IngestKeyStream));
	MemoryContext old;

	stream->format = format;
	stream->context = AllocSetContextCreate(CurrentMemoryContext,
											"ingest key stream",
											ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(stream->context);
	if (format->kind == INGEST_KEY_TUPLE ||
		!sort_words(stream, reader, sources, nsources, range, nkeys, memory))
		sort_tuples(stream, reader, sources, nsources, range, memory);
	MemoryContextSwitchTo(old);
	return stream;
}

/* The next word key as an index tuple. */
static IndexTuple
next_word(IngestKeyStream *stream)
{
	int64		i = stream->next;
	const IngestKeyFormat *format = stream->format;
	IngestWordKey *key;
	IndexTuple	tuple;

	if (i >= stream->nwords + stream->nnulls)
		return NULL;
	stream->next++;

	if (format->lead.ssup_nulls_first)
		key = i < stream->nnulls ? &stream->nulls[i] :
			&stream->words[i - stream->nnulls];
	else
		key = i < stream->nwords ? &stream->words[i] :
			&stream->nulls[i - stream->nwords];

	if (key->isnull)
		tuple = stream->null_tuple;
	else
	{
		char	   *data;

		tuple = stream->word_tuple;
		data = (char *) tuple + IndexInfoFindDataOffset(tuple->t_info);
		store_att_byval(data, datum_from_word(format, key->word),
						format->kind == INGEST_KEY_INT32 ? 4 : 8);
	}
	tuple->t_tid = key->tid;
	return tuple;
}

IndexTuple
ingest_key_stream_next(IngestKeyStream *stream)
{
	if (stream->sort)
		return tuplesort_getindextuple(stream->sort, true);
	return next_word(stream);
}

void
ingest_key_stream_end(IngestKeyStream *stream)
{
	if (stream->sort)
		tuplesort_end(stream->sort);
	MemoryContextDelete(stream->context);
	pfree(stream);
}
