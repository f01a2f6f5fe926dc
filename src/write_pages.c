/*-------------------------------------------------------------------------
 *
 * write_pages.c
 *		Rows to whole heap pages, appended to their relation.
 *
 * What is written is what heap_multi_insert() (heapam.c) would write into
 * fresh pages: the same tuple headers, the same order of line pointers and
 * tuples, the fillfactor honoured, and for each page one record
 * XLOG_HEAP2_MULTI_INSERT | XLOG_HEAP_INIT_PAGE, from which redo makes the
 * page and logical decoding the rows.  heap_multi_insert() itself refuses to
 * run in a parallel worker; the reason is the command id, which is fixed here
 * before parallel mode begins.
 *
 * No record is written unless RelationNeedsWAL(): a relation that is new in
 * the transaction under wal_level = minimal is synced at commit, and as the
 * server does not log what comes later either, replaying our records would
 * put old pages over newer ones.
 *
 * Nor are pages of a staging table, which is logged as a whole when it is
 * published (publish.c).
 *
 * Appending takes the extension lock for all pages of a batch at once.  The
 * new pages are zero and unlocked then, and another backend that looks for
 * space may come first and use one (hio.c tries a relation's last page when
 * the free space map knows none).  So each page is locked and used only if it
 * is still new; for those that are not, more are added.  Zero pages left by
 * an error or a crash are the same as those core leaves behind.
 *
 * Free space in existing pages is not used.  Of a page that is left partly empty
 * others learn by the free space map; see enter_free_space().
 *
 * Serializable transactions: a writer checks for readers of the relation
 * before and after its pages become visible to them, as heap_multi_insert()
 * does.
 *
 * Memory: at most POOL_PAGES pages a process.  When they are in use, the
 * relation that has most is flushed, its last page in whatever state it is.
 *
 * IDENTIFICATION
 *		src/write_pages.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam_xlog.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/predicate.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "flush_ahead.h"
#include "prefault.h"
#include "write_pages.h"

/* 32 MB, allocated 512 kB at a time */
#define POOL_PAGES	4096
#define POOL_STEP	64

/* Pages of a relation that needs no free space map for one of them. */
#define SMALL_RELATION	64

/* Size of a ring of BAS_BULKWRITE (freelist.c) where it is not smaller. */
#define BULKWRITE_PAGES	(16 * 1024 * 1024 / BLCKSZ)

/* A page of ours in shared buffers, where it was when we released it. */
typedef struct RingSlot
{
	RelFileLocator locator;
	BlockNumber block;
	Buffer		buffer;
} RingSlot;

struct IngestPages
{
	TransactionId xid;
	CommandId	cid;
	IngestMeter *meter;
	MemoryContext context;
	bool		staged;			/* see ingest_pages_stage() */
	bool		frozen;

	/* the buffers in use, and what is in them (see clean_ring()) */
	BufferAccessStrategy strategy;
	int			ring_size;
	int			ring_next;
	RingSlot   *ring;

	int			npages;			/* allocated */
	int			nfree;
	char	   *free[POOL_PAGES];

	int			nwriters;
	int			max_writers;
	IngestPageWriter **writers;
};

struct IngestPageWriter
{
	IngestPages *pages;
	Relation	rel;
	IngestPagesPlaced placed;
	void	   *arg;
	Size		reserved;		/* of a page's free space, by the fillfactor */

	int			npages;			/* the last one is being filled */
	Page		batch[INGEST_PAGES_BATCH];
};

IngestPages *
ingest_pages_begin(TransactionId xid, CommandId cid, IngestMeter *meter)
{
	IngestPages *pages = palloc0(sizeof(IngestPages));

	pages->xid = xid;
	pages->cid = cid;
	pages->meter = meter;
	pages->context = CurrentMemoryContext;
	pages->strategy = GetAccessStrategy(BAS_BULKWRITE);
	if (INGEST_EVICTS_WHILE_EXTENDING)
	{
		pages->ring_size = Max(1, Min(NBuffers / 8, BULKWRITE_PAGES));
		pages->ring = palloc0(pages->ring_size * sizeof(RingSlot));
	}
	return pages;
}

void
ingest_pages_stage(IngestPages *pages, bool frozen)
{
	pages->staged = true;
	pages->frozen = frozen;
}

bool
ingest_pages_staged(const IngestPages *pages)
{
	return pages->staged;
}

IngestPageWriter *
ingest_pages_open(IngestPages *pages, Relation rel,
				  IngestPagesPlaced placed, void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(pages->context);
	IngestPageWriter *writer = palloc0(sizeof(IngestPageWriter));

	writer->pages = pages;
	writer->rel = rel;
	writer->placed = placed;
	writer->arg = arg;
	writer->reserved = RelationGetTargetPageFreeSpace(rel,
													  HEAP_DEFAULT_FILLFACTOR);
	if (pages->nwriters == pages->max_writers)
	{
		pages->max_writers = Max(16, 2 * pages->max_writers);
		if (pages->writers == NULL)
			pages->writers = palloc(pages->max_writers *
									sizeof(IngestPageWriter *));
		else
			pages->writers = repalloc(pages->writers, pages->max_writers *
									  sizeof(IngestPageWriter *));
	}
	pages->writers[pages->nwriters++] = writer;
	MemoryContextSwitchTo(old);
	return writer;
}

/* ------------------------------------------------------------------------
 * Appending
 * ------------------------------------------------------------------------
 */

/*
 * Log a page that has just been filled, from its private copy, whose tuples
 * are those of the buffer.  Called in the critical section that filled it.
 */
static void
log_page(IngestPageWriter *writer, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber ntuples = PageGetMaxOffsetNumber(page);
	bool		need_tuple_data = RelationIsLogicallyLogged(writer->rel);
	PGAlignedBlock scratch;
	xl_heap_multi_insert *xlrec = (xl_heap_multi_insert *) scratch.data;
	char	   *data = scratch.data + SizeOfHeapMultiInsert;
	char	   *p = data;
	XLogRecPtr	recptr;

	/*
	 * No row that is logged here for logical decoding has values out of line
	 * (see direct.c), so each record may be the last of its kind.
	 */
	xlrec->flags = XLH_INSERT_LAST_IN_MULTI;
	if (need_tuple_data)
		xlrec->flags |= XLH_INSERT_CONTAINS_NEW_TUPLE;
	xlrec->ntuples = ntuples;

	for (OffsetNumber off = FirstOffsetNumber; off <= ntuples; off++)
	{
		ItemId		item = PageGetItemId(page, off);
		HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, item);
		xl_multi_insert_tuple *tuple;

		p = (char *) SHORTALIGN(p);
		tuple = (xl_multi_insert_tuple *) p;
		tuple->t_infomask2 = header->t_infomask2;
		tuple->t_infomask = header->t_infomask;
		tuple->t_hoff = header->t_hoff;
		tuple->datalen = ItemIdGetLength(item) - SizeofHeapTupleHeader;
		p += SizeOfMultiInsertTuple;
		memcpy(p, (char *) header + SizeofHeapTupleHeader, tuple->datalen);
		p += tuple->datalen;
	}
	Assert(p - scratch.data < BLCKSZ);

	XLogBeginInsert();
	XLogRegisterData((char *) xlrec, data - scratch.data);
	XLogRegisterBuffer(0, buffer, REGBUF_STANDARD | REGBUF_WILL_INIT |
					   (need_tuple_data ? REGBUF_KEEP_DATA : 0));
	XLogRegisterBufData(0, data, p - data);
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
	recptr = XLogInsert(RM_HEAP2_ID,
						XLOG_HEAP2_MULTI_INSERT | XLOG_HEAP_INIT_PAGE);
	PageSetLSN(page, recptr);
}

/*
 * Copy a page into a new one of the relation, which is locked.
 */
static void
fill_buffer(IngestPageWriter *writer, Page page, Buffer buffer)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	OffsetNumber ntuples = PageGetMaxOffsetNumber(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= ntuples; off++)
	{
		HeapTupleHeader header = (HeapTupleHeader)
			PageGetItem(page, PageGetItemId(page, off));

		ItemPointerSet(&header->t_ctid, block, off);
	}

	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), page, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(writer->rel) && !writer->pages->staged)
		log_page(writer, buffer);
	END_CRIT_SECTION();
}

/*
 * Write the pages out whose buffers the next n pages will take.
 *
 * The buffers of a strategy are used in turn, so these hold our pages of one
 * round ago.  Until 15 the server would write them, and flush the WAL first,
 * while it extends the relation and all other processes wait.  It is no harm
 * if a buffer holds something else by now: the server sees to that one.
 */
static void
clean_ring(IngestPages *pages, uint32 n)
{
	for (uint32 i = 0; i < Min(n, (uint32) pages->ring_size); i++)
	{
		RingSlot   *slot = &pages->ring[(pages->ring_next + i) %
										pages->ring_size];

		if (!BufferIsValid(slot->buffer) ||
			!ReadRecentBuffer(slot->locator, MAIN_FORKNUM, slot->block,
							  slot->buffer))
			continue;
		/* nobody has asked for the page */
		pgBufferUsage.shared_blks_hit--;
		LockBuffer(slot->buffer, BUFFER_LOCK_SHARE);
		FlushOneBuffer(slot->buffer);
		UnlockReleaseBuffer(slot->buffer);
	}
}

/* Remember what has been put into a buffer. */
static inline void
enter_ring(IngestPages *pages, Relation rel, BlockNumber block, Buffer buffer)
{
	RingSlot   *slot;

	if (pages->ring_size == 0 || BufferIsLocal(buffer))
		return;
	slot = &pages->ring[pages->ring_next];
	slot->locator = rel->rd_locator;
	slot->block = block;
	slot->buffer = buffer;
	pages->ring_next = (pages->ring_next + 1) % pages->ring_size;
}

/*
 * Give every page of the batch a block.
 */
static void
append_batch(IngestPageWriter *writer, BlockNumber *blocks)
{
	IngestPages *pages = writer->pages;
	int			done = 0;

	while (done < writer->npages)
	{
		Buffer		buffers[INGEST_PAGES_BATCH] = {InvalidBuffer};
		uint32		n = writer->npages - done;

		clean_ring(pages, n);
		n = ingest_extend_relation(writer->rel, pages->strategy, n, buffers);
		ingest_prefault_buffers(buffers[0], buffers[n - 1],
								INGEST_PAGES_BATCH);
		for (uint32 i = 0; i < n; i++)
		{
			BlockNumber block = BufferGetBlockNumber(buffers[i]);

			LockBuffer(buffers[i], BUFFER_LOCK_EXCLUSIVE);
			if (PageIsNew(BufferGetPage(buffers[i])))
			{
				fill_buffer(writer, writer->batch[done], buffers[i]);
				blocks[done++] = block;
			}
			UnlockReleaseBuffer(buffers[i]);
			enter_ring(pages, writer->rel, block, buffers[i]);
		}
	}
	ingest_flush_ahead();
}

/*
 * Let others find the space on the last page of a batch.
 *
 * They look at a relation's last page themselves (hio.c), and a page in a small
 * one is not worth a map if there is none: to create the file takes more time
 * than to fill the page, and with thousands of partitions that counts.
 */
static void
enter_free_space(IngestPageWriter *writer, BlockNumber block)
{
	Relation	rel = writer->rel;
	Size		space = PageGetHeapFreeSpace(writer->batch[writer->npages - 1]);
	BlockNumber nblocks;

	if (space <= writer->reserved + BLCKSZ / 16)
		return;
	nblocks = RelationGetNumberOfBlocks(rel);
	if (block + 1 == nblocks ||
		(nblocks < SMALL_RELATION &&
		 !smgrexists(RelationGetSmgr(rel), FSM_FORKNUM)))
		return;
	RecordPageWithFreeSpace(rel, block, space);
	FreeSpaceMapVacuumRange(rel, block, block + 1);
}

/*
 * Append the writer's pages and give their memory back.
 */
static void
flush_writer(IngestPageWriter *writer)
{
	IngestPages *pages = writer->pages;
	BlockNumber blocks[INGEST_PAGES_BATCH];
	int			npages = writer->npages;

	if (npages == 0)
		return;

	CHECK_FOR_INTERRUPTS();
	if (pages->meter)
		ingest_meter_enter(pages->meter);
	CheckForSerializableConflictIn(writer->rel, NULL, InvalidBlockNumber);
	append_batch(writer, blocks);
	CheckForSerializableConflictIn(writer->rel, NULL, InvalidBlockNumber);

	enter_free_space(writer, blocks[npages - 1]);
	if (pages->meter)
		ingest_meter_leave(pages->meter, RelationGetRelid(writer->rel));

	writer->npages = 0;
	if (writer->placed)
		writer->placed(writer->arg, writer->batch, blocks, npages);
	for (int i = 0; i < npages; i++)
		pages->free[pages->nfree++] = (char *) writer->batch[i];
}

/* Make room in the pool. */
static void
flush_largest(IngestPages *pages)
{
	IngestPageWriter *largest = NULL;

	for (int i = 0; i < pages->nwriters; i++)
	{
		IngestPageWriter *writer = pages->writers[i];

		if (largest == NULL || writer->npages > largest->npages)
			largest = writer;
	}
	flush_writer(largest);
}

void
ingest_pages_flush(IngestPages *pages)
{
	/* placed() may put rows on pages of other relations, so look again */
	for (bool again = true; again;)
	{
		again = false;
		for (int i = 0; i < pages->nwriters; i++)
		{
			again |= pages->writers[i]->npages > 0;
			flush_writer(pages->writers[i]);
		}
	}
}

/* ------------------------------------------------------------------------
 * Filling
 * ------------------------------------------------------------------------
 */

/* Add pages to the pool, which is not complete. */
static void
enlarge_pool(IngestPages *pages)
{
	Size		size = POOL_STEP * BLCKSZ;
	char	   *memory = MemoryContextAlloc(pages->context, size);

	ingest_prefault(memory, size);
	for (int i = 0; i < POOL_STEP; i++)
		pages->free[pages->nfree++] = memory + i * BLCKSZ;
	pages->npages += POOL_STEP;
}

/* Begin another page, flushing the batch if it is complete. */
static Page
add_page(IngestPageWriter *writer)
{
	IngestPages *pages = writer->pages;
	Page		page;

	if (writer->npages == INGEST_PAGES_BATCH)
		flush_writer(writer);
	if (pages->nfree == 0 && pages->npages == POOL_PAGES)
		flush_largest(pages);
	if (pages->nfree == 0)
		enlarge_pool(pages);
	page = (Page) pages->free[--pages->nfree];
	PageInit(page, BLCKSZ, 0);
	if (pages->frozen)
		PageSetAllVisible(page);
	writer->batch[writer->npages++] = page;
	return page;
}

/*
 * Take len bytes on a page.  Returns the tuple's address; tid is set.
 */
static HeapTupleHeader
take_space(IngestPageWriter *writer, Size len, ItemPointer tid)
{
	Size		aligned = MAXALIGN(len);
	Page		page = NULL;
	PageHeader	header;
	OffsetNumber off = FirstOffsetNumber;

	if (unlikely(aligned > MaxHeapTupleSize))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too big: size %zu, maximum size %zu",
						len, MaxHeapTupleSize)));

	if (writer->npages > 0)
	{
		page = writer->batch[writer->npages - 1];
		header = (PageHeader) page;
		off = OffsetNumberNext(PageGetMaxOffsetNumber(page));
		if ((Size) (header->pd_upper - header->pd_lower) <
			sizeof(ItemIdData) + aligned + writer->reserved ||
			off > MaxHeapTuplesPerPage)
			page = NULL;
	}
	if (page == NULL)
	{
		page = add_page(writer);
		off = FirstOffsetNumber;
	}
	header = (PageHeader) page;
	header->pd_lower += sizeof(ItemIdData);
	header->pd_upper -= aligned;
	ItemIdSetNormal(PageGetItemId(page, off), header->pd_upper, len);
	ItemPointerSet(tid, writer->npages - 1, off);
	return (HeapTupleHeader) (page + header->pd_upper);
}

/* Transaction fields, as heap_prepare_insert() sets them. */
static inline void
set_transaction(const IngestPages *pages, HeapTupleHeader header)
{
	header->t_infomask |= HEAP_XMAX_INVALID;
	HeapTupleHeaderSetXmin(header, pages->xid);
	if (pages->frozen)
		HeapTupleHeaderSetXminFrozen(header);
	HeapTupleHeaderSetCmin(header, pages->cid);
	HeapTupleHeaderSetXmax(header, InvalidTransactionId);
}

void
ingest_pages_put(IngestPageWriter *writer, const IngestRow *row,
				 ItemPointer tid)
{
	Size		hoff = MAXALIGN(SizeofHeapTupleHeader +
								(row->has_null ? BITMAPLEN(row->natts) : 0));
	HeapTupleHeader header = take_space(writer, hoff + row->len, tid);

	header->t_infomask2 = row->natts;
	header->t_infomask = row->infomask;
	header->t_hoff = hoff;
	set_transaction(writer->pages, header);
	if (row->has_null)
	{
		for (int i = 0; i < row->natts; i++)
			if (!row->isnull[i])
				header->t_bits[i / 8] |= 1 << (i % 8);
	}
	memcpy((char *) header + hoff, row->data, row->len);
}

void
ingest_pages_put_tuple(IngestPageWriter *writer, HeapTuple tuple,
					   ItemPointer tid)
{
	HeapTupleHeader header = take_space(writer, tuple->t_len, tid);

	memcpy(header, tuple->t_data, tuple->t_len);
	header->t_infomask &= ~HEAP_XACT_MASK;
	header->t_infomask2 &= ~HEAP2_XACT_MASK;
	set_transaction(writer->pages, header);
}
