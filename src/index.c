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
 * What an index needs is decided in classify_index(), from its definition
 * alone, because every process must come to the same decision.
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
#include "utils/lsyscache.h"

#include "compat.h"
#include "index.h"
#include "index_insert.h"
#include "index_key.h"
#include "index_run.h"

/* Phases of the barrier. */
#define PHASE_COLLECT		0
#define PHASE_PLAN			1
#define PHASE_WORK			2
#define PHASE_DONE			3

/* Keys a pair must have before it is cut, and those looked at to cut it. */
#define MIN_KEYS_TO_CUT		20000
#define SAMPLE_KEYS			2000

/* Most key ranges of one index: each range reads all of its keys. */
#define MAX_RANGES			16

/* What one process has collected for one index; published, then constant. */
typedef struct SharedEntry
{
	Oid			leafid;
	Oid			indexid;
	IngestIndexMethod method;
	int64		records;
	dsa_pointer first;
} SharedEntry;

/* What all processes have collected for one index; made by the planner. */
typedef struct SharedPair
{
	Oid			leafid;
	Oid			indexid;
	IngestIndexMethod method;
	int64		records;
	int			nsources;
	dsa_pointer sources;		/* array of IngestKeySource */
	int			nranges;

} SharedPair;

/* One piece of work; made by the planner. */
typedef struct SharedJob
{
	int			pair;
	int64		records;		/* about as many */
	dsa_pointer lower;			/* bounds of the range, if there are any */
	dsa_pointer upper;
} SharedJob;

/* Head of the segment. */
typedef struct IndexShared
{
	IngestIndexOptions options;
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
} KeyedIndex;

/* An index that is filled from the rows themselves. */
typedef struct RowIndex
{
	Oid			indexid;
	IngestIndexMethod method;	/* INGEST_INDEX_HEAP_ORDER or _SERIAL */
} RowIndex;

/* A leaf this process has rows for. */
typedef struct LeafState
{
	Oid			leafid;
	int			nkeyed;
	KeyedIndex *keyed;
	int			nrows;
	RowIndex   *rows;
	IngestRun	tids;			/* of all rows, if nrows > 0 */
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

/* A slice of memory for one process's sorts. */
static Size
sort_memory(const IngestIndexer *indexer)
{
	return indexer->shared->memory / 2 / indexer->shared->options.nprocesses;
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
		options->nprocesses * sizeof(((IndexShared *) 0)->published[0]);
	dsm_segment *segment = dsm_create(size, 0);
	IndexShared *shared = dsm_segment_address(segment);
	dsa_area   *area = dsa_create(LWTRANCHE_PARALLEL_QUERY_DSA);

	memset(shared, 0, size);
	shared->options = *options;
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

/*
 * Why must the work on the index be left to the leader, outside parallel
 * mode?  NULL if it need not.
 */
static const char *
serial_reason(Relation index, const IndexInfo *info, bool parallel)
{
	if (!index->rd_index->indimmediate)
		return "the constraint is deferrable";
	if (index->rd_index->indisexclusion)
		return "it is an exclusion constraint";
	if (!parallel)
		return NULL;
	if (!is_safe_expression(info->ii_Expressions) ||
		!is_safe_expression(info->ii_Predicate))
		return "its expressions are not parallel safe";
	if (!has_safe_support(index))
		return "its operator class is not parallel safe";
	if (index->rd_rel->relam >= FirstNormalObjectId)
		return "its access method is not known to be parallel safe";
	return NULL;
}

/* How the index is filled, and why not in a better way (NULL if there is none). */
static IngestIndexMethod
classify_index(Relation index, const IndexInfo *info, bool parallel,
			   const char **reason)
{
	*reason = serial_reason(index, info, parallel);
	if (*reason)
		return INGEST_INDEX_SERIAL;
	if (index->rd_rel->relam == BTREE_AM_OID)
		return INGEST_INDEX_SORTED_KEYS;
	*reason = "it is not a B-tree";
	return INGEST_INDEX_HEAP_ORDER;
}

static bool
is_parallel(const IngestIndexer *indexer)
{
	return indexer->shared->options.nprocesses > 1;
}

/* Get ready to collect the keys of an index; takes over the relation. */
static void
add_keyed_index(IngestIndexer *indexer, LeafState *state, Relation leaf,
				Relation index, IndexInfo *info)
{
	KeyedIndex *keyed = &state->keyed[state->nkeyed++];

	keyed->index = index;
	keyed->info = info;
	keyed->predicate = ExecPrepareQual(info->ii_Predicate, indexer->estate);
	ingest_key_format_init(&keyed->format, leaf, index);
	if (info->ii_NumIndexAttrs == 1 && keyed->predicate == NULL)
		keyed->column = info->ii_IndexAttrNumbers[0];
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

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);
		IndexInfo  *info = BuildIndexInfo(index);
		IngestIndexMethod method;
		const char *reason;

		method = classify_index(index, info, is_parallel(indexer), &reason);
		if (!info->ii_ReadyForInserts)
			index_close(index, NoLock);
		else if (method == INGEST_INDEX_SORTED_KEYS)
			add_keyed_index(indexer, state, leaf, index, info);
		else
		{
			state->rows[state->nrows].indexid = lfirst_oid(lc);
			state->rows[state->nrows++].method = method;
			index_close(index, NoLock);
		}
	}

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

	return state->nkeyed > 0 || state->nrows > 0;
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
	ingest_run_relieve(indexer->store);
}

/* Add an entry, unless there is nothing in it. */
static void
add_entry(SharedEntry *entries, int *n, LeafState *state, Oid indexid,
		  IngestIndexMethod method, const IngestRun *run)
{
	SharedEntry *entry = &entries[*n];

	if (run->records == 0)
		return;
	entry->leafid = state->leafid;
	entry->indexid = indexid;
	entry->method = method;
	entry->records = run->records;
	entry->first = run->first;
	(*n)++;
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
			max += indexer->leaves[i]->nkeyed + indexer->leaves[i]->nrows;
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
		for (int j = 0; j < state->nkeyed; j++)
		{
			add_entry(entries, &n, state,
					  RelationGetRelid(state->keyed[j].index),
					  INGEST_INDEX_SORTED_KEYS, &state->keyed[j].run);
			index_close(state->keyed[j].index, NoLock);
		}
		for (int j = 0; j < state->nrows; j++)
			add_entry(entries, &n, state, state->rows[j].indexid,
					  state->rows[j].method, &state->tids);
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

	if (pair->method != INGEST_INDEX_SORTED_KEYS ||
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

/* Turn a pair into jobs; returns how many. */
static int
make_jobs(IngestIndexer *indexer, SharedPair *pair, int pairno, int64 total,
		  SharedJob *jobs)
{
	int			n = 1;

	if (pair->method == INGEST_INDEX_SERIAL)
		return 0;

	jobs[0].pair = pairno;
	jobs[0].records = pair->records;
	jobs[0].lower = jobs[0].upper = InvalidDsaPointer;
	if (pair->method == INGEST_INDEX_SORTED_KEYS &&
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
		if (pairs[i].method != INGEST_INDEX_SERIAL)
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

/* Put the keys of one job into its B-tree. */
static void
insert_keys(IngestIndexer *indexer, const SharedJob *job, SharedPair *pair,
			IngestIndexTarget *target, IngestKeySource *sources)
{
	IngestKeyRange range;
	IngestKeyFormat format;
	IngestKeyStream *stream;
	const char *reason;

	range.lower = bound_address(indexer, job->lower);
	range.upper = bound_address(indexer, job->upper);
	ingest_key_format_init(&format, target->heap, target->index);
	stream = ingest_key_stream_begin(&format, indexer->reader, sources,
									 pair->nsources, &range, job->records,
									 sort_memory(indexer));
	if (indexer->shared->options.leaf_batches &&
		ingest_index_leaf_usable(target->index, &reason))
		(void) ingest_index_insert_batches(target, stream);
	else
		(void) ingest_index_insert_keys(target, stream);
	ingest_key_stream_end(stream);
}

/* Do one job. */
static void
run_job(IngestIndexer *indexer, const SharedJob *job)
{
	SharedPair *pair = (SharedPair *) dsa_get_address(indexer->area,
													  indexer->shared->pairs) +
		job->pair;
	IngestKeySource *sources = dsa_get_address(indexer->area, pair->sources);
	IngestIndexTarget target;

	target.heap = table_open(pair->leafid, RowExclusiveLock);
	target.index = index_open(pair->indexid, RowExclusiveLock);
	target.info = BuildIndexInfo(target.index);
	target.estate = CreateExecutorState();
	if (indexer->meter)
		ingest_meter_enter(indexer->meter);

	if (pair->method == INGEST_INDEX_SORTED_KEYS)
		insert_keys(indexer, job, pair, &target, sources);
	else
		(void) ingest_index_insert_rows(&target, indexer->reader, sources,
										pair->nsources);

	if (indexer->meter)
		ingest_meter_leave(indexer->meter, pair->indexid);
	FreeExecutorState(target.estate);
	index_close(target.index, NoLock);
	table_close(target.heap, NoLock);
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

void
ingest_index_apply_serial(IngestIndexer *indexer, EState *estate)
{
	IndexShared *shared = indexer->shared;
	MemoryContext old = MemoryContextSwitchTo(indexer->context);
	SharedPair *pairs = dsa_get_address(indexer->area, shared->pairs);
	int			i = 0;

	Assert(indexer->leader && !IsInParallelMode());
	while (i < shared->npairs)
	{
		int			n = 0;

		/* Pairs are sorted by leaf and method. */
		while (i + n < shared->npairs &&
			   pairs[i + n].leafid == pairs[i].leafid &&
			   pairs[i + n].method == INGEST_INDEX_SERIAL)
			n++;
		if (n > 0)
			apply_serial_leaf(indexer, &pairs[i], n, estate);
		i += Max(n, 1);
	}
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
