/*-------------------------------------------------------------------------
 *
 * staged_transfer.c
 *		Rows of staging tables, added to the tables they are for.
 *
 * This is what strategy "direct" does (direct.c), with staging tables in the
 * place of a file: the same processes in the same steps put rows on whole
 * pages behind the table's last one, which are logged (write_pages.c), and
 * have index entries made of their keys (index.c).  A row needs no more
 * conversion or check; its bytes are copied.  Pieces of work are runs of pages
 * of a staging table or of its TOAST table.
 *
 * Values out of line go to the table's own TOAST table as the rows they are,
 * with the OIDs they have, which are good there too (toast.h).  The pointers
 * in the rows name the TOAST table and are changed.  An index that needs such
 * a value gets the row with the old pointer, since the value may not have been
 * transferred yet.
 *
 * The staging tables are this transaction's own, so whatever is on their pages
 * is a row of the load.
 *
 * Locks: those of direct.
 *
 * IDENTIFICATION
 *		src/staged_transfer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "index.h"
#include "parallel.h"
#include "staged_transfer.h"
#include "toast.h"
#include "write_pages.h"

/* Pages of a piece of work, and those that keep a process busy. */
#define PIECE_PAGES		64
#define PAGES_PER_WORKER	(8 * PIECE_PAGES)

/* A table and where its rows come from. */
typedef struct TransferLeaf
{
	Oid			relid;
	Oid			staging;
	BlockNumber nblocks;		/* of the staging table */
	BlockNumber toast_nblocks;	/* and of its TOAST table */
	pg_atomic_uint32 next;		/* first page that nobody has taken */
	pg_atomic_uint32 toast_next;
} TransferLeaf;

/* What all processes know. */
typedef struct TransferShared
{
	TransactionId xid;
	CommandId	cid;
	bool		has_indexes;
	dsm_handle	indexer;
	int			nleaves;
	TransferLeaf leaves[FLEXIBLE_ARRAY_MEMBER];
} TransferShared;

/* One process's part. */
typedef struct Transfer
{
	TransferShared *shared;
	IngestIndexer *indexer;		/* NULL: no table has indexes */
	IngestMeter *meter;
	IngestPages *pages;
	List	   *tables;			/* of TransferTable: those met */
} Transfer;

/* A table, in one process. */
typedef struct TransferTable
{
	Transfer   *transfer;
	int			leafno;
	Relation	rel;
	Relation	staging;
	Relation	toast;			/* the staging table's, or NULL */
	bool		indexed;
	IngestPageWriter *writer;
	IngestToaster *toaster;
	TupleTableSlot *slot;
} TransferTable;

extern PGDLLEXPORT void ingest_staged_worker(void *shared, int worker,
											 IngestMeter *meter);

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* A batch of pages has its blocks. */
static void
pages_placed(void *arg, const Page *pages pg_attribute_unused(),
			 const BlockNumber *blocks, int nblocks)
{
	TransferTable *table = arg;

	ingest_index_place(table->transfer->indexer, table->leafno, blocks,
					   nblocks);
}

/*
 * Have a row's pointers to values out of line name the table's TOAST table.
 * They are found where they are in the row, not aligned.
 */
static void
change_pointers(TransferTable *table, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(table->rel);
	int			natts = HeapTupleHeaderGetNatts(tuple->t_data);

	for (int attnum = 1; attnum <= natts; attnum++)
	{
		bool		isnull;
		Datum		value;
		struct varatt_external pointer;

		if (TupleDescAttr(desc, attnum - 1)->attlen != -1)
			continue;
		value = fastgetattr(tuple, attnum, desc, &isnull);
		if (isnull || !VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)))
			continue;
		VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(value));
		pointer.va_toastrelid = table->rel->rd_rel->reltoastrelid;
		memcpy(VARDATA_EXTERNAL(DatumGetPointer(value)), &pointer,
			   sizeof(pointer));
	}
}

/* Put a row, which is in memory of ours, on a page of the table. */
static void
put_row(TransferTable *table, HeapTuple tuple)
{
	ItemPointerData tid;
	HeapTuple	original = tuple;

	if (HeapTupleHasExternal(tuple))
	{
		if (table->indexed)
			original = heap_copytuple(tuple);
		change_pointers(table, tuple);
	}
	ingest_pages_put_tuple(table->writer, tuple, &tid);
	if (!table->indexed)
		return;

	ExecStoreHeapTuple(original, table->slot, false);
	table->slot->tts_tid = tid;
	table->slot->tts_tableOid = RelationGetRelid(table->rel);
	ingest_index_collect(table->transfer->indexer, table->leafno, table->rel,
						 table->slot);
	ExecClearTuple(table->slot);
	if (original != tuple)
		heap_freetuple(original);
}

/* Take over all rows of a page, of the table or of the TOAST table. */
static void
copy_page(TransferTable *table, Relation from, BlockNumber block,
		  BufferAccessStrategy strategy)
{
	PGAlignedBlock copy;
	Page		page = (Page) copy.data;
	Buffer		buffer = ReadBufferExtended(from, MAIN_FORKNUM, block,
											RBM_NORMAL, strategy);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	if (PageIsNew(page))
		return;

	for (OffsetNumber off = FirstOffsetNumber;
		 off <= PageGetMaxOffsetNumber(page); off++)
	{
		ItemId		item = PageGetItemId(page, off);
		HeapTupleData tuple;

		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = RelationGetRelid(from);
		ItemPointerSet(&tuple.t_self, block, off);
		if (from == table->staging)
			put_row(table, &tuple);
		else
			ingest_toast_adopt(table->toaster, &tuple);
	}
}

/* ------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------
 */

/* Take pieces of a relation until there are none left. */
static void
copy_relation(TransferTable *table, Relation from, BlockNumber nblocks,
			  pg_atomic_uint32 *next)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);

	while (pg_atomic_read_u32(next) < nblocks)
	{
		BlockNumber first = pg_atomic_fetch_add_u32(next, PIECE_PAGES);

		for (BlockNumber block = first;
			 block < Min(nblocks, first + PIECE_PAGES); block++)
		{
			CHECK_FOR_INTERRUPTS();
			copy_page(table, from, block, strategy);
		}
	}
	FreeAccessStrategy(strategy);
}

/* Open what it takes to fill a table. */
static TransferTable *
open_table(Transfer *transfer, int leafno)
{
	TransferLeaf *leaf = &transfer->shared->leaves[leafno];
	TransferTable *table = palloc0(sizeof(TransferTable));
	Oid			toastid;

	table->transfer = transfer;
	table->leafno = leafno;
	table->rel = table_open(leaf->relid, RowExclusiveLock);
	table->staging = table_open(leaf->staging, RowExclusiveLock);
	toastid = table->staging->rd_rel->reltoastrelid;
	if (OidIsValid(toastid))
		table->toast = table_open(toastid, RowExclusiveLock);
	table->indexed = transfer->indexer != NULL &&
		ingest_index_wanted(transfer->indexer, leafno, table->rel);
	table->writer = ingest_pages_open(transfer->pages, table->rel,
									  table->indexed ? pages_placed : NULL,
									  table);
	table->toaster = ingest_toast_begin(table->rel, transfer->pages);
	table->slot = MakeSingleTupleTableSlot(RelationGetDescr(table->rel),
										   &TTSOpsHeapTuple);
	transfer->tables = lappend(transfer->tables, table);
	return table;
}

static void
close_table(TransferTable *table)
{
	ingest_toast_end(table->toaster);
	ExecDropSingleTupleTableSlot(table->slot);
	if (table->toast != NULL)
		table_close(table->toast, NoLock);
	table_close(table->staging, NoLock);
	table_close(table->rel, NoLock);
}

/* Take a share of a table's rows, if there are any left. */
static void
copy_leaf(Transfer *transfer, int leafno)
{
	TransferLeaf *leaf = &transfer->shared->leaves[leafno];
	TransferTable *table;

	if (pg_atomic_read_u32(&leaf->next) >= leaf->nblocks)
		return;
	table = open_table(transfer, leafno);
	if (table->toast != NULL)
		copy_relation(table, table->toast, leaf->toast_nblocks,
					  &leaf->toast_next);
	copy_relation(table, table->staging, leaf->nblocks, &leaf->next);
}

/* What every process does: rows, then index entries. */
static void
run_transfer(Transfer *transfer)
{
	ListCell   *lc;

	for (int i = 0; i < transfer->shared->nleaves; i++)
		copy_leaf(transfer, i);
	ingest_pages_flush(transfer->pages);
	if (transfer->indexer != NULL)
		ingest_index_apply(transfer->indexer);
	foreach(lc, transfer->tables)
		close_table(lfirst(lc));
}

/* State is allocated in CurrentMemoryContext. */
static Transfer *
begin_transfer(TransferShared *shared, IngestIndexer *indexer,
			   IngestMeter *meter)
{
	Transfer   *transfer = palloc0(sizeof(Transfer));

	transfer->shared = shared;
	transfer->indexer = indexer;
	transfer->meter = meter;
	transfer->pages = ingest_pages_begin(shared->xid, shared->cid, meter);
	return transfer;
}

/* Have the meter watch a table. */
static void
watch(IngestMeter *meter, Oid relid)
{
	Relation	rel = table_open(relid, RowExclusiveLock);

	ingest_meter_watch(meter, rel);
	table_close(rel, NoLock);
}

/*
 * A worker's life (an IngestParallelEntry).
 */
void
ingest_staged_worker(void *arg, int worker pg_attribute_unused(),
					 IngestMeter *meter)
{
	TransferShared *shared = arg;
	IngestIndexer *indexer = NULL;

	for (int i = 0; i < shared->nleaves; i++)
	{
		watch(meter, shared->leaves[i].relid);
		watch(meter, shared->leaves[i].staging);
	}
	if (shared->has_indexes)
	{
		indexer = ingest_index_attach(shared->indexer);
		ingest_index_set_meter(indexer, meter);
	}
	run_transfer(begin_transfer(shared, indexer, meter));
	if (indexer != NULL)
		ingest_index_end(indexer);
}

/* ------------------------------------------------------------------------
 * The leader
 * ------------------------------------------------------------------------
 */

static BlockNumber
count_blocks(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);

	table_close(rel, NoLock);
	return nblocks;
}

/* Fill in what there is to do; returns the number of pages. */
static int64
plan_transfer(List *stagings, TransferLeaf *leaves)
{
	ListCell   *lc;
	int64		total = 0;
	int			i = 0;

	foreach(lc, stagings)
	{
		IngestStaging *staging = lfirst(lc);
		TransferLeaf *leaf = &leaves[i++];
		Oid			toastid = ingest_staging_toast(staging);

		leaf->relid = staging->relid;
		leaf->staging = staging->staging;
		leaf->nblocks = count_blocks(staging->staging);
		leaf->toast_nblocks = OidIsValid(toastid) ? count_blocks(toastid) : 0;
		pg_atomic_init_u32(&leaf->next, 0);
		pg_atomic_init_u32(&leaf->toast_next, 0);
		total += leaf->nblocks + leaf->toast_nblocks;
	}
	return total;
}

/* Tell the indexer, and the load, where the rows will be. */
static void
announce_leaves(IngestIndexer *indexer, IngestDirectShared *load)
{
	IngestDirectLeafShared *leaves =
		INGEST_DIRECT_AT(load, IngestDirectLeafShared, load->leaves);

	for (int i = 0; i < load->nleaves; i++)
	{
		Relation	rel = table_open(leaves[i].relid, NoLock);

		leaves[i].first_block = RelationGetNumberOfBlocks(rel);
		if (indexer != NULL)
			ingest_index_announce(indexer, i, rel);
		table_close(rel, NoLock);
	}
}

/* The indexer of the tables, or NULL if none has an index. */
static IngestIndexer *
begin_indexes(IngestWriteTarget *target, List *stagings, int nprocesses)
{
	IngestIndexOptions options = {0};
	IngestIndexer *indexer;
	bool		any = false;
	ListCell   *lc;

	foreach(lc, stagings)
	{
		Relation	rel = table_open(((IngestStaging *) lfirst(lc))->relid,
									 NoLock);

		any |= rel->rd_rel->relhasindex;
		table_close(rel, NoLock);
	}
	if (!any)
		return NULL;
	options.nleaves = list_length(stagings);
	options.nprocesses = nprocesses;
	options.mode = target->options->index_mode;
	indexer = ingest_index_begin(&options);
	ingest_index_set_meter(indexer, target->meter);
	return indexer;
}

void
ingest_staged_transfer(IngestWriteTarget *target, List *stagings,
					   IngestDirectShared *load, EState *estate)
{
	int			nleaves = list_length(stagings);
	Size		size = offsetof(TransferShared, leaves) +
		nleaves * sizeof(TransferLeaf);
	TransferShared *shared = palloc0(size);
	IngestParallel *parallel = NULL;
	IngestIndexer *indexer;
	int64		pages = plan_transfer(stagings, shared->leaves);
	int			nworkers = (int) Min((int64) target->workers_used - 1,
									 pages / PAGES_PER_WORKER);

	indexer = begin_indexes(target, stagings, nworkers + 1);
	announce_leaves(indexer, load);
	shared->xid = load->xid;
	shared->cid = load->cid;
	shared->nleaves = nleaves;
	shared->has_indexes = indexer != NULL;
	if (indexer != NULL)
		shared->indexer = ingest_index_handle(indexer);

	if (nworkers > 0)
	{
		parallel = ingest_parallel_begin(nworkers, size);
		shared = memcpy(ingest_parallel_shared(parallel), shared, size);
		(void) ingest_parallel_launch(parallel, "ingest_staged_worker");
	}
	run_transfer(begin_transfer(shared, indexer, target->meter));
	if (parallel != NULL)
	{
		ingest_parallel_wait(parallel);
		ingest_parallel_finish(parallel, target->meter);
		ingest_meter_phase(target->meter, INGEST_PHASE_INDEX);
	}
	if (indexer != NULL)
	{
		ingest_index_apply_serial(indexer, estate);
		ingest_index_end(indexer);
	}
}
