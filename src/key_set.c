/*-------------------------------------------------------------------------
 *
 * key_set.c
 *		The distinct keys among many rows, each with the first row that has it.
 *
 * Two keys are the same if their values are the same bytes.  That may tell
 * keys apart that an operator calls equal (1.0 and 1.00), never the other way
 * round, and needs neither operators nor collations.
 *
 * Memory: a key is stored once, as its bytes with a small header, in a context
 * of the set; the hash table has a pointer to it.
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

/* What the hash table and the array of keys take for a key, about. */
#define OVERHEAD		(2 * (sizeof(KeyEntry) + sizeof(StoredKey *)))

/* A key as it is stored. */
typedef struct StoredKey
{
	ItemPointerData tid;
	bool		marked;
	uint32		len;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} StoredKey;

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
	MemoryContext context;		/* of the keys; the rest is around it */
	key_table_hash *table;
	StoredKey **keys;			/* by number */
	int			count;
	int			allocated;
	Size		size;

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
	set->table = key_table_create(CurrentMemoryContext, 1024, NULL);
	set->allocated = 1024;
	set->keys = palloc_array(StoredKey *, set->allocated);
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

bool
ingest_key_set_add(IngestKeySet *set, Datum *values, const bool *isnull,
				   ItemPointer tid)
{
	StoredKey  *key = make_key(set, values, isnull);
	KeyEntry   *entry;
	bool		found;

	/* rows often come in groups of a key */
	if (set->count > 0 && equal_keys(set->keys[set->count - 1], key))
		return false;
	entry = key_table_insert(set->table, key, &found);
	if (found)
		return false;

	if (set->count == set->allocated)
	{
		set->allocated *= 2;
		set->keys = repalloc_huge(set->keys,
								  set->allocated * sizeof(StoredKey *));
	}
	entry->key = set->keys[set->count] =
		MemoryContextAlloc(set->context, set->bytes.len);
	memcpy(set->keys[set->count], key, set->bytes.len);
	set->keys[set->count]->tid = *tid;
	set->count++;
	set->size += GetMemoryChunkSpace((void *) entry->key) + OVERHEAD;
	return true;
}

int
ingest_key_set_count(const IngestKeySet *set)
{
	return set->count;
}

Size
ingest_key_set_size(const IngestKeySet *set)
{
	return set->size;
}

void
ingest_key_set_mark(IngestKeySet *set, int number)
{
	Assert(number >= 0 && number < set->count);
	set->keys[number]->marked = true;
}

int
ingest_key_set_unmarked(const IngestKeySet *set, ItemPointer tids)
{
	int			n = 0;

	for (int i = 0; i < set->count; i++)
		if (!set->keys[i]->marked)
			tids[n++] = set->keys[i]->tid;
	return n;
}

void
ingest_key_set_reset(IngestKeySet *set)
{
	key_table_reset(set->table);
	MemoryContextReset(set->context);
	set->count = 0;
	set->size = 0;
}
