/*-------------------------------------------------------------------------
 *
 * index_page.c
 *		New pages for a B-tree, added to it in bulk.
 *
 * A tree that gets many keys splits most of its leaves, and nbtree adds pages
 * one by one, each with a system call that writes zeros.  Here they are added
 * several at a time, once there are no free pages to be used again; how many
 * depends on how many have been taken, so that few are left over.
 *
 * A page waits zero, pinned and unlocked until it is taken.  VACUUM, if it
 * comes by, takes it for a free one and enters it into the free space map, and
 * another backend may then use it (_bt_allocbuf).  So each page is used only
 * if it is still new once it is locked.  The other way round, a backend that
 * is told of a page used here meanwhile finds that it is not new.
 *
 * That VACUUM has passed a page before a split moves entries there, from a leaf
 * it has not seen, is nothing new either: the same goes for free pages that
 * are used again, and for these there are the cycle IDs (btvacuumpage).
 *
 * Pages that nobody has taken in the end are entered into the free space map.
 * After an error or a crash they stay zero until VACUUM finds them, as those
 * of core do.
 *
 * IDENTIFICATION
 *		src/index_page.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"

#include "compat.h"
#include "index_page.h"
#include "prefault.h"

/* Pages added at once are at most so many, or this part of those taken. */
#define MAX_WAITING			32
#define WAITING_PART		4

struct IngestIndexPages
{
	Relation	index;
	Relation	heap;
	int64		taken;
	bool		exhausted;		/* no free pages to be used again */

	/* added and not taken: those from next on */
	int			nwaiting;
	int			next;
	Buffer		waiting[MAX_WAITING];
};

IngestIndexPages *
ingest_index_pages_begin(Relation index, Relation heap)
{
	IngestIndexPages *pages = palloc0(sizeof(IngestIndexPages));

	pages->index = index;
	pages->heap = heap;
	return pages;
}

/*
 * Get a page as nbtree does, and notice when it has had to add one.
 */
static Buffer
take_free_page(IngestIndexPages *pages)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(pages->index);
	Buffer		buffer = _bt_allocbuf(pages->index, pages->heap);

	pages->exhausted = BufferGetBlockNumber(buffer) >= nblocks;
	return buffer;
}

/* Add pages to the index. */
static void
add_pages(IngestIndexPages *pages)
{
	int64		n = Min(pages->taken / WAITING_PART, MAX_WAITING);

	pages->next = 0;
	pages->nwaiting = ingest_extend_relation(pages->index, NULL, Max(n, 1),
											 pages->waiting);
	ingest_prefault_buffers(pages->waiting[0],
							pages->waiting[pages->nwaiting - 1], MAX_WAITING);
}

/* The next waiting page that is still new, locked; else InvalidBuffer. */
static Buffer
take_waiting_page(IngestIndexPages *pages)
{
	while (pages->next < pages->nwaiting)
	{
		Buffer		buffer = pages->waiting[pages->next++];

		_bt_lockbuf(pages->index, buffer, BT_WRITE);
		if (PageIsNew(BufferGetPage(buffer)))
		{
			_bt_pageinit(BufferGetPage(buffer), BufferGetPageSize(buffer));
			return buffer;
		}
		_bt_relbuf(pages->index, buffer);
	}
	return InvalidBuffer;
}

Buffer
ingest_index_pages_take(IngestIndexPages *pages)
{
	Buffer		buffer;

	pages->taken++;
	if (!pages->exhausted)
		return take_free_page(pages);
	while ((buffer = take_waiting_page(pages)) == InvalidBuffer)
		add_pages(pages);
	return buffer;
}

void
ingest_index_pages_end(IngestIndexPages *pages)
{
	for (int i = pages->next; i < pages->nwaiting; i++)
	{
		BlockNumber block = BufferGetBlockNumber(pages->waiting[i]);

		ReleaseBuffer(pages->waiting[i]);
		RecordFreeIndexPage(pages->index, block);
		FreeSpaceMapVacuumRange(pages->index, block, block + 1);
	}
	pfree(pages);
}
