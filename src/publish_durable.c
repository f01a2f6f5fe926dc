/*-------------------------------------------------------------------------
 *
 * publish_durable.c
 *		Pages of staging tables made to last, by several processes.
 *
 * They have been filled without WAL, and are logged as whole pages, as index
 * builds do it (gistbuild.c).  Only then they are entered into the visibility
 * map, whose records refer to them.  A piece of work is a run of pages.
 *
 * Where wal_level = minimal, and of unlogged and temporary tables, nothing is
 * logged.
 *
 * IDENTIFICATION
 *		src/publish_durable.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/visibilitymap.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "parallel.h"
#include "publish.h"

/* Pages of a piece of work, and those that keep a process busy. */
#define PIECE_PAGES		512
#define PAGES_PER_WORKER	(4 * PIECE_PAGES)

/* A heap or TOAST table. */
typedef struct DurableRelation
{
	Oid			relid;
	BlockNumber nblocks;
	pg_atomic_uint32 next;		/* first page that nobody has taken */
} DurableRelation;

/* What all processes know. */
typedef struct DurableShared
{
	bool		frozen;
	int			nrelations;
	DurableRelation relations[FLEXIBLE_ARRAY_MEMBER];
} DurableShared;

extern PGDLLEXPORT void ingest_durable_worker(void *shared, int worker,
											  IngestMeter *meter);

/*
 * Enter pages into the visibility map.
 */
static void
set_visibility_map(Relation rel, BlockNumber first, BlockNumber end)
{
	Buffer		map = InvalidBuffer;

	for (BlockNumber block = first; block < end; block++)
	{
		Buffer		buffer = ReadBuffer(rel, block);

		CHECK_FOR_INTERRUPTS();
		visibilitymap_pin(rel, block, &map);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		/* one that has been added and not been filled is not */
		if (PageIsAllVisible(BufferGetPage(buffer)))
			ingest_visibilitymap_freeze(rel, block, buffer, map);
		UnlockReleaseBuffer(buffer);
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
}

/* Take pieces of a relation until there are none left. */
static void
seal_relation(DurableRelation *relation, bool frozen, IngestMeter *meter)
{
	Relation	rel;

	if (pg_atomic_read_u32(&relation->next) >= relation->nblocks)
		return;
	rel = table_open(relation->relid, RowExclusiveLock);
	ingest_meter_watch(meter, rel);
	ingest_meter_enter(meter);
	while (pg_atomic_read_u32(&relation->next) < relation->nblocks)
	{
		BlockNumber first = pg_atomic_fetch_add_u32(&relation->next,
													PIECE_PAGES);
		BlockNumber end = Min(first + PIECE_PAGES, relation->nblocks);

		if (first >= end)
			break;
		if (RelationNeedsWAL(rel))
			log_newpage_range(rel, MAIN_FORKNUM, first, end, true);
		if (frozen)
			set_visibility_map(rel, first, end);
	}
	ingest_meter_leave(meter, relation->relid);
	table_close(rel, NoLock);
}

static void
seal_relations(DurableShared *shared, IngestMeter *meter)
{
	for (int i = 0; i < shared->nrelations; i++)
		seal_relation(&shared->relations[i], shared->frozen, meter);
}

/*
 * A worker's life (an IngestParallelEntry).
 */
void
ingest_durable_worker(void *arg, int worker pg_attribute_unused(),
					  IngestMeter *meter)
{
	seal_relations(arg, meter);
}

/* Add a relation to what is to be done; returns its number of pages. */
static BlockNumber
add_relation(DurableShared *shared, Oid relid)
{
	DurableRelation *relation = &shared->relations[shared->nrelations++];
	Relation	rel = table_open(relid, NoLock);

	relation->relid = relid;
	relation->nblocks = RelationGetNumberOfBlocks(rel);
	pg_atomic_init_u32(&relation->next, 0);
	table_close(rel, NoLock);
	return relation->nblocks;
}

void
ingest_staging_make_durable(List *stagings, bool frozen, int nprocesses,
							IngestMeter *meter)
{
	Size		size = offsetof(DurableShared, relations) +
		2 * list_length(stagings) * sizeof(DurableRelation);
	DurableShared *shared = palloc0(size);
	IngestParallel *parallel = NULL;
	int64		npages = 0;
	int			nworkers;
	ListCell   *lc;

	shared->frozen = frozen;
	foreach(lc, stagings)
	{
		IngestStaging *staging = lfirst(lc);
		Oid			toastid = ingest_staging_toast(staging);

		npages += add_relation(shared, staging->staging);
		if (OidIsValid(toastid))
			npages += add_relation(shared, toastid);
	}

	nworkers = (int) Min((int64) nprocesses - 1, npages / PAGES_PER_WORKER);
	if (nworkers > 0)
	{
		parallel = ingest_parallel_begin(nworkers, size);
		shared = memcpy(ingest_parallel_shared(parallel), shared, size);
		(void) ingest_parallel_launch(parallel, "ingest_durable_worker");
	}
	seal_relations(shared, meter);
	if (parallel != NULL)
	{
		ingest_parallel_wait(parallel);
		ingest_parallel_finish(parallel, meter);
		ingest_meter_phase(meter, INGEST_PHASE_INDEX);
	}
}
