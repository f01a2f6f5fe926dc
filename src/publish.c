/*-------------------------------------------------------------------------
 *
 * publish.c
 *		Staging tables: storage that is filled unseen, then put in the place
 *		of a table's own.
 *
 * A staging table is the transient heap that CLUSTER and ALTER TABLE make
 * when they rewrite a table (make_new_heap() in commands/cluster.c), and
 * publishing it is how they end: finish_heap_swap() exchanges the storage,
 * builds the indexes and drops the old.  All of it is part of the caller's
 * (sub)transaction, whose rollback brings the old content back; and a crash
 * leaves at most a file that no catalog entry names, as after any command
 * that has made a table.
 *
 * The staging table has the persistence of the table and not that of an
 * unlogged one, whose init fork would empty the table after a crash.  Its
 * pages are filled without WAL all the same (write_pages.c), which is safe as
 * long as nothing but this transaction can name them.  Before they become the
 * table's they are logged as whole pages, as index builds do it (gistbuild.c),
 * heap and TOAST table both.  Only then the visibility map is set, whose
 * records refer to the pages.  Where wal_level = minimal nothing is logged:
 * the storage is new in the transaction and is synced at commit.
 *
 * Freezing follows the rules of COPY FREEZE (CopyFrom() in copyfrom.c).  That
 * the storage is new in the subtransaction is always so here.
 *
 * Locks: the staging table's is AccessExclusiveLock from its creation.  The
 * table's own AccessExclusiveLock is taken when its rows are all staged and
 * logged, and is held while the indexes are built.
 *
 * IDENTIFICATION
 *		src/publish.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/multixact.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "access/xloginsert.h"
#include "catalog/index.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "publish.h"

Oid
ingest_staging_create(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			staging;

	staging = make_new_heap(relid, rel->rd_rel->reltablespace,
							rel->rd_rel->relam, rel->rd_rel->relpersistence,
							ShareUpdateExclusiveLock);
	table_close(rel, NoLock);
	return staging;
}

bool
ingest_staging_may_freeze(void)
{
	/* it would count as a registered one */
	InvalidateCatalogSnapshot();
	return INGEST_FREEZES_STAGED && ThereAreNoPriorRegisteredSnapshots() &&
		ThereAreNoReadyPortals();
}

/*
 * Enter all pages into the visibility map.
 */
static void
set_visibility_map(Relation rel)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	Buffer		map = InvalidBuffer;

	for (BlockNumber block = 0; block < nblocks; block++)
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

/*
 * Make the pages of a staging table, or of its TOAST table, last.
 */
static void
make_durable(Oid relid, bool frozen)
{
	Relation	rel = table_open(relid, NoLock);
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);

	if (RelationNeedsWAL(rel) && nblocks > 0)
		log_newpage_range(rel, MAIN_FORKNUM, 0, nblocks, true);
	if (frozen)
		set_visibility_map(rel);
	table_close(rel, NoLock);
}

/*
 * The staging table's TOAST table: its pages, and its index, which has not
 * been maintained.
 */
static void
publish_toast(Oid toastrelid, bool frozen)
{
	ReindexParams params = {0};

	LockRelationOid(toastrelid, AccessExclusiveLock);
	make_durable(toastrelid, frozen);
	reindex_relationCompat(toastrelid, 0, &params);
}

void
ingest_staging_swap(Oid relid, Oid staging, bool frozen)
{
	Relation	rel = table_open(staging, NoLock);
	Oid			toastrelid = rel->rd_rel->reltoastrelid;
	char		persistence = rel->rd_rel->relpersistence;

	table_close(rel, NoLock);
	make_durable(staging, frozen);
	if (OidIsValid(toastrelid))
		publish_toast(toastrelid, frozen);

	rel = table_open(relid, AccessExclusiveLock);
	CheckTableForSerializableConflictIn(rel);
	pgstat_count_truncate(rel);
	table_close(rel, NoLock);
	finish_heap_swapCompat(relid, staging, false, false, true, true, true,
						   RecentXmin, ReadNextMultiXactId(), persistence);
}

void
ingest_staging_analyze(Oid relid)
{
	char	   *sql;

	sql = psprintf("ANALYZE %s",
				   quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
											  get_rel_name(relid)));
	SPI_connect();
	if (SPI_execute(sql, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not analyze relation %u", relid);
	SPI_finish();
}
