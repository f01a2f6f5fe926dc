/*-------------------------------------------------------------------------
 *
 * index_sorted.c
 *		Put keys or rows into an index one entry at a time, in order.
 *
 * The access method's own insertion function does the work, so this is right
 * for every access method and operator class, and other sessions may read and
 * write the index meanwhile.  What is gained is locality: an index page is
 * visited once, while it is in the processor's cache, not once for each of
 * its new entries.
 *
 * B-tree keys come sorted in the order of the index.  For any other access
 * method the rows are read back from the table in the order of their places,
 * which is the order a CREATE INDEX would see them in; their values may be of
 * any size and need not be kept.
 *
 * All of it may run in a parallel worker, except ingest_index_insert_serial.
 *
 * IDENTIFICATION
 *		src/index_sorted.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "flush_ahead.h"
#include "index_insert.h"

/* Rows of a list of TIDs, one after the other. */
typedef struct RowScan
{
	Relation	heap;
	IngestRunReader *reader;
	const IngestKeySource *sources;
	int			nsources;
	int			source;			/* the next one to start */
	char	   *record;
	char	   *end;
	TupleTableSlot *slot;
} RowScan;

static void
row_scan_begin(RowScan *scan, Relation heap, IngestRunReader *reader,
			   const IngestKeySource *sources, int nsources)
{
	memset(scan, 0, sizeof(RowScan));
	scan->heap = heap;
	scan->reader = reader;
	scan->sources = sources;
	scan->nsources = nsources;
	scan->slot = table_slot_create(heap, NULL);
}

/* Make sure that there is a record to take; returns false at the end. */
static bool
row_scan_advance(RowScan *scan)
{
	while (scan->record >= scan->end)
	{
		Size		len;

		if (scan->source > 0 &&
			(scan->record = ingest_run_reader_next(scan->reader, &len)) != NULL)
			scan->end = scan->record + len;
		else if (scan->source < scan->nsources)
		{
			const IngestKeySource *source = &scan->sources[scan->source++];

			ingest_run_reader_start(scan->reader, source->procno,
									source->first);
			scan->record = scan->end = NULL;
		}
		else
			return false;
	}
	return true;
}

/*
 * The row is this transaction's own and no other can see it, so any snapshot
 * that does will do.
 */
void
ingest_index_fetch_row(Relation heap, ItemPointer tid, TupleTableSlot *slot)
{
	if (!table_tuple_fetch_row_version(heap, tid, SnapshotAny, slot))
		elog(ERROR, "could not find row (%u,%u) of table \"%s\"",
			 ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid),
			 RelationGetRelationName(heap));
}

/* The next row, in the scan's slot, or NULL. */
static TupleTableSlot *
row_scan_next(RowScan *scan)
{
	ItemPointer tid;

	CHECK_FOR_INTERRUPTS();
	ingest_flush_ahead();
	if (!row_scan_advance(scan))
		return NULL;
	tid = (ItemPointer) scan->record;
	scan->record += MAXALIGN(sizeof(ItemPointerData));

	ingest_index_fetch_row(scan->heap, tid, scan->slot);
	return scan->slot;
}

static void
row_scan_end(RowScan *scan)
{
	ExecDropSingleTupleTableSlot(scan->slot);
}

/* How an entry of the index must be checked when it is inserted. */
static IndexUniqueCheck
unique_check(Relation index)
{
	return index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO;
}

void
ingest_index_insert_key(IngestIndexTarget *target, IndexTuple tuple)
{
	MemoryContext row_context = GetPerTupleMemoryContext(target->estate);
	MemoryContext old = MemoryContextSwitchTo(row_context);
	ItemPointerData tid = tuple->t_tid;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	index_deform_tuple(tuple, RelationGetDescr(target->index), values, isnull);
	index_insert(target->index, values, isnull, &tid, target->heap,
				 unique_check(target->index), false, target->info);
	MemoryContextSwitchTo(old);
	MemoryContextReset(row_context);
}

int64
ingest_index_insert_keys(IngestIndexTarget *target, IngestKeyStream *stream)
{
	int64		n = 0;
	IndexTuple	tuple;

	while ((tuple = ingest_key_stream_next(stream)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ingest_index_insert_key(target, tuple);
		n++;
	}
	index_insert_cleanup(target->index, target->info);
	return n;
}

void
ingest_index_insert_row(IngestIndexTarget *target, ExprState *predicate,
						TupleTableSlot *slot)
{
	EState	   *estate = target->estate;
	ExprContext *econtext = GetPerTupleExprContext(estate);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext old;

	ResetPerTupleExprContext(estate);
	econtext->ecxt_scantuple = slot;
	if (!ExecQual(predicate, econtext))
		return;

	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	FormIndexDatum(target->info, slot, estate, values, isnull);
	index_insert(target->index, values, isnull, &slot->tts_tid, target->heap,
				 unique_check(target->index), false, target->info);
	MemoryContextSwitchTo(old);
}

int64
ingest_index_insert_rows(IngestIndexTarget *target, IngestRunReader *reader,
						 const IngestKeySource *sources, int nsources)
{
	ExprState  *predicate = ExecPrepareQual(target->info->ii_Predicate,
											target->estate);
	int64		n = 0;
	RowScan		scan;
	TupleTableSlot *slot;

	row_scan_begin(&scan, target->heap, reader, sources, nsources);
	while ((slot = row_scan_next(&scan)) != NULL)
	{
		ingest_index_insert_row(target, predicate, slot);
		n++;
	}
	index_insert_cleanup(target->index, target->info);
	GetPerTupleExprContext(target->estate)->ecxt_scantuple = NULL;
	row_scan_end(&scan);
	return n;
}

/*
 * The triggers that check deferrable unique and exclusion constraints, and
 * no others: those of the user are not fired by index work.
 */
static TriggerDesc *
recheck_triggers(Relation heap)
{
	TriggerDesc *desc = CopyTriggerDesc(heap->trigdesc);
	int			n = 0;

	if (desc == NULL)
		return NULL;
	for (int i = 0; i < desc->numtriggers; i++)
	{
		if (desc->triggers[i].tgfoid == F_UNIQUE_KEY_RECHECK)
			desc->triggers[n++] = desc->triggers[i];
	}
	desc->numtriggers = n;
	return n > 0 ? desc : NULL;
}

/* A ResultRelInfo of the heap that knows of the given indexes only. */
static ResultRelInfo *
make_result_relation(Relation heap, Relation *indexes, int nindexes)
{
	ResultRelInfo *rri = makeNode(ResultRelInfo);

	InitResultRelInfo(rri, heap, 0, NULL, 0);
	rri->ri_TrigDesc = recheck_triggers(heap);
	rri->ri_NumIndices = nindexes;
	rri->ri_IndexRelationDescs = indexes;
	rri->ri_IndexRelationInfo = palloc(nindexes * sizeof(IndexInfo *));
	for (int i = 0; i < nindexes; i++)
		rri->ri_IndexRelationInfo[i] = BuildIndexInfo(indexes[i]);
	return rri;
}

void
ingest_index_insert_serial(Relation heap, Relation *indexes, int nindexes,
						   EState *estate, IngestRunReader *reader,
						   const IngestKeySource *sources, int nsources)
{
	ResultRelInfo *rri = make_result_relation(heap, indexes, nindexes);
	RowScan		scan;
	TupleTableSlot *slot;

	row_scan_begin(&scan, heap, reader, sources, nsources);
	while ((slot = row_scan_next(&scan)) != NULL)
	{
		MemoryContext old;
		List	   *recheck;

		ResetPerTupleExprContext(estate);
		old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		recheck = ExecInsertIndexTuplesCompat(rri, slot, estate, false, false,
											  NULL, NIL, false);
		if (recheck != NIL)
			ExecARInsertTriggers(estate, rri, slot, recheck, NULL);
		MemoryContextSwitchTo(old);
	}
	for (int i = 0; i < nindexes; i++)
		index_insert_cleanup(indexes[i], rri->ri_IndexRelationInfo[i]);
	row_scan_end(&scan);
}
