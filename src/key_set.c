/*-------------------------------------------------------------------------
 *
 * key_set.c
 *		The distinct keys among many rows, each with the first row that has it.
 *
 * Two keys are the same if their values are the same bytes.  That may tell
 * keys apart that an operator calls equal (1.0 and 1.00), never the other way
 * round, and needs neither operators nor collations.
 *
 * Memory: a key is stored once, as its bytes with a small header, one behind
 * the other in large chunks; the hash table points there.  A key's number is
 * its place.
 *
 * IDENTIFICATION
 *		src/key_set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "compat.h"
#include "key_set.h"

/* Bytes of a chunk, unless a single key needs more. */
#define CHUNK_SIZE		(64 * 1024)

#define INITIAL_ENTRIES	256

/* A piece of memory with keys in it. */
typedef struct KeyChunk
{
	Size		used;
	Size		size;
	char	   *data;
} KeyChunk;

/* A key as it is stored, aligned as its first members demand. */
typedef struct StoredKey
{
	uint32		len;
	ItemPointerData tid;
	bool		marked;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} StoredKey;

#define STORED_SIZE(key) \
	INTALIGN(offsetof(StoredKey, data) + (Size) (key)->len)

/* An element of the hash table. */
typedef struct KeyEntry
{
	const StoredKey *key;
	uint32		hash;
	char		status;
} KeyEntry;

static inline uint32
hash_key(const StoredKey *key)
{
	return hash_bytes((const unsigned char *) key->data, key->len);
}

static inline bool
equal_keys(const StoredKey *a, const StoredKey *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

#define SH_PREFIX key_table
#define SH_ELEMENT_TYPE KeyEntry
#define SH_KEY_TYPE const StoredKey *
#define SH_KEY key
#define SH_HASH_KEY(tb, key) hash_key(key)
#define SH_EQUAL(tb, a, b) equal_keys(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct IngestKeySet
{
	TupleDesc	desc;
	int			nkeys;
	MemoryContext context;		/* of the table and the chunks' data */
	key_table_hash *table;
	KeyChunk   *chunks;
	int			nchunks;
	int			max_chunks;
	Size		size;			/* of all chunks */
	const StoredKey *last;		/* added last, or NULL */

	StringInfoData bytes;		/* the key in hand, as a StoredKey */
};

IngestKeySet *
ingest_key_set_begin(TupleDesc desc, int nkeys)
{
	IngestKeySet *set = palloc0_object(IngestKeySet);

	set->desc = desc;
	set->nkeys = nkeys;
	set->context = AllocSetContextCreate(CurrentMemoryContext,
										 "ingest_tools keys",
										 ALLOCSET_DEFAULT_SIZES);
	set->table = key_table_create(set->context, INITIAL_ENTRIES, NULL);
	set->max_chunks = 16;
	set->chunks = palloc_array(KeyChunk, set->max_chunks);
	initStringInfo(&set->bytes);
	return set;
}

/*
 * Append a value's bytes, preceded by their number if that differs from value
 * to value.  *value is made plain.
 */
static void
append_value(StringInfo bytes, Form_pg_attribute att, Datum *value)
{
	const char *data;
	int32		len = att->attlen;

	if (att->attbyval)
	{
		appendBinaryStringInfo(bytes, (char *) value, sizeof(Datum));
		return;
	}
	if (len == -1)
	{
		struct varlena *plain = PG_DETOAST_DATUM_PACKED(*value);

		*value = PointerGetDatum(plain);
		data = VARDATA_ANY(plain);
		len = VARSIZE_ANY_EXHDR(plain);
	}
	else
	{
		data = DatumGetPointer(*value);
		if (len == -2)
			len = strlen(data);
	}
	if (att->attlen < 0)
		appendBinaryStringInfo(bytes, (char *) &len, sizeof(len));
	appendBinaryStringInfo(bytes, data, len);
}

/*
 * The key in hand as a StoredKey, valid until the next one.
 */
static StoredKey *
make_key(IngestKeySet *set, Datum *values, const bool *isnull)
{
	StoredKey  *key;

	resetStringInfo(&set->bytes);
	set->bytes.len = offsetof(StoredKey, data);
	for (int i = 0; i < set->nkeys; i++)
	{
		appendStringInfoChar(&set->bytes, isnull[i]);
		if (!isnull[i])
			append_value(&set->bytes, TupleDescAttr(set->desc, i), &values[i]);
	}
	key = (StoredKey *) set->bytes.data;
	key->len = set->bytes.len - offsetof(StoredKey, data);
	key->marked = false;
	return key;
}

/*
 * Copy the key in hand to where it stays.
 */
static StoredKey *
store_key(IngestKeySet *set, const StoredKey *key, int64 *number)
{
	Size		size = STORED_SIZE(key);
	KeyChunk   *chunk = &set->chunks[set->nchunks - 1];
	StoredKey  *stored;

	if (set->nchunks == 0 || chunk->size - chunk->used < size)
	{
		if (set->nchunks == set->max_chunks)
		{
			set->max_chunks *= 2;
			set->chunks = repalloc_huge(set->chunks,
										set->max_chunks * sizeof(KeyChunk));
		}
		chunk = &set->chunks[set->nchunks++];
		chunk->used = 0;
		chunk->size = Max(size, CHUNK_SIZE);
		chunk->data = MemoryContextAllocHuge(set->context, chunk->size);
		set->size += chunk->size;
	}

	stored = (StoredKey *) (chunk->data + chunk->used);
	*number = ((int64) (set->nchunks - 1) << 32) | (int64) chunk->used;
	memcpy(stored, key, offsetof(StoredKey, data) + key->len);
	chunk->used += size;
	return stored;
}

int64
ingest_key_set_add(IngestKeySet *set, Datum *values, const bool *isnull,
				   ItemPointer tid)
{
	StoredKey  *key = make_key(set, values, isnull);
	KeyEntry   *entry;
	bool		found;
	int64		number;

	/* rows often come in groups of a key */
	if (set->last != NULL && equal_keys(set->last, key))
		return -1;
	entry = key_table_insert(set->table, key, &found);
	if (found)
		return -1;

	key->tid = *tid;
	set->last = entry->key = store_key(set, key, &number);
	return number;
}

int64
ingest_key_set_count(const IngestKeySet *set)
{
	return set->table->members;
}

Size
ingest_key_set_size(const IngestKeySet *set)
{
	return set->size + set->table->size * sizeof(KeyEntry);
}

void
ingest_key_set_mark(IngestKeySet *set, int64 number)
{
	KeyChunk   *chunk = &set->chunks[number >> 32];

	Assert((number >> 32) < set->nchunks &&
		   (Size) (number & 0xFFFFFFFF) < chunk->used);
	((StoredKey *) (chunk->data + (number & 0xFFFFFFFF)))->marked = true;
}

int64
ingest_key_set_unmarked(const IngestKeySet *set, ItemPointer tids)
{
	int64		n = 0;

	for (int i = 0; i < set->nchunks; i++)
	{
		const KeyChunk *chunk = &set->chunks[i];
		Size		offset = 0;

		while (offset < chunk->used)
		{
			const StoredKey *key = (StoredKey *) (chunk->data + offset);

			if (!key->marked)
				tids[n++] = key->tid;
			offset += STORED_SIZE(key);
		}
	}
	return n;
}

void
ingest_key_set_reset(IngestKeySet *set)
{
	MemoryContextReset(set->context);
	set->table = key_table_create(set->context, INITIAL_ENTRIES, NULL);
	set->nchunks = 0;
	set->size = 0;
	set->last = NULL;
}
