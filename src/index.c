/*-------------------------------------------------------------------------
 *
 * index.c
 *		Deferred index work: collecting keys, and sharing out the indexes.
 *
 * Shared state is a dynamic shared memory segment of the leader's, with an
 * area for what grows (collected keys, the plan) and a set of temporary
 * files.  It knows nothing of the parallel context: a worker needs the
 * segment's handle only.
 *
 * A barrier leads the processes through three phases.  While they collect,
 * each process's runs are its own.  When all have published theirs, one of
 * them plans: runs of the same index are brought together as a pair (of leaf
 * and index), a pair with much more than its share of the keys is cut in key
 * ranges, and what comes out, the jobs, is put in order, the largest first.
 * Then jobs are handed out by an atomic counter.  An index whose pair is not
 * cut is only touched by one process; this is needed for access methods whose
 * heavyweight locks do not work between members of a lock group (GIN's
 * pending list).  Key ranges of a B-tree are cut by the first column only, so
 * that equal keys always meet in one process.
 *
 * The barrier also sees to a worker that comes late: it joins in whatever
 * phase the others are.
 *
 * What an index needs is decided in classify_index(), from its definition,
 * the mode asked for and what the leader has announced of the leaf, because
 * every process must come to the same decision.
 *
 * In mode "row" the entries are made when the rows' pages are written.  GIN is
 * left for later if there are several processes, for the reason given above.
 *
 * Indexes that are built anew wait for the leader, outside parallel mode.  It
 * may find only then that an index cannot be, and inserts then.
 *
 * IDENTIFICATION
 *		src/index.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/lwlock.h"
#include "storage/sharedfileset.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "index.h"
#include "index_insert.h"
#include "index_key.h"
#include "index_run.h"
#include "parallel.h"

/* Phases of the barrier. */
#define PHASE_COLLECT		0
#define PHASE_PLAN			1
#define PHASE_WORK			2
#define PHASE_DONE			3

/* Keys a pair must have before it is cut, and those looked at to cut it. */
#define MIN_KEYS_TO_CUT		20000
#define SAMPLE_KEYS			2000

/* Parts of a note; see note_uses(). */
#define NOTE_MODE			0x03
#define NOTE_BATCHES		0x04
#define NOTE_REASON_SHIFT	3

/* Most key ranges of one index: each range reads all of its keys. */
#define MAX_RANGES			16

/* What is to be done with one index of one leaf. */
typedef enum IndexMethod
{
	METHOD_KEYS,				/* keys sorted, one by one or by leaf pages */
	METHOD_HEAP_ORDER,			/* rows, in the order of their places */
	METHOD_SERIAL,				/* the same, by the leader alone */
	METHOD_PAGE,				/* rows, when their page has been written */
	METHOD_BUILD_KEYS,			/* built anew, by the leader, from keys */
	METHOD_BUILD,				/* built anew, by the leader, from the table */
} IndexMethod;

/* Texts of IngestIndexReason. */
static const char *const reason_texts[] = {
	[INGEST_INDEX_REASON_NONE] = NULL,
	[INGEST_INDEX_REASON_DEFERRABLE] = gettext_noop("the constraint is deferrable"),
	[INGEST_INDEX_REASON_EXCLUSION] = gettext_noop("it is an exclusion constraint"),
	[INGEST_INDEX_REASON_EXPRESSIONS] = gettext_noop("its expressions are not parallel safe"),
	[INGEST_INDEX_REASON_OPCLASS] = gettext_noop("its operator class is not parallel safe"),
	[INGEST_INDEX_REASON_METHOD] = gettext_noop("its access method is not known to be parallel safe"),
	[INGEST_INDEX_REASON_NOT_BTREE] = gettext_noop("it is not a B-tree"),
	[INGEST_INDEX_REASON_OLD_VERSION] = gettext_noop("the index is of an old version"),
	[INGEST_INDEX_REASON_COLLATION] = gettext_noop("a collation is not deterministic"),
	[INGEST_INDEX_REASON_SETTING] = gettext_noop("ingest_tools.leaf_batches is off"),
	[INGEST_INDEX_REASON_OWNER] = gettext_noop("only the owner of the table may have it built anew"),
	[INGEST_INDEX_REASON_INVALID] = gettext_noop("the index is not valid"),
	[INGEST_INDEX_REASON_IN_USE] = gettext_noop("the index is in use in this session"),
};

/* What one process has collected for one index; published, then constant. */
typedef struct SharedEntry
{
	Oid			leafid;
	Oid			indexid;
	IndexMethod method;
	IngestIndexReason reason;	/* of not doing better */
	int64		records;
	dsa_pointer first;
} SharedEntry;

/* What all processes have collected for one index; made by the planner. */
typedef struct SharedPair
{
	Oid			leafid;
	Oid			indexid;
	IndexMethod method;
	int64		records;
	int			nsources;
	dsa_pointer sources;		/* array of IngestKeySource */
	int			nranges;

	/* for the report; set by whoever does the work, all alike */
	IngestIndexMode mode;
	bool		leaf_batches;
	IngestIndexReason reason;
} SharedPair;

/* One piece of work; made by the planner. */
typedef struct SharedJob
{
	int			pair;
	int64		records;		/* about as many */
	dsa_pointer lower;			/* bounds of the range, if there are any */
	dsa_pointer upper;
} SharedJob;

/*
 * Head of the segment.  Behind the published entries there is a flag for each
 * leaf, see new_leaf_flag().
 */
typedef struct IndexShared
{
	IngestIndexOptions options;
	bool		leaf_batches;	/* the setting, as the leader has it */
	Size		memory;			/* bytes for all processes together */
	dsa_handle	area;
	SharedFileSet files;
	Barrier		barrier;
	pg_atomic_uint32 next_procno;
	pg_atomic_uint32 next_job;

	/* the plan; written in PHASE_PLAN by one process */
	int			npairs;
	int			njobs;
	dsa_pointer pairs;			/* array of SharedPair */
	dsa_pointer jobs;			/* array of SharedJob */

	/* what the processes have published; each writes its own in PHASE_COLLECT */
	struct
	{
		int			nentries;
		dsa_pointer entries;	/* array of SharedEntry */
	}			published[FLEXIBLE_ARRAY_MEMBER];
} IndexShared;

/* An index whose keys this process collects. */
typedef struct KeyedIndex
{
	Relation	index;
	IndexInfo  *info;
	ExprState  *predicate;
	AttrNumber	column;			/* of the leaf, if the key is just that */
	IngestKeyFormat format;
	IngestRun	run;
	IndexMethod method;			/* METHOD_KEYS or _BUILD_KEYS */
	IngestIndexReason reason;
} KeyedIndex;

/* An index that is filled from the rows themselves. */
typedef struct RowIndex
{
	Oid			indexid;
	IndexMethod method;			/* METHOD_HEAP_ORDER, _SERIAL or _BUILD */
	IngestIndexReason reason;
} RowIndex;

/* An index whose entries are made page by page. */
typedef struct PageIndex
{
	IngestIndexTarget target;
	ExprState  *predicate;
	int64		records;
} PageIndex;

/* A leaf this process has rows for. */
typedef struct LeafState
{
	Oid			leafid;
	int			nkeyed;
	KeyedIndex *keyed;
	int			nrows;
	RowIndex   *rows;
	IngestRun	tids;			/* of all rows, if nrows > 0 */

	int			npaged;
	PageIndex  *paged;
	TupleTableSlot *slot;		/* if npaged > 0, as the rest */
	ItemPointer waiting;		/* TIDs of rows whose page is not written */
	int			nwaiting;
	int			maxwaiting;
} LeafState;

struct IngestIndexer
{
	bool		leader;
	bool		late;			/* joined after the others had collected */
	dsm_segment *segment;
	IndexShared *shared;
	dsa_area   *area;
	int			procno;
	MemoryContext context;
	EState	   *estate;
	IngestMeter *meter;

	IngestRunStore *store;
	IngestRunReader *reader;	/* while working */
	LeafState **leaves;			/* options.nleaves of them, NULL if not met */
};

/* Whether leaf pages may be written, if they are of a kind that can be. */
static bool leaf_batches = true;

void
ingest_index_define_settings(void)
{
	DefineCustomBoolVariable("ingest_tools.leaf_batches",
							 "Inserts sorted keys into B-trees leaf page by leaf page.",
							 "Otherwise the access method inserts them one by one.",
							 &leaf_batches, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
}

/* A slice of memory for one process's sorts. */
static Size
sort_memory(const IngestIndexer *indexer)
{
	return indexer->shared->memory / 2 / indexer->shared->options.nprocesses;
}

/* Has the leaf been announced as new?  One flag per leaf. */
static bool *
new_leaf_flag(IndexShared *shared, int leafno)
{
	return (bool *) &shared->published[shared->options.nprocesses] + leafno;
}

/* What leader and workers do alike, once the segment is there. */
static IngestIndexer *
join(dsm_segment *segment, dsa_area *area, bool leader)
{
	IngestIndexer *indexer = palloc0(sizeof(IngestIndexer));
	IndexShared *shared = dsm_segment_address(segment);

	indexer->leader = leader;
	indexer->segment = segment;
	indexer->shared = shared;
	indexer->area = area;
	indexer->context = CurrentMemoryContext;
	indexer->procno = pg_atomic_fetch_add_u32(&shared->next_procno, 1);
	if (indexer->procno >= shared->options.nprocesses)
		elog(ERROR, "too many processes joined the index work");
	indexer->late = BarrierAttach(&shared->barrier) != PHASE_COLLECT;
	indexer->estate = CreateExecutorState();
	indexer->store = ingest_run_store_begin(area, &shared->files.fs,
											indexer->procno,
											shared->memory / 2 /
											shared->options.nprocesses);
	indexer->leaves = palloc0(Max(shared->options.nleaves, 1) *
							  sizeof(LeafState *));
	return indexer;
}

IngestIndexer *
ingest_index_begin(const IngestIndexOptions *options)
{
	Size		size = offsetof(IndexShared, published) +
		options->nprocesses * sizeof(((IndexShared *) 0)->published[0]) +
		options->nleaves * sizeof(bool);
	dsm_segment *segment = dsm_create(size, 0);
	IndexShared *shared = dsm_segment_address(segment);
	dsa_area   *area = dsa_create(LWTRANCHE_PARALLEL_QUERY_DSA);

	memset(shared, 0, size);
	shared->options = *options;
	shared->leaf_batches = leaf_batches;
	shared->memory = (Size) maintenance_work_mem * 1024;
	shared->area = dsa_get_handle(area);
	SharedFileSetInit(&shared->files, segment);
	BarrierInit(&shared->barrier, 0);
	pg_atomic_init_u32(&shared->next_procno, 0);
	pg_atomic_init_u32(&shared->next_job, 0);
	return join(segment, area, true);
}

dsm_handle
ingest_index_handle(const IngestIndexer *indexer)
{
	return dsm_segment_handle(indexer->segment);
}

IngestIndexer *
ingest_index_attach(dsm_handle handle)
{
	dsm_segment *segment = dsm_attach(handle);
	IndexShared *shared;

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment")));
	shared = dsm_segment_address(segment);
	SharedFileSetAttach(&shared->files, segment);
	return join(segment, dsa_attach(shared->area), false);
}

void
ingest_index_announce(IngestIndexer *indexer, int leafno, Relation leaf)
{
	bool		new_storage = leaf->rd_createSubid != InvalidSubTransactionId ||
		leaf->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;

	*new_leaf_flag(indexer->shared, leafno) = new_storage &&
		RelationGetNumberOfBlocks(leaf) == 0;
}

void
ingest_index_set_meter(IngestIndexer *indexer, IngestMeter *meter)
{
	indexer->meter = meter;
}

/*
 * May a parallel worker evaluate the expression?  As plan_create_index_workers()
 * asks it (planner.c).
 */
static bool
is_safe_expression(List *expression)
{
	PlannerInfo *root;

	if (expression == NIL)
		return true;
	root = makeNode(PlannerInfo);
	root->glob = makeNode(PlannerGlobal);
	return is_parallel_safe(root, (Node *) expression);
}

/* May a parallel worker call the support functions of the index's opclasses? */
static bool
has_safe_support(Relation index)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index) *
		index->rd_indam->amsupport;

	for (int i = 0; i < n; i++)
	{
		RegProcedure proc = index->rd_support[i];

		if (OidIsValid(proc) && func_parallel(proc) != PROPARALLEL_SAFE)
			return false;
	}
	return true;
}

/* Why must entries be made by the leader alone, outside parallel mode? */
static IngestIndexReason
serial_reason(Relation index, const IndexInfo *info, bool parallel)
{
	if (!index->rd_index->indimmediate)
		return INGEST_INDEX_REASON_DEFERRABLE;
	if (index->rd_index->indisexclusion)
		return INGEST_INDEX_REASON_EXCLUSION;
	if (!parallel)
		return INGEST_INDEX_REASON_NONE;
	if (!is_safe_expression(info->ii_Expressions) ||
		!is_safe_expression(info->ii_Predicate))
		return INGEST_INDEX_REASON_EXPRESSIONS;
	if (!has_safe_support(index))
		return INGEST_INDEX_REASON_OPCLASS;
	if (index->rd_rel->relam >= FirstNormalObjectId)
		return INGEST_INDEX_REASON_METHOD;
	return INGEST_INDEX_REASON_NONE;
}

static bool
is_parallel(const IngestIndexer *indexer)
{
	return indexer->shared->options.nprocesses > 1;
}

/*
 * Is the index to be built anew?  If that was asked for but cannot be, reason
 * says why.  Unasked it is done where no one else can see the leaf, which has
 * been created or truncated in this transaction, and the leaf had no rows.
 */
static bool
wants_build(IngestIndexer *indexer, int leafno, Relation leaf, Relation index,
			IngestIndexReason *reason)
{
	IngestIndexMode mode = indexer->shared->options.mode;
	IngestIndexReason obstacle;

	if (indexer->shared->options.staged)
		return true;
	if (mode != INGEST_INDEX_REBUILD &&
		!(mode == INGEST_INDEX_AUTO && *new_leaf_flag(indexer->shared, leafno)))
		return false;
	obstacle = ingest_index_rebuild_reason(leaf, index);
	if (obstacle == INGEST_INDEX_REASON_NONE)
		return true;
	if (mode == INGEST_INDEX_REBUILD)
		*reason = obstacle;
	return false;
}

/*
 * How is the index filled, and why not in a better way?
 *
 * Constraints that are checked later, or with the executor's help, are filled
 * as the executor does it in any mode: a build would check them at once.
 */
static IndexMethod
classify_index(IngestIndexer *indexer, int leafno, Relation leaf,
			   Relation index, const IndexInfo *info,
			   IngestIndexReason *reason)
{
	bool		parallel = is_parallel(indexer);
	bool		serial;
	Oid			am = index->rd_rel->relam;

	*reason = serial_reason(index, info, parallel);
	if (*reason == INGEST_INDEX_REASON_DEFERRABLE ||
		*reason == INGEST_INDEX_REASON_EXCLUSION)
		return METHOD_SERIAL;
	serial = *reason != INGEST_INDEX_REASON_NONE;
	if (wants_build(indexer, leafno, leaf, index, reason))
	{
		*reason = INGEST_INDEX_REASON_NONE;
		return am == BTREE_AM_OID && !serial ? METHOD_BUILD_KEYS : METHOD_BUILD;
	}
	if (serial)
		return METHOD_SERIAL;
	if (indexer->shared->options.mode == INGEST_INDEX_ROW)
		return parallel && am == GIN_AM_OID ? METHOD_HEAP_ORDER : METHOD_PAGE;
	if (am == BTREE_AM_OID)
		return METHOD_KEYS;
	if (*reason == INGEST_INDEX_REASON_NONE)
		*reason = INGEST_INDEX_REASON_NOT_BTREE;
	return METHOD_HEAP_ORDER;
}

/* Get ready to collect the keys of an index; takes over the relation. */
static void
add_keyed_index(IngestIndexer *indexer, LeafState *state, Relation leaf,
				Relation index, IndexInfo *info, IndexMethod method,
				IngestIndexReason reason)
{
	KeyedIndex *keyed = &state->keyed[state->nkeyed++];

	keyed->index = index;
	keyed->info = info;
	keyed->method = method;
	keyed->reason = reason;
	keyed->predicate = ExecPrepareQual(info->ii_Predicate, indexer->estate);
	ingest_key_format_init(&keyed->format, leaf, index);
	if (info->ii_NumIndexAttrs == 1 && keyed->predicate == NULL)
		keyed->column = info->ii_IndexAttrNumbers[0];
}

/* Get ready to make entries page by page; takes over the relation. */
static void
add_page_index(IngestIndexer *indexer, LeafState *state, Relation leaf,
			   Relation index, IndexInfo *info)
{
	PageIndex  *paged = &state->paged[state->npaged++];

	paged->target.heap = leaf;
	paged->target.index = index;
	paged->target.info = info;
	paged->target.estate = indexer->estate;
	paged->predicate = ExecPrepareQual(info->ii_Predicate, indexer->estate);
	if (state->slot == NULL)
	{
		state->slot = table_slot_create(leaf, NULL);
		state->maxwaiting = 1024;
		state->waiting = palloc(state->maxwaiting * sizeof(ItemPointerData));
	}
}

/* Look at one index of a leaf; it is open, and closed here if not needed. */
static void
add_index(IngestIndexer *indexer, int leafno, LeafState *state, Relation leaf,
		  Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);
	IndexMethod method;
	IngestIndexReason reason;
	RowIndex   *row;

	if (!info->ii_ReadyForInserts)
	{
		index_close(index, NoLock);
		return;
	}
	method = classify_index(indexer, leafno, leaf, index, info, &reason);
	switch (method)
	{
		case METHOD_KEYS:
		case METHOD_BUILD_KEYS:
			add_keyed_index(indexer, state, leaf, index, info, method, reason);
			break;
		case METHOD_PAGE:
			add_page_index(indexer, state, leaf, index, info);
			break;
		case METHOD_HEAP_ORDER:
		case METHOD_SERIAL:
		case METHOD_BUILD:
			row = &state->rows[state->nrows++];
			row->indexid = RelationGetRelid(index);
			row->method = method;
			row->reason = reason;
			index_close(index, NoLock);
			break;
	}
}

/* Look at the leaf's indexes. */
static LeafState *
open_leaf(IngestIndexer *indexer, int leafno, Relation leaf)
{
	MemoryContext old = MemoryContextSwitchTo(indexer->context);
	LeafState  *state = palloc0(sizeof(LeafState));
	List	   *indexes = RelationGetIndexList(leaf);
	ListCell   *lc;

	state->leafid = RelationGetRelid(leaf);
	state->keyed = palloc0(Max(list_length(indexes), 1) * sizeof(KeyedIndex));
	state->rows = palloc0(Max(list_length(indexes), 1) * sizeof(RowIndex));
	state->paged = palloc0(Max(list_length(indexes), 1) * sizeof(PageIndex));

	foreach(lc, indexes)
		add_index(indexer, leafno, state, leaf,
				  index_open(lfirst_oid(lc), RowExclusiveLock));

	indexer->leaves[leafno] = state;
	MemoryContextSwitchTo(old);
	return state;
}

static inline LeafState *
get_leaf(IngestIndexer *indexer, int leafno, Relation leaf)
{
	LeafState  *state = indexer->leaves[leafno];

	return likely(state) ? state : open_leaf(indexer, leafno, leaf);
}

bool
ingest_index_wanted(IngestIndexer *indexer, int leafno, Relation leaf)
{
	LeafState  *state = get_leaf(indexer, leafno, leaf);

	return state->nkeyed > 0 || state->nrows > 0 || state->npaged > 0;
}

/* Remember a row whose entries are made when its page is written. */
static void
wait_for_page(LeafState *state, ItemPointer tid)
{
	if (state->nwaiting == state->maxwaiting)
	{
		state->maxwaiting *= 2;
		state->waiting = repalloc_huge(state->waiting,
									   state->maxwaiting *
									   sizeof(ItemPointerData));
	}
	state->waiting[state->nwaiting++] = *tid;
}

/* Collect the key of a row for one index. */
static inline void
collect_key(IngestIndexer *indexer, KeyedIndex *keyed, TupleTableSlot *slot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	if (keyed->column > 0)
		values[0] = slot_getattr(slot, keyed->column, &isnull[0]);
	else
	{
		if (!ExecQual(keyed->predicate, GetPerTupleExprContext(indexer->estate)))
			return;
		FormIndexDatum(keyed->info, slot, indexer->estate, values, isnull);
	}
	ingest_key_append(&keyed->format, indexer->store, &keyed->run,
					  values, isnull, &slot->tts_tid);
}

void
ingest_index_collect(IngestIndexer *indexer, int leafno, Relation leaf,
					 TupleTableSlot *slot)
{
	LeafState  *state = get_leaf(indexer, leafno, leaf);
	ExprContext *econtext = GetPerTupleExprContext(indexer->estate);
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	econtext->ecxt_scantuple = slot;
	for (int i = 0; i < state->nkeyed; i++)
		collect_key(indexer, &state->keyed[i], slot);
	if (state->nrows > 0)
	{
		ItemPointer tid = ingest_run_append(indexer->store, &state->tids,
											MAXALIGN(sizeof(ItemPointerData)));

		*tid = slot->tts_tid;
	}
	if (state->npaged > 0)
		wait_for_page(state, &slot->tts_tid);
	MemoryContextSwitchTo(old);
	MemoryContextReset(econtext->ecxt_per_tuple_memory);
}

/* Where provisional TIDs end up. */
typedef struct Placement
{
	const IngestKeyFormat *format;
	const BlockNumber *blocks;
	int			nblocks;
} Placement;

static inline void
place_tid(ItemPointer tid, const Placement *placement)
{
	BlockNumber ordinal = ItemPointerGetBlockNumberNoCheck(tid);

	if (ordinal >= (BlockNumber) placement->nblocks)
		elog(ERROR, "row collected on page %u of %d", ordinal,
			 placement->nblocks);
	ItemPointerSetBlockNumber(tid, placement->blocks[ordinal]);
}

static Size
place_key(void *record, void *arg)
{
	Placement  *placement = arg;

	place_tid(ingest_key_tid(placement->format, record), placement);
	return ingest_key_size(placement->format, record);
}

static Size
place_row(void *record, void *arg)
{
	place_tid(record, arg);
	return MAXALIGN(sizeof(ItemPointerData));
}

/* Rows whose pages have been written, and an index they are entered into. */
typedef struct WaitingRows
{
	LeafState  *state;
	PageIndex  *paged;
} WaitingRows;

static void
insert_waiting_rows(void *arg)
{
	WaitingRows *rows = arg;
	LeafState  *state = rows->state;
	PageIndex  *paged = rows->paged;

	for (int i = 0; i < state->nwaiting; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ingest_index_fetch_row(paged->target.heap, &state->waiting[i],
							   state->slot);
		ingest_index_insert_row(&paged->target, paged->predicate,
								state->slot);
	}
	ExecClearTuple(state->slot);
	index_insert_cleanup(paged->target.index, paged->target.info);
}

/* Make the entries of the rows that have waited for their places. */
static void
insert_waiting(IngestIndexer *indexer, LeafState *state,
			   const Placement *placement)
{
	IngestPhase phase = INGEST_PHASE_INDEX;

	if (indexer->meter)
		phase = ingest_meter_phase(indexer->meter, INGEST_PHASE_INDEX);
	for (int i = 0; i < state->nwaiting && placement->blocks; i++)
		place_tid(&state->waiting[i], placement);
	for (int j = 0; j < state->npaged; j++)
	{
		PageIndex  *paged = &state->paged[j];
		WaitingRows rows = {state, paged};

		if (indexer->meter)
			ingest_meter_enter(indexer->meter);
		ingest_parallel_guard(insert_waiting_rows, &rows);
		if (indexer->meter)
			ingest_meter_leave(indexer->meter,
							   RelationGetRelid(paged->target.index));
		paged->records += state->nwaiting;
	}
	state->nwaiting = 0;
	if (indexer->meter)
		ingest_meter_phase(indexer->meter, phase);
}

void
ingest_index_place(IngestIndexer *indexer, int leafno,
				   const BlockNumber *blocks, int nblocks)
{
	LeafState  *state = indexer->leaves[leafno];
	Placement	placement = {.blocks = blocks,.nblocks = nblocks};

	if (state == NULL)
		return;
	if (indexer->late)
		elog(ERROR, "rows were written after the work on indexes has begun");
	for (int i = 0; i < state->nkeyed; i++)
	{
		placement.format = &state->keyed[i].format;
		ingest_run_settle(indexer->store, &state->keyed[i].run,
						  blocks ? place_key : NULL, &placement);
	}
	ingest_run_settle(indexer->store, &state->tids, blocks ? place_row : NULL,
					  &placement);
	if (state->nwaiting > 0)
		insert_waiting(indexer, state, &placement);
	ingest_run_relieve(indexer->store);
}

/* Add an entry, unless there is nothing in it. */
static void
add_entry(SharedEntry *entries, int *n, LeafState *state, Oid indexid,
		  IndexMethod method, IngestIndexReason reason, const IngestRun *run)
{
	SharedEntry *entry = &entries[*n];

	if (run->records == 0)
		return;
	entry->leafid = state->leafid;
	entry->indexid = indexid;
	entry->method = method;
	entry->reason = reason;
	entry->records = run->records;
	entry->first = run->first;
	(*n)++;
}

/* Add the entries of a leaf, and close its indexes. */
static void
publish_leaf(LeafState *state, SharedEntry *entries, int *n)
{
	for (int i = 0; i < state->nkeyed; i++)
	{
		KeyedIndex *keyed = &state->keyed[i];

		add_entry(entries, n, state, RelationGetRelid(keyed->index),
				  keyed->method, keyed->reason, &keyed->run);
		index_close(keyed->index, NoLock);
	}
	for (int i = 0; i < state->nrows; i++)
		add_entry(entries, n, state, state->rows[i].indexid,
				  state->rows[i].method, state->rows[i].reason, &state->tids);
	for (int i = 0; i < state->npaged; i++)
	{
		PageIndex  *paged = &state->paged[i];
		IngestRun	run = {.records = paged->records};

		add_entry(entries, n, state, RelationGetRelid(paged->target.index),
				  METHOD_PAGE, INGEST_INDEX_REASON_NONE, &run);
		index_insert_cleanup(paged->target.index, paged->target.info);
		index_close(paged->target.index, NoLock);
	}
	if (state->slot)
		ExecDropSingleTupleTableSlot(state->slot);
}

/* Let the other processes see what this one has collected. */
static void
publish(IngestIndexer *indexer)
{
	IndexShared *shared = indexer->shared;
	int			nleaves = shared->options.nleaves;
	int			max = 0;
	int			n = 0;
	dsa_pointer pointer;
	SharedEntry *entries;

	for (int i = 0; i < nleaves; i++)
	{
		if (indexer->leaves[i])
			max += indexer->leaves[i]->nkeyed + indexer->leaves[i]->nrows +
				indexer->leaves[i]->npaged;
	}
	if (max == 0 || indexer->late)
		return;

	pointer = dsa_allocate_extended(indexer->area, max * sizeof(SharedEntry),
									DSA_ALLOC_HUGE);
	entries = dsa_get_address(indexer->area, pointer);
	for (int i = 0; i < nleaves; i++)
	{
		LeafState  *state = indexer->leaves[i];

		if (state == NULL)
			continue;
		publish_leaf(state, entries, &n);
	}
	shared->published[indexer->procno].entries = pointer;
	shared->published[indexer->procno].nentries = n;
}

/* An entry and where it comes from, while planning. */
typedef struct PlanEntry
{
	SharedEntry *entry;
	int			procno;
} PlanEntry;

static int
compare_plan_entries(const void *a, const void *b)
{
	const PlanEntry *ea = a;
	const PlanEntry *eb = b;

	if (ea->entry->leafid != eb->entry->leafid)
		return ea->entry->leafid < eb->entry->leafid ? -1 : 1;
	if (ea->entry->method != eb->entry->method)
		return ea->entry->method < eb->entry->method ? -1 : 1;
	if (ea->entry->indexid != eb->entry->indexid)
		return ea->entry->indexid < eb->entry->indexid ? -1 : 1;
	return ea->procno - eb->procno;
}

/* All that was published, sorted by leaf, method and index. */
static PlanEntry *
gather_entries(IngestIndexer *indexer, int *n)
{
	IndexShared *shared = indexer->shared;
	int			max = 0;
	PlanEntry  *all;

	for (int p = 0; p < shared->options.nprocesses; p++)
		max += shared->published[p].nentries;
	all = palloc_extended(Max(max, 1) * sizeof(PlanEntry), MCXT_ALLOC_HUGE);

	*n = 0;
	for (int p = 0; p < shared->options.nprocesses; p++)
	{
		SharedEntry *entries = NULL;

		if (shared->published[p].nentries > 0)
			entries = dsa_get_address(indexer->area,
									  shared->published[p].entries);
		for (int i = 0; i < shared->published[p].nentries; i++)
		{
			all[*n].entry = &entries[i];
			all[(*n)++].procno = p;
		}
	}
	qsort(all, *n, sizeof(PlanEntry), compare_plan_entries);
	return all;
}

/* Make a pair of the n entries of one index. */
static void
make_pair(IngestIndexer *indexer, SharedPair *pair, const PlanEntry *entries,
		  int n)
{
	IngestKeySource *sources;

	pair->leafid = entries[0].entry->leafid;
	pair->indexid = entries[0].entry->indexid;
	pair->method = entries[0].entry->method;
	pair->reason = entries[0].entry->reason;
	pair->leaf_batches = false;
	pair->mode = INGEST_INDEX_ROW;
	pair->records = 0;
	pair->nranges = 1;
	pair->nsources = n;
	pair->sources = dsa_allocate(indexer->area, n * sizeof(IngestKeySource));
	sources = dsa_get_address(indexer->area, pair->sources);
	for (int i = 0; i < n; i++)
	{
		sources[i].procno = entries[i].procno;
		sources[i].first = entries[i].entry->first;
		pair->records += entries[i].entry->records;
	}
}

/* Bring together what belongs to one index; returns the array of pairs. */
static SharedPair *
make_pairs(IngestIndexer *indexer)
{
	IndexShared *shared = indexer->shared;
	int			n;
	PlanEntry  *entries = gather_entries(indexer, &n);
	SharedPair *pairs;
	int			start = 0;

	shared->pairs = dsa_allocate_extended(indexer->area,
										  Max(n, 1) * sizeof(SharedPair),
										  DSA_ALLOC_HUGE);
	pairs = dsa_get_address(indexer->area, shared->pairs);
	while (start < n)
	{
		int			end = start + 1;

		while (end < n &&
			   entries[end].entry->indexid == entries[start].entry->indexid)
			end++;
		make_pair(indexer, &pairs[shared->npairs++], &entries[start],
				  end - start);
		start = end;
	}
	pfree(entries);
	return pairs;
}

/*
 * In how many ranges is the pair to be cut?  So that no process waits long for
 * the last, and so that a range of word keys can be sorted in memory.
 */
static int
count_ranges(IngestIndexer *indexer, const SharedPair *pair, int64 total,
			 Size space)
{
	int			processes = BarrierParticipants(&indexer->shared->barrier);
	int64		ranges = 1;

	if (pair->method != METHOD_KEYS ||
		pair->records < MIN_KEYS_TO_CUT)
		return 1;
	if (processes > 1)
	{
		int64		share = Max(total / (2 * processes), 1);

		if (pair->records > share + share / 2)
			ranges = Min((pair->records + share - 1) / share, 2 * processes);
	}
	if (space > 0)
	{
		/* a quarter more, because ranges are not equal */
		int64		needed = pair->records * space / 4 * 5;
		int64		fitting = needed / Max(sort_memory(indexer), 1) + 1;

		if (fitting <= MAX_RANGES)
			ranges = Max(ranges, fitting);
	}
	return Min(ranges, MAX_RANGES);
}

/* qsort_arg comparator of pointers to kept keys; arg is their format. */
static int
compare_samples(const void *a, const void *b, void *arg)
{
	return ingest_key_compare_lead(*(char *const *) a, *(char *const *) b,
								   arg);
}

/* Copies of about SAMPLE_KEYS keys of the pair, evenly spread, sorted. */
static char **
sample_keys(IngestIndexer *indexer, const SharedPair *pair,
			IngestKeyFormat *format, int *nsamples)
{
	IngestKeySource *sources = dsa_get_address(indexer->area, pair->sources);
	int64		step = Max(pair->records / SAMPLE_KEYS, 1);
	int			max = pair->records / step + 1;
	char	  **samples = palloc(max * sizeof(char *));
	int64		seen = 0;
	int			n = 0;

	for (int i = 0; i < pair->nsources; i++)
	{
		char	   *piece;
		Size		len;

		ingest_run_reader_start(indexer->reader, sources[i].procno,
								sources[i].first);
		while ((piece = ingest_run_reader_next(indexer->reader, &len)) != NULL)
		{
			char	   *end = piece + len;

			CHECK_FOR_INTERRUPTS();
			while (piece < end)
			{
				Size		size = ingest_key_size(format, piece);

				if (seen++ % step == 0 && n < max)
				{
					samples[n] = palloc(size);
					memcpy(samples[n++], piece, size);
				}
				piece += size;
			}
		}
	}
	*nsamples = n;
	qsort_arg(samples, n, sizeof(char *), compare_samples, format);
	return samples;
}

/* A copy of a key in the shared area, for a bound. */
static dsa_pointer
share_key(IngestIndexer *indexer, const IngestKeyFormat *format,
		  const char *key)
{
	Size		size = ingest_key_size(format, key);
	dsa_pointer pointer = dsa_allocate(indexer->area, size);

	memcpy(dsa_get_address(indexer->area, pointer), key, size);
	return pointer;
}

/*
 * Cut the pair at quantiles of a sample, into at most nranges jobs; returns
 * how many were made.
 */
static int
cut_pair(IngestIndexer *indexer, SharedPair *pair, int pairno,
		 IngestKeyFormat *format, int nranges, SharedJob *jobs)
{
	int			nsamples;
	char	  **samples = sample_keys(indexer, pair, format, &nsamples);
	const char *last = NULL;
	int			n = 1;

	jobs[0].pair = pairno;
	jobs[0].lower = InvalidDsaPointer;
	for (int i = 1; i < nranges; i++)
	{
		const char *key = samples[(int64) i * nsamples / nranges];

		/* The first range must not be empty, nor must any other. */
		if (ingest_key_compare_lead(key, last ? last : samples[0], format) == 0)
			continue;
		jobs[n - 1].upper = share_key(indexer, format, key);
		jobs[n].pair = pairno;
		jobs[n].lower = jobs[n - 1].upper;
		last = key;
		n++;
	}
	jobs[n - 1].upper = InvalidDsaPointer;
	for (int i = 0; i < n; i++)
		jobs[i].records = pair->records / n;
	pair->nranges = n;
	return n;
}

/* Is it work for all processes, after the rows have been written? */
static bool
is_shared_work(IndexMethod method)
{
	return method == METHOD_KEYS || method == METHOD_HEAP_ORDER;
}

/* Turn a pair into jobs; returns how many. */
static int
make_jobs(IngestIndexer *indexer, SharedPair *pair, int pairno, int64 total,
		  SharedJob *jobs)
{
	int			n = 1;

	if (!is_shared_work(pair->method))
		return 0;

	jobs[0].pair = pairno;
	jobs[0].records = pair->records;
	jobs[0].lower = jobs[0].upper = InvalidDsaPointer;
	if (pair->method == METHOD_KEYS &&
		pair->records >= MIN_KEYS_TO_CUT)
	{
		Relation	heap = table_open(pair->leafid, RowExclusiveLock);
		Relation	index = index_open(pair->indexid, RowExclusiveLock);
		IngestKeyFormat format;
		int			nranges;

		ingest_key_format_init(&format, heap, index);
		nranges = count_ranges(indexer, pair, total,
							   ingest_key_sort_space(&format));
		if (nranges > 1)
			n = cut_pair(indexer, pair, pairno, &format, nranges, jobs);
		index_close(index, NoLock);
		table_close(heap, NoLock);
	}
	return n;
}

static int
compare_jobs(const void *a, const void *b)
{
	int64		ra = ((const SharedJob *) a)->records;
	int64		rb = ((const SharedJob *) b)->records;

	return ra > rb ? -1 : ra < rb ? 1 : 0;
}

/* Plan the work; done by one process while the others wait. */
static void
plan(IngestIndexer *indexer)
{
	IndexShared *shared = indexer->shared;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ingest index plan",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SharedPair *pairs = make_pairs(indexer);
	int64		total = 0;
	SharedJob  *jobs;
	int			n = 0;

	for (int i = 0; i < shared->npairs; i++)
	{
		if (is_shared_work(pairs[i].method))
			total += pairs[i].records;
	}

	/* Only a few pairs can be large enough to be cut in many ranges. */
	jobs = palloc_extended(((Size) shared->npairs + 1) * MAX_RANGES *
						   sizeof(SharedJob), MCXT_ALLOC_HUGE);
	for (int i = 0; i < shared->npairs; i++)
		n += make_jobs(indexer, &pairs[i], i, total, &jobs[n]);
	qsort(jobs, n, sizeof(SharedJob), compare_jobs);

	shared->jobs = dsa_allocate_extended(indexer->area,
										 Max(n, 1) * sizeof(SharedJob),
										 DSA_ALLOC_HUGE);
	memcpy(dsa_get_address(indexer->area, shared->jobs), jobs,
		   n * sizeof(SharedJob));
	shared->njobs = n;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Address of a bound in this process, NULL for none. */
static const char *
bound_address(IngestIndexer *indexer, dsa_pointer pointer)
{
	return DsaPointerIsValid(pointer) ?
		dsa_get_address(indexer->area, pointer) : NULL;
}

static SharedPair *
get_pair(IngestIndexer *indexer, int i)
{
	return (SharedPair *) dsa_get_address(indexer->area,
										  indexer->shared->pairs) + i;
}

static IngestKeySource *
get_sources(IngestIndexer *indexer, const SharedPair *pair)
{
	return dsa_get_address(indexer->area, pair->sources);
}

/* The keys of one job, sorted. */
static IngestKeyStream *
open_keys(IngestIndexer *indexer, const SharedJob *job, SharedPair *pair,
		  IngestKeyFormat *format, IngestIndexTarget *target)
{
	IngestKeyRange range;

	range.lower = bound_address(indexer, job->lower);
	range.upper = bound_address(indexer, job->upper);
	ingest_key_format_init(format, target->heap, target->index);
	return ingest_key_stream_begin(format, indexer->reader,
								   get_sources(indexer, pair),
								   pair->nsources, &range, job->records,
								   sort_memory(indexer));
}

/* What is put into an index: sorted keys, or else rows of the table. */
typedef struct IndexEntries
{
	IngestIndexTarget *target;
	IngestKeyStream *stream;
	bool		batches;		/* keys go by leaf pages */

	IngestRunReader *reader;
	const IngestKeySource *sources;
	int			nsources;
} IndexEntries;

static void
insert_entries(void *arg)
{
	IndexEntries *entries = arg;

	if (entries->stream == NULL)
		(void) ingest_index_insert_rows(entries->target, entries->reader,
										entries->sources, entries->nsources);
	else if (entries->batches)
		(void) ingest_index_insert_batches(entries->target, entries->stream);
	else
		(void) ingest_index_insert_keys(entries->target, entries->stream);
}

/* Put the keys of one job into its B-tree. */
static void
insert_keys(IngestIndexer *indexer, const SharedJob *job, SharedPair *pair,
			IngestIndexTarget *target)
{
	IngestKeyFormat format;
	IndexEntries entries = {.target = target};
	IngestIndexReason reason = INGEST_INDEX_REASON_SETTING;

	if (indexer->shared->leaf_batches)
		reason = ingest_index_leaf_reason(target->index);
	pair->mode = INGEST_INDEX_SORTED;
	if (pair->reason == INGEST_INDEX_REASON_NONE)
		pair->reason = reason;
	if (reason == INGEST_INDEX_REASON_NONE)
		pair->leaf_batches = entries.batches = true;

	entries.stream = open_keys(indexer, job, pair, &format, target);
	ingest_parallel_guard(insert_entries, &entries);
	ingest_key_stream_end(entries.stream);
}

/* Put the rows of one job into its index. */
static void
insert_rows(IngestIndexer *indexer, SharedPair *pair,
			IngestIndexTarget *target)
{
	IndexEntries entries = {
		.target = target,
		.reader = indexer->reader,
		.sources = get_sources(indexer, pair),
		.nsources = pair->nsources,
	};

	ingest_parallel_guard(insert_entries, &entries);
}

/* Open what an index is filled with. */
static void
open_target(IngestIndexTarget *target, const SharedPair *pair,
			LOCKMODE heap_lock, LOCKMODE index_lock)
{
	target->heap = table_open(pair->leafid, heap_lock);
	target->index = index_open(pair->indexid, index_lock);
	target->info = BuildIndexInfo(target->index);
	target->estate = CreateExecutorState();
}

static void
close_target(IngestIndexTarget *target)
{
	FreeExecutorState(target->estate);
	index_close(target->index, NoLock);
	table_close(target->heap, NoLock);
}

/* Make the entries of one job. */
static void
do_job(IngestIndexer *indexer, const SharedJob *job, SharedPair *pair,
	   IngestIndexTarget *target)
{
	if (pair->method == METHOD_KEYS || pair->method == METHOD_BUILD_KEYS)
		insert_keys(indexer, job, pair, target);
	else
		insert_rows(indexer, pair, target);
}

/* Do one job. */
static void
run_job(IngestIndexer *indexer, const SharedJob *job)
{
	SharedPair *pair = get_pair(indexer, job->pair);
	IngestIndexTarget target;

	open_target(&target, pair, RowExclusiveLock, RowExclusiveLock);
	if (indexer->meter)
		ingest_meter_enter(indexer->meter);
	do_job(indexer, job, pair, &target);
	if (indexer->meter)
		ingest_meter_leave(indexer->meter, pair->indexid);
	close_target(&target);
}

/* Take jobs until none is left. */
static void
work(IngestIndexer *indexer)
{
	IndexShared *shared = indexer->shared;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ingest index job",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SharedJob  *jobs = dsa_get_address(indexer->area, shared->jobs);

	for (;;)
	{
		uint32		i = pg_atomic_fetch_add_u32(&shared->next_job, 1);

		if (i >= (uint32) shared->njobs)
			break;
		run_job(indexer, &jobs[i]);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

void
ingest_index_apply(IngestIndexer *indexer)
{
	IndexShared *shared = indexer->shared;
	Barrier    *barrier = &shared->barrier;
	MemoryContext old = MemoryContextSwitchTo(indexer->context);

	ingest_run_store_finish(indexer->store);
	publish(indexer);
	indexer->reader = ingest_run_reader_begin(indexer->area,
											  &shared->files.fs);

	while (BarrierPhase(barrier) < PHASE_DONE)
	{
		switch (BarrierPhase(barrier))
		{
			case PHASE_COLLECT:
				if (BarrierArriveAndWait(barrier, PG_WAIT_EXTENSION))
					plan(indexer);
				continue;
			case PHASE_PLAN:
				BarrierArriveAndWait(barrier, PG_WAIT_EXTENSION);
				continue;
			case PHASE_WORK:
				work(indexer);
				break;
		}
		break;
	}

	/* Workers need not stay for the others. */
	if (indexer->leader && BarrierPhase(barrier) < PHASE_DONE)
		BarrierArriveAndWait(barrier, PG_WAIT_EXTENSION);
	BarrierArriveAndDetach(barrier);
	MemoryContextSwitchTo(old);
}

/* Fill the n serial indexes of one leaf. */
static void
apply_serial_leaf(IngestIndexer *indexer, SharedPair *pairs, int n,
				  EState *estate)
{
	Relation	heap = table_open(pairs[0].leafid, RowExclusiveLock);
	Relation   *indexes = palloc(n * sizeof(Relation));

	for (int i = 0; i < n; i++)
		indexes[i] = index_open(pairs[i].indexid, RowExclusiveLock);
	if (indexer->meter)
		ingest_meter_enter(indexer->meter);
	ingest_index_insert_serial(heap, indexes, n, estate, indexer->reader,
							   dsa_get_address(indexer->area,
											   pairs[0].sources),
							   pairs[0].nsources);
	if (indexer->meter)
		ingest_meter_leave(indexer->meter, pairs[0].indexid);
	for (int i = 0; i < n; i++)
		index_close(indexes[i], NoLock);
	table_close(heap, NoLock);
}

/* Tell the meter what was done; a note is mode, leaf batches and reason. */
static void
note_uses(IngestIndexer *indexer)
{
	for (int i = 0; i < indexer->shared->npairs; i++)
	{
		SharedPair *pair = get_pair(indexer, i);

		ingest_meter_note(indexer->meter, pair->indexid,
						  pair->mode | (pair->leaf_batches ? NOTE_BATCHES : 0) |
						  (int) pair->reason << NOTE_REASON_SHIFT);
	}
}

const char *
ingest_index_note_mode(int note)
{
	return note == 0 ? NULL :
		ingest_index_mode_name((IngestIndexMode) (note & NOTE_MODE));
}

bool
ingest_index_note_leaf_batches(int note)
{
	return (note & NOTE_BATCHES) != 0;
}

const char *
ingest_index_note_reason(int note)
{
	const char *text = reason_texts[note >> NOTE_REASON_SHIFT];

	return text ? _(text) : NULL;
}

/*
 * Build the index of a pair anew, or make its entries if it is in use.  The
 * lock on the table is what index_build() needs to change its pg_class row.
 */
static void
build_index(IngestIndexer *indexer, int pairno)
{
	SharedPair *pair = get_pair(indexer, pairno);
	SharedJob	job = {.pair = pairno,.records = pair->records};
	IngestIndexTarget target;

	open_target(&target, pair, ShareUpdateExclusiveLock, AccessExclusiveLock);
	if (target.index->rd_refcnt > 1)
	{
		pair->reason = INGEST_INDEX_REASON_IN_USE;
		do_job(indexer, &job, pair, &target);
		close_target(&target);
		return;
	}

	pair->mode = INGEST_INDEX_REBUILD;
	if (pair->method == METHOD_BUILD_KEYS && ingest_index_is_bare(target.index))
	{
		IngestKeyFormat format;
		IngestKeyStream *stream = open_keys(indexer, &job, pair, &format,
											&target);

		ingest_index_build_from_keys(&target, stream,
									 indexer->shared->memory / 2);
		ingest_key_stream_end(stream);
		close_target(&target);
	}
	else
	{
		char		persistence = target.index->rd_rel->relpersistence;
		char	   *name = pstrdup(RelationGetRelationName(target.index));

		close_target(&target);
		ingest_index_build_from_table(pair->indexid, name, persistence);
	}
}

/* Build those indexes that are to be. */
static void
build_indexes(IngestIndexer *indexer)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ingest index build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int i = 0; i < indexer->shared->npairs; i++)
	{
		SharedPair *pair = get_pair(indexer, i);

		if (pair->method != METHOD_BUILD && pair->method != METHOD_BUILD_KEYS)
			continue;
		CHECK_FOR_INTERRUPTS();
		if (indexer->meter)
			ingest_meter_enter(indexer->meter);
		build_index(indexer, i);
		if (indexer->meter)
			ingest_meter_leave(indexer->meter, pair->indexid);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

void
ingest_index_apply_serial(IngestIndexer *indexer, EState *estate)
{
	IndexShared *shared = indexer->shared;
	MemoryContext old = MemoryContextSwitchTo(indexer->context);
	SharedPair *pairs = dsa_get_address(indexer->area, shared->pairs);
	int			i = 0;

	Assert(indexer->leader && !IsInParallelMode());
	build_indexes(indexer);
	while (i < shared->npairs)
	{
		int			n = 0;

		/* Pairs are sorted by leaf and method. */
		while (i + n < shared->npairs &&
			   pairs[i + n].leafid == pairs[i].leafid &&
			   pairs[i + n].method == METHOD_SERIAL)
			n++;
		if (n > 0)
			apply_serial_leaf(indexer, &pairs[i], n, estate);
		i += Max(n, 1);
	}
	if (indexer->meter)
		note_uses(indexer);
	MemoryContextSwitchTo(old);
}

void
ingest_index_end(IngestIndexer *indexer)
{
	if (indexer->reader)
		ingest_run_reader_end(indexer->reader);
	FreeExecutorState(indexer->estate);
	dsa_detach(indexer->area);
	dsm_detach(indexer->segment);
}
