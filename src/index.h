/*-------------------------------------------------------------------------
 *
 * index.h
 *		Deferred index work: keys of new rows are collected while the rows are
 *		written, and put into the indexes afterwards, in order.
 *
 * One load has one indexer, made by the leader and joined by its parallel
 * workers (there may be none).  All of them carry the caller's transaction
 * id.  Each process passes through the same steps:
 *
 *		leader						worker
 *		ingest_index_begin
 *		ingest_index_announce ...
 *		  (handle to the workers)	ingest_index_attach
 *		ingest_index_collect ...	ingest_index_collect ...
 *		ingest_index_place ...		ingest_index_place ...
 *		ingest_index_apply			ingest_index_apply
 *		  (ends when all is done)	ingest_index_end
 *		  (parallel mode ends)
 *		ingest_index_apply_serial
 *		ingest_index_end
 *
 * A row's place is often known only after its page has been given a block
 * number.  So a row is collected with a provisional TID, whose block is the
 * ordinal of the page in the writer's batch of pages for that leaf, and
 * ingest_index_place() turns ordinals into block numbers when the batch has
 * been written.  At most one batch of a leaf is provisional at a time.
 *
 * What happens to an index is decided per index from its definition and the
 * mode, so that every process decides the same, without a plan to hand round;
 * how many key ranges it is cut in, when the number of new keys is known.
 *
 *	row			entries are made as soon as a batch of pages is written
 *	sorted		B-trees: keys sorted, and inserted leaf page by leaf page
 *				where that is possible, else one by one; others: entries
 *				made in the order of the rows' places, afterwards
 *	rebuild		the server's own build, by the leader outside parallel mode;
 *				a B-tree without entries is built from the collected keys,
 *				any other index by a scan of the table
 *	auto		rebuild where the leaf is new in this transaction, else sorted
 *
 * Indexes whose work only the leader may do outside parallel mode (deferrable
 * unique and exclusion constraints, expressions that are not parallel safe)
 * are done by ingest_index_apply_serial(), as the builds are.  No index has to
 * be refused: what a mode cannot do is done in a simpler way, and the
 * meter is told why.
 *
 * Memory: collected keys take at most half of maintenance_work_mem over all
 * processes, the rest goes to temporary files; sorting shares the other half.
 *
 * Locks: the caller holds RowExclusiveLock (or more) on each leaf; indexes are
 * opened with RowExclusiveLock, kept to the end of the transaction.  When the
 * rows are there, a rebuild takes ShareUpdateExclusiveLock on the leaf, or
 * ShareLock if it has to scan it, and AccessExclusiveLock on the index.
 *
 * Errors: a key that is already there raises the index's own unique violation
 * (23505, "Key (a)=(1) already exists."), for duplicates within the input too.
 *
 * IDENTIFICATION
 *		src/index.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_INDEX_H
#define INGEST_INDEX_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "storage/block.h"
#include "storage/dsm.h"
#include "utils/relcache.h"

#include "options.h"
#include "usage.h"

/* Fixed by the leader at begin; workers get it with the handle. */
typedef struct IngestIndexOptions
{
	int			nleaves;		/* leaves are numbered 0 .. nleaves - 1 */
	int			nprocesses;		/* most that may take part, leader included */
	IngestIndexMode mode;		/* see above */
	bool		staged;			/* leaves are staging tables (publish.h): their
								 * indexes are built, whatever the mode */
} IngestIndexOptions;

typedef struct IngestIndexer IngestIndexer;

/* in index.c */

/* The setting ingest_tools.leaf_batches, for _PG_init(). */
extern void ingest_index_define_settings(void);

/*
 * Leader.  State lives in CurrentMemoryContext, shared memory and temporary
 * files with the current resource owner, so an error needs no cleanup.
 */
extern IngestIndexer *ingest_index_begin(const IngestIndexOptions *options);
extern dsm_handle ingest_index_handle(const IngestIndexer *indexer);

/*
 * Leader, before workers are started: a leaf and its number, so that mode auto
 * knows whether others can see it.  May be left out.
 */
extern void ingest_index_announce(IngestIndexer *indexer, int leafno,
								  Relation leaf);

/*
 * Worker.  Must be called before the worker takes its first piece of input:
 * whoever is attached is waited for, and no one else.
 */
extern IngestIndexer *ingest_index_attach(dsm_handle handle);

/*
 * Figures of index work are booked to the meter, per index; NULL for none.
 * The leader's is told what was done with each index, as a note:
 */
extern void ingest_index_set_meter(IngestIndexer *indexer, IngestMeter *meter);

/* What a note says: "row", "sorted" or "rebuild"; NULL if there is none. */
extern const char *ingest_index_note_mode(int note);

/* Were keys inserted leaf page by leaf page? */
extern bool ingest_index_note_leaf_batches(int note);

/* Why was nothing better done?  Translated; NULL if there is no reason. */
extern const char *ingest_index_note_reason(int note);

/*
 * Does the leaf have any index to maintain?  If not, the caller may leave out
 * the calls below for it.  leaf must stay open in this process until
 * ingest_index_apply() is called.
 */
extern bool ingest_index_wanted(IngestIndexer *indexer, int leafno,
								Relation leaf);

/*
 * A row has been put on a page.  The slot (any kind; a virtual one is the
 * quickest) holds the row in the leaf's column order, its values as they are
 * before TOAST or as stored, and slot->tts_tid its TID, provisional as
 * described above or final.  Nothing of the slot is kept.
 */
extern void ingest_index_collect(IngestIndexer *indexer, int leafno,
								 Relation leaf, TupleTableSlot *slot);

/*
 * The rows of the leaf collected since the last call are in their places:
 * ordinal i is block blocks[i].  blocks == NULL: their TIDs are final.
 */
extern void ingest_index_place(IngestIndexer *indexer, int leafno,
							   const BlockNumber *blocks, int nblocks);

/*
 * Every row of this process is in the table and placed.  Waits until that is
 * so for all processes, then shares the work on the indexes with them.  In
 * the leader it returns when all is done, in a worker when no work is left to
 * be taken.  A worker that is launched late may call it without having
 * collected anything.
 */
extern void ingest_index_apply(IngestIndexer *indexer);

/*
 * Leader, outside parallel mode: the indexes that workers could not do.  May
 * queue deferred constraint checks, so call it within the caller's AFTER
 * trigger query level.
 */
extern void ingest_index_apply_serial(IngestIndexer *indexer, EState *estate);

/* In the leader when all workers have finished. */
extern void ingest_index_end(IngestIndexer *indexer);

#endif							/* INGEST_INDEX_H */
