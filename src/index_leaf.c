/*-------------------------------------------------------------------------
 *
 * index_leaf.c
 *		Put sorted keys into a B-tree leaf page by leaf page.
 *
 * One search, one page lock and one WAL record serve all new keys of a leaf,
 * instead of each key.  The page is found with _bt_search(); what is done to
 * it is logged with generic WAL records, so that recovery and standbys need
 * nothing of ours.  A leaf that cannot hold the keys is split once, in the
 * way nbtinsert.c's _bt_split() does it; the parent is left to
 * _bt_finish_split(), exactly as after a crash between the two steps, so that
 * an interruption there leaves a tree the server knows how to mend.
 *
 * The sorted keys are taken a queue at a time, and a queue is worked through
 * from its end, so that the right sibling, whose left link a split changes, is
 * a page that has just been changed: else its first change after a checkpoint
 * would log an image of all of it for the sake of the link.  At the right end
 * of the tree the keys are taken forward, so that pages are filled one after
 * the other, and so are many equal keys.
 *
 * Rule: whatever is not the plain case is not done here.  The batch ends
 * before such a key, and when it is the first one, the access method inserts
 * it.  This goes for
 *	- a key of a unique index that is equal to another, in the leaf or next to
 *	  it in the input, or may be on the next page: the access method waits for
 *	  the other transaction, finds the row dead, or raises the error;
 *	- a TID that belongs within a posting list;
 *	- a leaf with entries marked dead, which may give way to new ones, a leaf
 *	  that is alone on its level (the root has to be split), or has half-dead
 *	  or incompletely split states;
 *	- large keys, so that a page can always be cut near its middle.
 *
 * Uniqueness: as in _bt_doinsert(), the leaf searched for without a TID is
 * the first that can hold an equal key, and it is write-locked from the check
 * to the insertion.  The other keys of a batch are less than the high key and
 * greater than the leaf's first item, or than the key searched for, so the
 * same leaf is their first as well.
 *
 * VACUUM: both halves of a split carry the cycle ID of a running VACUUM, and
 * SPLIT_END as _bt_split() sets it, so that it follows entries that moved.
 * As there, neither survives a crash.
 *
 * Serializable transactions: the leaf is checked for predicate locks under
 * its write lock before it changes, and a split passes them on.
 *
 * Locks: at most leaf, old right sibling and new right page, the first two in
 * the order that _bt_split() takes them in.
 *
 * Depends on the page format of nbtree version 4 (PostgreSQL 12 and later)
 * and on functions the server exports for its own use.
 *
 * IDENTIFICATION
 *		src/index_leaf.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/nbtree.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "flush_ahead.h"
#include "index_insert.h"
#include "index_page.h"

/* Space for line pointers and tuples on a page. */
#define PAGE_CAPACITY \
	(BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData)))

/* What an item of so many bytes takes of it. */
#define ITEM_SPACE(size)	((size) + sizeof(ItemIdData))

/* Largest new key that is inserted here. */
#define MAX_KEY_SIZE		(BLCKSZ / 8)

/* A leaf that has to be split is split into halves at most this full. */
#define SPLIT_FILL_PERCENT	80

/*
 * Keys copied from the stream ahead of their insertion: enough for many
 * leaves, because of the last leaf of a queue the sibling is not a recent one.
 */
#define QUEUE_BYTES			(32 * BLCKSZ)
#define QUEUE_KEYS			(QUEUE_BYTES / 16)

/* So many equal keys are taken forward. */
#define MANY_EQUALS			10

/* Most items of a batch, which with the old ones go on two pages. */
#define MAX_ITEMS			(2 * (PAGE_CAPACITY / ITEM_SPACE(16)))

/* New keys that become one item: a plain tuple, or a posting list. */
typedef struct NewItem
{
	int			first;			/* index in the queue */
	int			nkeys;
	OffsetNumber before;		/* item of the old page it goes before */
	Size		size;			/* MAXALIGNed */
	IndexTuple	tuple;			/* once it has been formed */
} NewItem;

/* An item of the page as it will be. */
typedef struct PageItem
{
	IndexTuple	tuple;
	Size		size;
} PageItem;

typedef struct LeafInserter
{
	IngestIndexTarget *target;
	Relation	rel;
	TupleDesc	desc;
	int			nkeyatts;
	SortSupport sortkeys;
	IngestKeyFormat format;
	bool		unique;
	bool		nulls_equal;	/* NULLS NOT DISTINCT */
	bool		posting;		/* may form posting lists */
	int			fillfactor;
	IngestIndexPages *pages;

	/* queue: tuples 0 .. tail - 1, of which forward .. are next if >= 0 */
	IngestKeyStream *stream;
	IndexTuple *queue;
	char	   *buffer;
	int			tail;
	int			forward;
	int			forward_start;

	/* the batch for one leaf */
	MemoryContext context;
	Page		page;			/* the leaf, as it is */
	NewItem		items[MAX_ITEMS];
	int			nitems;
	int			nkeys;			/* of all items together */
	Size		space;			/* that all items will need */
	bool		equal;			/* a key is equal to an item of the leaf */
} LeafInserter;

/*
 * Why can keys not be inserted here at all?
 */
IngestIndexReason
ingest_index_leaf_reason(Relation index)
{
	bool		heapkeyspace;
	bool		allequalimage;

	_bt_metaversion(index, &heapkeyspace, &allequalimage);
	if (!heapkeyspace)
		return INGEST_INDEX_REASON_OLD_VERSION;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Oid			collation = index->rd_indcollation[i];

		if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
			return INGEST_INDEX_REASON_COLLATION;
	}
	return INGEST_INDEX_REASON_NONE;
}

/* Comparators of the index's columns, as tuplesort_begin_index_btree(). */
static SortSupport
make_sortkeys(Relation index)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index);
	SortSupport keys = palloc0(n * sizeof(SortSupportData));
	BTScanInsert insert_key = _bt_mkscankey(index, NULL);

	for (int i = 0; i < n; i++)
	{
		ScanKey		key = &insert_key->scankeys[i];

		keys[i].ssup_cxt = CurrentMemoryContext;
		keys[i].ssup_collation = key->sk_collation;
		keys[i].ssup_nulls_first = (key->sk_flags & SK_BT_NULLS_FIRST) != 0;
		keys[i].ssup_attno = key->sk_attno;
		keys[i].abbreviate = false;
		PrepareSortSupportFromIndexRelCompat(index,
											 (key->sk_flags & SK_BT_DESC) != 0,
											 &keys[i]);
	}
	pfree(insert_key);
	return keys;
}

static LeafInserter *
leaf_begin(IngestIndexTarget *target, IngestKeyStream *stream)
{
	LeafInserter *leaf = palloc0(sizeof(LeafInserter));
	Relation	index = target->index;
	bool		heapkeyspace;
	bool		allequalimage;

	leaf->target = target;
	leaf->rel = index;
	leaf->desc = RelationGetDescr(index);
	leaf->nkeyatts = IndexRelationGetNumberOfKeyAttributes(index);
	leaf->sortkeys = make_sortkeys(index);
	ingest_key_format_init(&leaf->format, target->heap, index);
	leaf->unique = index->rd_index->indisunique;
	leaf->nulls_equal = index->rd_index->indnullsnotdistinct;
	leaf->fillfactor = BTGetFillFactor(index);
	_bt_metaversion(index, &heapkeyspace, &allequalimage);
	leaf->posting = allequalimage && !leaf->unique &&
		BTGetDeduplicateItems(index);
	leaf->pages = ingest_index_pages_begin(index, target->heap);
	leaf->stream = stream;
	leaf->queue = palloc(QUEUE_KEYS * sizeof(IndexTuple));
	leaf->buffer = palloc(QUEUE_BYTES);
	leaf->forward = -1;
	leaf->context = AllocSetContextCreate(CurrentMemoryContext,
										  "ingest leaf batch",
										  ALLOCSET_DEFAULT_SIZES);
	return leaf;
}

/*
 * Read ahead when the queue is empty, so that the stream, which may have to
 * read a file, is never asked while a page is locked.  Returns false at the
 * end.
 */
static bool
queue_fill(LeafInserter *leaf)
{
	Size		filled = 0;

	if (leaf->tail > 0)
		return true;

	/* A tuple has less than INDEX_SIZE_MASK bytes, and not less than 16. */
	while (leaf->tail < QUEUE_KEYS &&
		   filled + MAXALIGN(INDEX_SIZE_MASK) <= QUEUE_BYTES)
	{
		IndexTuple	tuple = ingest_key_stream_next(leaf->stream);
		char	   *copy = leaf->buffer + filled;

		if (tuple == NULL)
			break;
		memcpy(copy, tuple, IndexTupleSize(tuple));
		leaf->queue[leaf->tail++] = (IndexTuple) copy;
		filled += MAXALIGN(IndexTupleSize(tuple));
	}
	return leaf->tail > 0;
}

/* The next key to be inserted. */
static inline IndexTuple
next_key(const LeafInserter *leaf)
{
	return leaf->queue[leaf->forward >= 0 ? leaf->forward : leaf->tail - 1];
}

/* Take n keys off the queue. */
static void
queue_remove(LeafInserter *leaf, int n)
{
	if (leaf->forward < 0)
	{
		leaf->tail -= n;
		return;
	}
	leaf->forward += n;
	if (leaf->forward == leaf->tail)
	{
		leaf->tail = leaf->forward_start;
		leaf->forward = -1;
	}
}

/* Compare the first natts columns of two tuples; no column may be missing. */
static int
compare_any_columns(const LeafInserter *leaf, IndexTuple a, IndexTuple b,
					int natts)
{
	for (int i = 0; i < natts; i++)
	{
		SortSupport key = &leaf->sortkeys[i];
		bool		anull,
					bnull;
		Datum		avalue = index_getattr(a, i + 1, leaf->desc, &anull);
		Datum		bvalue = index_getattr(b, i + 1, leaf->desc, &bnull);
		int			result = ApplySortComparator(avalue, anull, bvalue, bnull,
												 key);

		if (result != 0)
			return result;
	}
	return 0;
}

/* The same, without a call if the only column is an integer. */
static inline int
compare_columns(const LeafInserter *leaf, IndexTuple a, IndexTuple b,
				int natts)
{
	if (leaf->format.kind != INGEST_KEY_TUPLE && natts > 0 &&
		!IndexTupleHasNulls(a) && !IndexTupleHasNulls(b))
	{
		uint64		aword = ingest_key_tuple_word(&leaf->format, a);
		uint64		bword = ingest_key_tuple_word(&leaf->format, b);

		return aword < bword ? -1 : aword > bword ? 1 : 0;
	}
	return compare_any_columns(leaf, a, b, natts);
}

/* Must the key be the only one of its kind? */
static bool
must_be_unique(const LeafInserter *leaf, IndexTuple tuple)
{
	if (!leaf->unique)
		return false;
	if (leaf->nulls_equal || !IndexTupleHasNulls(tuple))
		return true;
	for (int i = 1; i <= leaf->nkeyatts; i++)
	{
		bool		isnull;

		(void) index_getattr(tuple, i, leaf->desc, &isnull);
		if (isnull)
			return false;
	}
	return true;
}

/*
 * Does the key belong on this page, by its high key?  As _bt_compare() has
 * it: a column missing in the high key is less than any value, and so is a
 * missing TID.  A key that must be unique and is equal to a high key with a
 * TID may have equals on the next page, so it is not for us.
 */
static bool
is_within_high_key(const LeafInserter *leaf, IndexTuple tuple, bool unique)
{
	BTPageOpaque opaque = BTPageGetOpaque(leaf->page);
	IndexTuple	high;
	int			natts;
	int			result;
	ItemPointer tid;

	if (P_RIGHTMOST(opaque))
		return true;
	high = (IndexTuple) PageGetItem(leaf->page,
									PageGetItemId(leaf->page, P_HIKEY));
	natts = Min(BTreeTupleGetNAtts(high, leaf->rel), leaf->nkeyatts);
	result = compare_columns(leaf, tuple, high, natts);
	if (result != 0)
		return result < 0;
	if (natts < leaf->nkeyatts || unique)
		return false;
	tid = BTreeTupleGetHeapTID(high);
	return tid != NULL && ItemPointerCompare(&tuple->t_tid, tid) <= 0;
}

/* What compare_item() says of a key that is for the access method. */
#define NOT_FOR_US			INT_MAX

/* Compare a key with an item of the leaf. */
static int
compare_item(LeafInserter *leaf, IndexTuple tuple, bool unique,
			 OffsetNumber offset)
{
	IndexTuple	item = (IndexTuple)
		PageGetItem(leaf->page, PageGetItemId(leaf->page, offset));
	int			result = compare_columns(leaf, tuple, item, leaf->nkeyatts);

	if (result != 0)
		return result < 0 ? -1 : 1;
	leaf->equal = true;
	if (unique)
		return NOT_FOR_US;
	if (ItemPointerCompare(&tuple->t_tid, BTreeTupleGetHeapTID(item)) < 0)
		return -1;
	if (ItemPointerCompare(&tuple->t_tid, BTreeTupleGetMaxHeapTID(item)) > 0)
		return 1;
	return NOT_FOR_US;
}

/*
 * Find the item that the key goes before: not before low, and not after high.
 * The search starts at one end with small steps, because keys come in order.
 * Returns false if the access method has to see to the key.
 */
static bool
find_place(LeafInserter *leaf, IndexTuple tuple, bool unique,
		   OffsetNumber low, OffsetNumber high, OffsetNumber *before)
{
	bool		backward = leaf->forward < 0;
	int			step = 1;

	while (low < high)
	{
		OffsetNumber probe;
		int			result;

		if (2 * step >= high - low)
			probe = (low + high) / 2;
		else
			probe = backward ? high - step : low + step;
		result = compare_item(leaf, tuple, unique, probe);
		if (result == NOT_FOR_US)
			return false;
		if (result < 0)
			high = probe;
		else
			low = probe + 1;
		step = (result < 0) == backward ? 2 * step : MaxOffsetNumber;
	}
	*before = low;
	return true;
}

/*
 * Largest posting list formed from new keys; CREATE INDEX has the same limit
 * (nbtsort.c, _bt_load).
 */
#define MAX_POSTING_SIZE \
	(MAXALIGN_DOWN((BLCKSZ * 10 / 100)) - sizeof(ItemIdData))

/*
 * Let the queue's i-th key, which is next to those of the last item, join its
 * posting list.  Returns false if it has to be an item of its own.
 */
static bool
join_last_item(LeafInserter *leaf, int i, OffsetNumber before)
{
	NewItem    *last;
	IndexTuple	base;
	Size		size;

	if (!leaf->posting || leaf->nitems == 0)
		return false;
	last = &leaf->items[leaf->nitems - 1];
	base = leaf->queue[last->first];
	size = MAXALIGN(IndexTupleSize(base) +
					(last->nkeys + 1) * sizeof(ItemPointerData));
	if (last->before != before || size > MAX_POSTING_SIZE ||
		_bt_keep_natts_fast(leaf->rel, base, leaf->queue[i]) <=
		leaf->nkeyatts)
		return false;

	leaf->space += size - last->size;
	last->size = size;
	last->first = Min(last->first, i);
	last->nkeys++;
	return true;
}

/* Space that the items on the leaf take, its high key among them. */
static Size
used_space(Page page)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_special - header->pd_upper +
		header->pd_lower - SizeOfPageHeaderData;
}

/* How much may be on a leaf, and on both halves if it is split. */
static Size
space_limit(const LeafInserter *leaf)
{
	int			percent = P_RIGHTMOST(BTPageGetOpaque(leaf->page)) ?
		Min(leaf->fillfactor, 90) : SPLIT_FILL_PERCENT;

	return Max((Size) PAGE_CAPACITY * 2 * percent / 100, PAGE_CAPACITY);
}

/* Make the queue's i-th key, whose place is known, part of the batch. */
static void
choose_key(LeafInserter *leaf, int i, OffsetNumber before)
{
	Size		size = MAXALIGN(IndexTupleSize(leaf->queue[i]));

	if (!join_last_item(leaf, i, before))
	{
		NewItem    *item = &leaf->items[leaf->nitems++];

		item->first = i;
		item->nkeys = 1;
		item->before = before;
		item->size = size;
		leaf->space += ITEM_SPACE(size);
	}
	leaf->nkeys++;
}

/* Bring items that were chosen backward in order. */
static void
reverse_items(LeafInserter *leaf)
{
	for (int i = 0, j = leaf->nitems - 1; i < j; i++, j--)
	{
		NewItem		item = leaf->items[i];

		leaf->items[i] = leaf->items[j];
		leaf->items[j] = item;
	}
}

/*
 * Choose the keys that go to the locked leaf, from the next one on.  The leaf
 * has been searched for that one.  Forward, the others belong there as long as
 * they are within the high key; backward, as long as they are greater than the
 * first item.
 */
static void
choose_keys(LeafInserter *leaf)
{
	BTPageOpaque opaque = BTPageGetOpaque(leaf->page);
	bool		backward = leaf->forward < 0;
	int			step = backward ? -1 : 1;
	int			start = backward ? leaf->tail - 1 : leaf->forward;
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	OffsetNumber end = PageGetMaxOffsetNumber(leaf->page) + 1;
	OffsetNumber before = backward ? end : first;
	Size		used = used_space(leaf->page);
	Size		limit = space_limit(leaf);

	leaf->nitems = leaf->nkeys = 0;
	leaf->space = 0;
	leaf->equal = false;
	for (int i = start; i >= 0 && i < leaf->tail; i += step)
	{
		IndexTuple	tuple = leaf->queue[i];
		Size		size = MAXALIGN(IndexTupleSize(tuple));
		bool		unique = must_be_unique(leaf, tuple);

		if (size > MAX_KEY_SIZE || leaf->nitems == MAX_ITEMS ||
			used + leaf->space + ITEM_SPACE(size) > limit)
			break;
		if ((!backward || i == start) &&
			!is_within_high_key(leaf, tuple, unique))
			break;
		if (!find_place(leaf, tuple, unique, backward ? first : before,
						backward ? before : end, &before))
			break;
		if (backward && i != start && before == first && !P_LEFTMOST(opaque))
			break;
		if (unique && i != start &&
			compare_columns(leaf, tuple, leaf->queue[i - step],
							leaf->nkeyatts) == 0)
			break;
		choose_key(leaf, i, before);
	}
	if (backward)
		reverse_items(leaf);
}

/*
 * The leaf at the right end of the tree has been found for the queue's last
 * key: from the first key that belongs there on, the queue is worked through
 * forward.
 */
static void
turn_forward(LeafInserter *leaf)
{
	BTPageOpaque opaque = BTPageGetOpaque(leaf->page);
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	int			i = leaf->tail - 1;

	if (P_LEFTMOST(opaque))
		i = 0;
	else if (first <= PageGetMaxOffsetNumber(leaf->page))
	{
		while (i > 0 &&
			   compare_item(leaf, leaf->queue[i - 1],
							must_be_unique(leaf, leaf->queue[i - 1]),
							first) == 1)
			i--;
	}
	leaf->forward = leaf->forward_start = i;
}

/* Make the tuples of the new items, in leaf->context. */
static void
form_items(LeafInserter *leaf)
{
	for (int i = 0; i < leaf->nitems; i++)
	{
		NewItem    *item = &leaf->items[i];
		ItemPointer tids;

		item->tuple = leaf->queue[item->first];
		if (item->nkeys == 1)
			continue;
		tids = palloc(item->nkeys * sizeof(ItemPointerData));
		for (int j = 0; j < item->nkeys; j++)
			tids[j] = leaf->queue[item->first + j]->t_tid;
		item->tuple = _bt_form_posting(item->tuple, tids, item->nkeys);
		Assert(MAXALIGN(IndexTupleSize(item->tuple)) == item->size);
	}
}

/* Append an item to a page under construction. */
static void
add_item(const LeafInserter *leaf, Page page, IndexTuple tuple, Size size,
		 OffsetNumber offset)
{
	if (PageAddItem(page, (char *) tuple, size, offset, false, false) != offset)
		elog(ERROR, "failed to add an item to a leaf page of index \"%s\"",
			 RelationGetRelationName(leaf->rel));
}

/*
 * What VACUUM needs to know of a page is not logged by nbtree either: replay
 * leaves it out, and so do the checks of wal_consistency_checking.  Generic
 * records log and check every byte, so it is taken off the image of a page
 * before it is logged (set_vacuum_state(image, 0, 0)) and put back on the page
 * afterwards, while the page is still locked.
 */
static void
set_vacuum_state(Page page, BTCycleId cycleid, uint16 split_end)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);

	opaque->btpo_cycleid = cycleid;
	opaque->btpo_flags = (opaque->btpo_flags & ~BTP_SPLIT_END) | split_end;
}

/* Put the new items on the leaf, which has room for them. */
static void
insert_items(LeafInserter *leaf, Buffer buf)
{
	BTPageOpaque opaque = BTPageGetOpaque(leaf->page);
	BTCycleId	cycleid = opaque->btpo_cycleid;
	uint16		split_end = opaque->btpo_flags & BTP_SPLIT_END;
	GenericXLogState *state = GenericXLogStart(leaf->rel);
	Page		image = GenericXLogRegisterBuffer(state, buf, 0);

	/* Line pointers shift by the items that went before. */
	for (int i = 0; i < leaf->nitems; i++)
		add_item(leaf, image, leaf->items[i].tuple, leaf->items[i].size,
				 leaf->items[i].before + i);
	set_vacuum_state(image, 0, 0);
	GenericXLogFinish(state);
	set_vacuum_state(leaf->page, cycleid, split_end);
}

/* Old and new items in order; returns the array, its length in *n. */
static PageItem *
merge_items(const LeafInserter *leaf, int *n)
{
	OffsetNumber maxoff = PageGetMaxOffsetNumber(leaf->page);
	OffsetNumber offset = P_FIRSTDATAKEY(BTPageGetOpaque(leaf->page));
	PageItem   *merged = palloc((maxoff + leaf->nitems) * sizeof(PageItem));
	int			next = 0;

	*n = 0;
	for (; offset <= maxoff + 1; offset++)
	{
		ItemId		itemid;

		for (; next < leaf->nitems && leaf->items[next].before == offset;
			 next++)
		{
			merged[*n].tuple = leaf->items[next].tuple;
			merged[(*n)++].size = leaf->items[next].size;
		}
		if (offset > maxoff)
			break;
		itemid = PageGetItemId(leaf->page, offset);
		merged[*n].tuple = (IndexTuple) PageGetItem(leaf->page, itemid);
		merged[(*n)++].size = ItemIdGetLength(itemid);
	}
	Assert(next == leaf->nitems);
	return merged;
}

/* Where the merged items are to be cut, while it is being looked for. */
typedef struct SplitChoice
{
	int			first_right;	/* 0: no place found */
	Size		distance;		/* from where it should be */
} SplitChoice;

/*
 * Choose the first item of the right page: as near as can be to the middle,
 * or for the rightmost page to the fill factor, but not between equal keys if
 * there is another place not far away, as _bt_findsplitloc() has it.  Returns
 * 0 if there is none.
 */
static int
choose_split(const LeafInserter *leaf, const PageItem *merged, int n)
{
	bool		rightmost = P_RIGHTMOST(BTPageGetOpaque(leaf->page));
	Size		old_high = 0;
	Size		total = 0;
	Size		left = 0;
	Size		wanted;
	SplitChoice any = {0};
	SplitChoice distinct = {0};

	if (!rightmost)
		old_high = ITEM_SPACE(ItemIdGetLength(PageGetItemId(leaf->page,
															P_HIKEY)));
	for (int i = 0; i < n; i++)
		total += ITEM_SPACE(merged[i].size);
	wanted = rightmost ? (Size) PAGE_CAPACITY * leaf->fillfactor / 100 :
		total / 2;

	for (int i = 1; i < n; i++)
	{
		Size		high;
		Size		distance;

		/* The left page's high key is a copy of its first right item. */
		left += ITEM_SPACE(merged[i - 1].size);
		high = ITEM_SPACE(merged[i].size + MAXALIGN(sizeof(ItemPointerData)));
		if (left + high > PAGE_CAPACITY)
			break;
		if (total - left + old_high > PAGE_CAPACITY)
			continue;

		distance = left > wanted ? left - wanted : wanted - left;
		if (any.first_right == 0 || distance < any.distance)
		{
			any.first_right = i;
			any.distance = distance;
		}
		if (distance <= PAGE_CAPACITY / 10 &&
			(distinct.first_right == 0 || distance < distinct.distance) &&
			compare_columns(leaf, merged[i - 1].tuple, merged[i].tuple,
							leaf->nkeyatts) != 0)
		{
			distinct.first_right = i;
			distinct.distance = distance;
		}
	}
	return distinct.first_right > 0 ? distinct.first_right : any.first_right;
}

/*
 * Append an item to a page that is being built, as PageAddItem() does it; that
 * there is room has been seen to.
 */
static inline void
append_item(Page page, IndexTuple tuple, Size size)
{
	PageHeader	header = (PageHeader) page;
	ItemId		itemid = (ItemId) (page + header->pd_lower);

	header->pd_lower += sizeof(ItemIdData);
	header->pd_upper -= size;
	Assert(header->pd_lower <= header->pd_upper);
	ItemIdSetNormal(itemid, header->pd_upper, size);
	memcpy(page + header->pd_upper, tuple, size);
}

/* Build one half of a split: a high key, if any, and items. */
static void
build_half(const LeafInserter *leaf, Page page, IndexTuple high,
		   const PageItem *items, int n)
{
	Size		space = high ?
		ITEM_SPACE(MAXALIGN(IndexTupleSize(high))) : 0;

	for (int i = 0; i < n; i++)
		space += ITEM_SPACE(items[i].size);
	if (space > PAGE_CAPACITY)
		elog(ERROR, "items for a leaf page of index \"%s\" take %zu bytes",
			 RelationGetRelationName(leaf->rel), space);
	if (high)
		append_item(page, high, MAXALIGN(IndexTupleSize(high)));
	for (int i = 0; i < n; i++)
		append_item(page, items[i].tuple, items[i].size);
}

/* Does the page have entries marked dead? */
static bool
has_dead_items(Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);

	if (P_HAS_GARBAGE(opaque))
		return true;
	for (OffsetNumber i = P_FIRSTDATAKEY(opaque); i <= maxoff; i++)
	{
		if (ItemIdIsDead(PageGetItemId(page, i)))
			return true;
	}
	return false;
}

/* May this leaf be changed here?  See the head of this file. */
static bool
is_plain_leaf(Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);

	return P_ISLEAF(opaque) && !P_ISROOT(opaque) && !P_IGNORE(opaque) &&
		!P_INCOMPLETE_SPLIT(opaque) &&
		!(P_LEFTMOST(opaque) && P_RIGHTMOST(opaque)) &&
		!has_dead_items(page);
}

/*
 * Lock the right sibling, whose left link a split changes.  Complains of a
 * broken link as _bt_split() does.  Returns InvalidBuffer if it has entries
 * marked dead: marks are not logged, so a record of the page would not pass
 * the checks of wal_consistency_checking.
 */
static Buffer
lock_sibling(LeafInserter *leaf, Buffer buf)
{
	BlockNumber blkno = BTPageGetOpaque(leaf->page)->btpo_next;
	Buffer		sbuf = _bt_getbuf(leaf->rel, blkno, BT_WRITE);
	BTPageOpaque opaque = BTPageGetOpaque(BufferGetPage(sbuf));

	if (opaque->btpo_prev != BufferGetBlockNumber(buf))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg_internal("right sibling's left-link doesn't match: "
								 "block %u links to %u instead of expected %u in index \"%s\"",
								 blkno, opaque->btpo_prev,
								 BufferGetBlockNumber(buf),
								 RelationGetRelationName(leaf->rel))));
	if (has_dead_items(BufferGetPage(sbuf)))
	{
		_bt_relbuf(leaf->rel, sbuf);
		return InvalidBuffer;
	}
	return sbuf;
}

/*
 * Build the images of both halves, all but the links to a page that is not
 * there yet.
 */
static void
build_halves(LeafInserter *leaf, BTScanInsert key, const PageItem *merged,
			 int n, int first_right, Page left, Page right)
{
	BTPageOpaque old = BTPageGetOpaque(leaf->page);
	uint16		flags = old->btpo_flags & ~(BTP_ROOT | BTP_SPLIT_END |
											BTP_HAS_GARBAGE);
	IndexTuple	left_high = _bt_truncate(leaf->rel,
										 merged[first_right - 1].tuple,
										 merged[first_right].tuple, key);
	IndexTuple	right_high = NULL;
	BTPageOpaque opaque;

	if (!P_RIGHTMOST(old))
		right_high = (IndexTuple) PageGetItem(leaf->page,
											  PageGetItemId(leaf->page,
															P_HIKEY));
	_bt_pageinit(left, BLCKSZ);
	build_half(leaf, left, left_high, merged, first_right);
	opaque = BTPageGetOpaque(left);
	opaque->btpo_flags = flags | BTP_INCOMPLETE_SPLIT;
	opaque->btpo_prev = old->btpo_prev;
	opaque->btpo_level = old->btpo_level;

	/* XLogInsert() decides by the page's LSN whether to log an image. */
	PageSetLSN(left, PageGetLSN(leaf->page));

	_bt_pageinit(right, BLCKSZ);
	build_half(leaf, right, right_high, merged + first_right, n - first_right);
	opaque = BTPageGetOpaque(right);
	opaque->btpo_flags = flags;
	opaque->btpo_next = old->btpo_next;
	opaque->btpo_level = old->btpo_level;
}

/*
 * Make the leaf's items and the new ones into two pages, cut before
 * merged[first_right].  Returns false if it cannot be done, with nothing
 * changed.  On return the leaf is still locked, flagged as incompletely split
 * if it was, and nothing else is locked.
 *
 * The sibling is locked before the new page is allocated, so that nothing can
 * fail once there is one; no one else can want to lock the new page.
 */
static bool
split_leaf(LeafInserter *leaf, Buffer buf, BTScanInsert key,
		   const PageItem *merged, int n, int first_right)
{
	bool		rightmost = P_RIGHTMOST(BTPageGetOpaque(leaf->page));
	PGAlignedBlock left;
	PGAlignedBlock right;
	GenericXLogState *state;
	Buffer		rbuf;
	Buffer		sbuf = InvalidBuffer;
	BTCycleId	cycleid;
	BTCycleId	sibling_cycleid = 0;
	uint16		sibling_split_end = 0;

	build_halves(leaf, key, merged, n, first_right, left.data, right.data);
	if (!rightmost)
	{
		sbuf = lock_sibling(leaf, buf);
		if (!BufferIsValid(sbuf))
			return false;
	}
	state = GenericXLogStart(leaf->rel);
	rbuf = ingest_index_pages_take(leaf->pages);

	/* The cycle ID is fetched with all pages locked, as in _bt_split(). */
	cycleid = _bt_vacuum_cycleid(leaf->rel);
	BTPageGetOpaque(left.data)->btpo_next = BufferGetBlockNumber(rbuf);
	BTPageGetOpaque(right.data)->btpo_prev = BufferGetBlockNumber(buf);

	/*
	 * Most of the left page has moved, so there is no use in comparing it, but
	 * for the last one, which only grows.
	 */
	memcpy(GenericXLogRegisterBuffer(state, buf, rightmost ? 0 :
									 GENERIC_XLOG_FULL_IMAGE),
		   left.data, BLCKSZ);
	memcpy(GenericXLogRegisterBuffer(state, rbuf, GENERIC_XLOG_FULL_IMAGE),
		   right.data, BLCKSZ);
	if (!rightmost)
	{
		Page		image = GenericXLogRegisterBuffer(state, sbuf, 0);
		BTPageOpaque opaque = BTPageGetOpaque(image);

		sibling_cycleid = opaque->btpo_cycleid;
		sibling_split_end = opaque->btpo_flags & BTP_SPLIT_END;
		opaque->btpo_prev = BufferGetBlockNumber(rbuf);
		set_vacuum_state(image, 0, 0);
	}
	GenericXLogFinish(state);

	set_vacuum_state(leaf->page, cycleid, 0);
	set_vacuum_state(BufferGetPage(rbuf), cycleid,
					 !rightmost && sibling_cycleid != cycleid ?
					 BTP_SPLIT_END : 0);
	PredicateLockPageSplit(leaf->rel, BufferGetBlockNumber(buf),
						   BufferGetBlockNumber(rbuf));
	if (!rightmost)
	{
		set_vacuum_state(BufferGetPage(sbuf), sibling_cycleid,
						 sibling_split_end);
		_bt_relbuf(leaf->rel, sbuf);
	}
	_bt_relbuf(leaf->rel, rbuf);
	return true;
}

/*
 * Insert the chosen keys into the locked leaf, and unlock it.  Returns how
 * many were inserted, 0 if it cannot be done.
 */
static int
change_leaf(LeafInserter *leaf, Buffer buf, BTStack stack, BTScanInsert key)
{
	PageItem   *merged;
	int			n;
	int			first_right;

	CheckForSerializableConflictIn(leaf->rel, NULL, BufferGetBlockNumber(buf));
	form_items(leaf);
	if (used_space(leaf->page) + leaf->space <= PAGE_CAPACITY)
	{
		insert_items(leaf, buf);
		_bt_relbuf(leaf->rel, buf);
		return leaf->nkeys;
	}

	merged = merge_items(leaf, &n);
	first_right = choose_split(leaf, merged, n);
	if (first_right == 0 ||
		!split_leaf(leaf, buf, key, merged, n, first_right))
	{
		_bt_relbuf(leaf->rel, buf);
		return 0;
	}
	_bt_finish_splitCompat(leaf->rel, leaf->target->heap, buf, stack);
	return leaf->nkeys;
}

/*
 * If the queue ends with many equal keys, take these forward: were the ones
 * with the greater TIDs inserted first, merging duplicates could put them into
 * one posting list with old ones, and the rest would belong within it.
 */
static void
turn_for_equals(LeafInserter *leaf)
{
	IndexTuple	last = leaf->queue[leaf->tail - 1];
	int			i = leaf->tail - 1;

	while (i > 0 && compare_columns(leaf, leaf->queue[i - 1], last,
									leaf->nkeyatts) == 0)
		i--;
	if (leaf->tail - i >= MANY_EQUALS)
		leaf->forward = leaf->forward_start = i;
}

/*
 * Before a leaf is split for keys that it has already, its duplicates are
 * merged, as nbtree does (_bt_delete_or_dedup_one_page).  Then the places of
 * the keys are others.
 */
static void
merge_duplicates(LeafInserter *leaf, Buffer buf)
{
	if (!leaf->posting || !leaf->equal ||
		used_space(leaf->page) + leaf->space <= PAGE_CAPACITY)
		return;
	_bt_dedup_passCompat(leaf->rel, buf, leaf->target->heap, next_key(leaf),
						 MAXALIGN(IndexTupleSize(next_key(leaf))));
	choose_keys(leaf);
}

/*
 * Insert as many keys of the queue as belong to one leaf, from the next one
 * on.  Returns how many; 0 if the access method has to insert that one.
 */
static int
insert_batch(LeafInserter *leaf)
{
	IndexTuple	first;
	BTScanInsert key;
	Buffer		buf;
	BTStack		stack;
	int			n = 0;

	if (leaf->posting && leaf->forward < 0)
		turn_for_equals(leaf);
	first = next_key(leaf);
	key = _bt_mkscankey(leaf->rel, first);
	key->scantid = must_be_unique(leaf, first) ? NULL : &first->t_tid;
	stack = _bt_searchCompat(leaf->rel, leaf->target->heap, key, &buf,
							 BT_WRITE);
	leaf->page = BufferGetPage(buf);
	leaf->nkeys = 0;
	if (leaf->forward < 0 && P_RIGHTMOST(BTPageGetOpaque(leaf->page)))
		turn_forward(leaf);
	if (is_plain_leaf(leaf->page))
	{
		choose_keys(leaf);
		merge_duplicates(leaf, buf);
	}
	if (leaf->nkeys > 0)
		n = change_leaf(leaf, buf, stack, key);
	else
		_bt_relbuf(leaf->rel, buf);
	_bt_freestack(stack);
	return n;
}

int64
ingest_index_insert_batches(IngestIndexTarget *target, IngestKeyStream *stream)
{
	LeafInserter *leaf = leaf_begin(target, stream);
	int64		total = 0;
	int64		batches = 0;
	int64		alone = 0;

	for (;;)
	{
		MemoryContext old;
		int			n;

		CHECK_FOR_INTERRUPTS();
		ingest_flush_ahead();
		if (!queue_fill(leaf))
			break;

		old = MemoryContextSwitchTo(leaf->context);
		n = insert_batch(leaf);
		MemoryContextSwitchTo(old);
		MemoryContextReset(leaf->context);

		batches++;
		if (n == 0)
		{
			ingest_index_insert_key(target, next_key(leaf));
			alone++;
			n = 1;
		}
		queue_remove(leaf, n);
		total += n;
	}
	ingest_index_pages_end(leaf->pages);
	index_insert_cleanup(target->index, target->info);
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\": " INT64_FORMAT " keys in " INT64_FORMAT " batches, " INT64_FORMAT " of one",
							 RelationGetRelationName(target->index),
							 total, batches, alone)));
	return total;
}
