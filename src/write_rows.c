/*-------------------------------------------------------------------------
 *
 * write_rows.c
 *		Writer "online": our own row path, without SQL.
 *
 * A typed row is routed to its leaf partition, checked, inserted through the
 * table access method, entered into every index and shown to the triggers,
 * foreign keys among them.  What it leaves behind is what COPY FROM leaves:
 * the same rows in the same order and the same errors at the same line.  The
 * model is CopyFrom() in src/backend/commands/copyfrom.c, whose comments
 * explain the rules about triggers; this file keeps its decisions, among them
 * the size of a batch, because the size decides which of two bad rows is met
 * first.
 *
 * Rows wait in a buffer per leaf and go in with table_multi_insert(), unless
 * something could look at the table between two rows (a BEFORE ROW trigger, a
 * volatile default, ...) or the leaf is a foreign table; then every row goes
 * in at once.
 *
 * There are two departures from COPY.  A foreign table is given its rows one
 * at a time, where COPY of 16 and later may send them in batches and then has
 * no line to tell in an error.  And a flush first puts the rows of all leaves
 * into their heaps and then enters them into the indexes, whereas COPY
 * does both leaf by leaf.  That makes a difference only if the heap of one
 * leaf and an index of another both refuse a row of the same batch; and it
 * lets the figures tell the two kinds of work apart with two clock readings
 * per batch, not two per leaf.
 *
 * Figures: reading and conversion of buffered rows are booked as CONVERT,
 * their insertion as WRITE, and index entries as INDEX, with which the queueing
 * of AFTER ROW triggers is booked since it goes on between them.  Rows that go
 * in one at a time are booked as WRITE altogether, for they do not last long
 * enough to read the clock in between.  Figures per relation are exact in
 * every case: heap and indexes are entered and left one at a time.
 *
 * Memory: a buffer holds at most MAX_BUFFERED_ROWS rows and all of them
 * together about MAX_BUFFERED_BYTES of input; the number of buffers kept from
 * one batch to the next is bounded by MAX_BUFFERS.  Everything is allocated
 * in the EState's query context or in the context current at begin, which
 * ends with the transaction; so do pins and relation references.  After an
 * error there is nothing to undo here.
 *
 * The caller has an active snapshot from begin to finish, for the sake of
 * input functions, triggers and constraints.
 *
 * IDENTIFICATION
 *		src/write_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "route.h"
#include "write.h"

/* These three are copyfrom.c's; see the top of the file for the reason. */
#define MAX_BUFFERED_ROWS	1000
#define MAX_BUFFERED_BYTES	65535
#define MAX_BUFFERS			32

/* Rows after which a call returns if the driver leaves it to us. */
#define ROWS_PER_CALL		1000

/* Rows that wait for one leaf. */
typedef struct RowBuffer
{
	ResultRelInfo *leaf;
	BulkInsertState bistate;
	int			nused;
	TupleTableSlot *slots[MAX_BUFFERED_ROWS];	/* made when first needed */
	int64		lines[MAX_BUFFERED_ROWS];	/* line number of each row */
} RowBuffer;

typedef struct RowWriter
{
	IngestWriteTarget *load;	/* the driver's */
	IngestParser *parser;		/* load's */
	IngestMeter *meter;			/* load's */

	/* the executor's state */
	Relation	rel;
	IngestRoute *route;
	EState	   *estate;
	ResultRelInfo *target;
	TransitionCaptureState *capture;	/* NULL: no transition tables */
	CommandId	cid;
	int			insert_options; /* TABLE_INSERT_xxx */
	bool		one_by_one;		/* nothing may ever wait in a buffer */

	/*
	 * Where rows are read and whole rows inserted from.  Both are NULL if
	 * every row is read straight into the buffer of an unpartitioned target.
	 */
	TupleTableSlot *input;
	BulkInsertState bistate;

	/* the leaf of the latest row (NULL before the first), and what it needs */
	ResultRelInfo *leaf;
	bool		leaf_buffered;	/* rows wait; so they do before the first */
	bool		leaf_has_before;	/* has BEFORE ROW triggers */

	/* rows that wait */
	List	   *buffers;		/* of RowBuffer, oldest first */
	int			nbuffered;		/* rows in all buffers */
	int64		bytes_buffered; /* length of their records */
} RowWriter;

/*
 * Refuse FREEZE where COPY refuses it: rows may be frozen only if nobody else
 * can see the table and nothing in this transaction can notice.
 */
static void
check_freeze(Relation rel)
{
	char		relkind = rel->rd_rel->relkind;

	if (relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot perform COPY FREEZE on a partitioned table")));
	if (relkind == RELKIND_FOREIGN_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot perform COPY FREEZE on a foreign table")));

	InvalidateCatalogSnapshot();
	if (!ThereAreNoPriorRegisteredSnapshots() || !ThereAreNoReadyPortals())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot perform COPY FREEZE because of prior transaction activity")));

	if (rel->rd_createSubid != GetCurrentSubTransactionId() &&
		rel->rd_newRelfilelocatorSubid != GetCurrentSubTransactionId())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction")));
}

/*
 * Options for the table access method, decided by the target as COPY does:
 * a search for free space is pointless in a table that is new.
 */
static int
choose_insert_options(Relation rel, bool freeze)
{
	int			options = 0;

	if (RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		(rel->rd_createSubid != InvalidSubTransactionId ||
		 rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId))
		options |= TABLE_INSERT_SKIP_FSM;

	if (freeze)
	{
		check_freeze(rel);
		options |= TABLE_INSERT_FROZEN;
	}

	return options;
}

/*
 * Whether something could look at the target between two rows, so that no row
 * may wait.  Partitions are looked at as they turn up, in enter_leaf().
 */
static bool
must_go_one_by_one(RowWriter *w)
{
	TriggerDesc *triggers = w->target->ri_TrigDesc;

	if (triggers != NULL && triggers->trig_insert_before_row)
		return true;
	if (triggers != NULL && triggers->trig_insert_new_table &&
		ingest_route_partitioned(w->route))
		return true;
	if (w->target->ri_FdwRoutine != NULL)
		return true;
	return ingest_parse_volatile_defaults(w->parser);
}

/*
 * Make an empty buffer for a leaf.  The executor's field for copyfrom.c's
 * buffer serves as the link to ours, for it is this file that copies now.
 */
static void
make_buffer(RowWriter *w, ResultRelInfo *leaf)
{
	RowBuffer  *buffer = palloc0(sizeof(RowBuffer));

	buffer->leaf = leaf;
	buffer->bistate = GetBulkInsertState();
	leaf->ri_CopyMultiInsertBuffer = (struct CopyMultiInsertBuffer *) buffer;
	w->buffers = lappend(w->buffers, buffer);
}

static inline RowBuffer *
buffer_of(ResultRelInfo *leaf)
{
	return (RowBuffer *) leaf->ri_CopyMultiInsertBuffer;
}

/*
 * Free an empty buffer.
 */
static void
free_buffer(RowWriter *w, RowBuffer *buffer)
{
	Assert(buffer->nused == 0);

	buffer->leaf->ri_CopyMultiInsertBuffer = NULL;
	FreeBulkInsertState(buffer->bistate);
	for (int i = 0; i < MAX_BUFFERED_ROWS && buffer->slots[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(buffer->slots[i]);
	table_finish_bulk_insert(buffer->leaf->ri_RelationDesc,
							 w->insert_options);
	pfree(buffer);
}

/*
 * Forget the oldest buffers if there are many, but not the one in use.
 */
static void
trim_buffers(RowWriter *w)
{
	while (list_length(w->buffers) > MAX_BUFFERS)
	{
		RowBuffer  *buffer = linitial(w->buffers);

		w->buffers = list_delete_first(w->buffers);
		if (buffer->leaf == w->leaf)
			w->buffers = lappend(w->buffers, buffer);
		else
			free_buffer(w, buffer);
	}
}

/*
 * The slot that the leaf's next row goes into.
 */
static TupleTableSlot *
next_slot(RowBuffer *buffer)
{
	TupleTableSlot **slot = &buffer->slots[buffer->nused];

	Assert(buffer->nused < MAX_BUFFERED_ROWS);

	if (*slot == NULL)
		*slot = table_slot_create(buffer->leaf->ri_RelationDesc, NULL);
	return *slot;
}

/*
 * Enter a stored row into the indexes of its leaf.  Returns the deferrable
 * ones, to be checked again, as a list of Oids.
 *
 * To know what each index costs, the executor is shown one index at a time:
 * ExecInsertIndexTuples() takes from the ResultRelInfo nothing about indexes
 * but these three fields (15 to 18).
 */
static List *
insert_index_entries(RowWriter *w, ResultRelInfo *leaf, TupleTableSlot *slot)
{
	int			nindexes = leaf->ri_NumIndices;
	RelationPtr relations = leaf->ri_IndexRelationDescs;
	IndexInfo **infos = leaf->ri_IndexRelationInfo;
	List	   *recheck = NIL;

	if (nindexes == 0)
		return NIL;

	leaf->ri_NumIndices = 1;
	for (int i = 0; i < nindexes; i++)
	{
		List	   *doubtful;

		leaf->ri_IndexRelationDescs = &relations[i];
		leaf->ri_IndexRelationInfo = &infos[i];

		ingest_meter_enter(w->meter);
		doubtful = ExecInsertIndexTuplesCompat(leaf, slot, w->estate, false,
											   false, NULL, NIL, false);
		ingest_meter_leave(w->meter, RelationGetRelid(relations[i]));

		if (doubtful != NIL)
		{
			recheck = list_concat(recheck, doubtful);
			list_free(doubtful);
		}
	}
	leaf->ri_NumIndices = nindexes;
	leaf->ri_IndexRelationDescs = relations;
	leaf->ri_IndexRelationInfo = infos;

	return recheck;
}

/*
 * Index entries of a stored row, and its AFTER ROW triggers.
 */
static void
follow_up_row(RowWriter *w, ResultRelInfo *leaf, TupleTableSlot *slot)
{
	List	   *recheck = insert_index_entries(w, leaf, slot);

	ExecARInsertTriggers(w->estate, leaf, slot, recheck, w->capture);
	list_free(recheck);
}

/*
 * Put the rows that wait for a leaf into its heap.  An error names the line
 * read last, as COPY's does, for the rows go in together.
 */
static void
flush_heap(RowWriter *w, RowBuffer *buffer)
{
	Relation	rel = buffer->leaf->ri_RelationDesc;
	MemoryContext oldcontext;

	/* table_multi_insert() may leak */
	oldcontext = MemoryContextSwitchTo(GetPerTupleMemoryContext(w->estate));
	ingest_meter_enter(w->meter);
	table_multi_insert(rel, buffer->slots, buffer->nused, w->cid,
					   w->insert_options, buffer->bistate);
	ingest_meter_leave(w->meter, RelationGetRelid(rel));
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Whether rows of a leaf need anything done after they are in its heap.
 */
static inline bool
needs_follow_up(ResultRelInfo *leaf)
{
	TriggerDesc *triggers = leaf->ri_TrigDesc;

	return leaf->ri_NumIndices > 0 ||
		(triggers != NULL && (triggers->trig_insert_after_row ||
							  triggers->trig_insert_new_table));
}

/*
 * Index entries and AFTER ROW triggers of a leaf's rows, now that they are in
 * its heap, and make the buffer empty.
 */
static void
flush_follow_up(RowWriter *w, RowBuffer *buffer)
{
	bool		follow_up = needs_follow_up(buffer->leaf);

	for (int i = 0; i < buffer->nused; i++)
	{
		if (follow_up)
		{
			ingest_parse_set_line(w->parser, buffer->lines[i]);
			follow_up_row(w, buffer->leaf, buffer->slots[i]);
		}
		ExecClearTuple(buffer->slots[i]);
	}
	w->load->rows_loaded += buffer->nused;
	buffer->nused = 0;
}

/*
 * Write out all rows that wait.  Leaves the meter in a phase other than the
 * one it was in.
 */
static void
flush(RowWriter *w)
{
	ListCell   *lc;

	if (w->nbuffered == 0)
		return;

	/* the text of the record in hand would explain nothing */
	ingest_parse_set_line(w->parser, ingest_parse_line(w->parser));

	ingest_meter_phase(w->meter, INGEST_PHASE_WRITE);
	foreach(lc, w->buffers)
	{
		RowBuffer  *buffer = lfirst(lc);

		if (buffer->nused > 0)
			flush_heap(w, buffer);
	}

	ingest_meter_phase(w->meter, INGEST_PHASE_INDEX);
	foreach(lc, w->buffers)
		flush_follow_up(w, lfirst(lc));

	ingest_parse_set_line(w->parser, 0);
	w->nbuffered = 0;
	w->bytes_buffered = 0;
	trim_buffers(w);
}

/*
 * The phase in which rows are read.  Once a row has gone in at once the clock
 * stays where it is until a row is buffered again.
 */
static inline IngestPhase
reading_phase(RowWriter *w)
{
	return w->leaf_buffered ? INGEST_PHASE_CONVERT : INGEST_PHASE_WRITE;
}

/*
 * Get ready for rows of another leaf.
 */
static void
enter_leaf(RowWriter *w, ResultRelInfo *leaf)
{
	TriggerDesc *triggers = leaf->ri_TrigDesc;
	bool		were_buffered = w->leaf_buffered;

	w->leaf = leaf;
	w->leaf_has_before = triggers != NULL && triggers->trig_insert_before_row;
	w->leaf_buffered = !w->one_by_one && !w->leaf_has_before &&
		leaf->ri_FdwRoutine == NULL;

	if (w->bistate != NULL)
		ReleaseBulkInsertStatePin(w->bistate);
	if (w->leaf_buffered && buffer_of(leaf) == NULL)
		make_buffer(w, leaf);

	if (w->leaf_buffered != were_buffered)
	{
		/* a trigger must find the rows before its own in their tables */
		flush(w);
		ingest_meter_phase(w->meter, reading_phase(w));
	}
}

/*
 * Turn a row of the target into a row of its leaf, in the slot from which it
 * will be inserted.
 */
static TupleTableSlot *
route_row(RowWriter *w, TupleTableSlot *slot)
{
	ResultRelInfo *leaf = ingest_route_leaf(w->route, slot);
	TupleTableSlot *into = NULL;

	if (leaf != w->leaf)
		enter_leaf(w, leaf);

	/*
	 * Spare the transition tables the way back to the target's row type,
	 * unless a trigger may change the row.
	 */
	if (w->capture != NULL)
		w->capture->tcs_original_insert_tuple =
			w->leaf_has_before ? NULL : slot;

	if (w->leaf_buffered)
		into = next_slot(buffer_of(leaf));
	return ingest_route_convert(w->route, leaf, slot, into);
}

/*
 * Compute what is generated and check what the table demands of a row.
 */
static void
complete_row(RowWriter *w, TupleTableSlot *slot)
{
	ResultRelInfo *leaf = w->leaf;
	Relation	rel = leaf->ri_RelationDesc;
	TupleConstr *constr = RelationGetDescr(rel)->constr;

	if (constr != NULL && constr->has_generated_stored)
		ExecComputeStoredGenerated(leaf, w->estate, slot, CMD_INSERT);

	if (constr != NULL && leaf->ri_FdwRoutine == NULL)
		ExecConstraints(leaf, slot, w->estate);

	/* routing has seen to this, unless a trigger has changed the row since */
	if (rel->rd_rel->relispartition &&
		(!ingest_route_partitioned(w->route) || w->leaf_has_before))
		ExecPartitionCheck(leaf, slot, w->estate, true);
}

/*
 * Keep a row for the next flush.  The slot is one of the leaf's buffer.
 */
static void
store_row(RowWriter *w, TupleTableSlot *slot)
{
	RowBuffer  *buffer = buffer_of(w->leaf);

	Assert(slot == buffer->slots[buffer->nused]);

	/* its values are in per-tuple memory so far */
	ExecMaterializeSlot(slot);
	buffer->lines[buffer->nused++] = ingest_parse_line(w->parser);

	w->nbuffered++;
	w->bytes_buffered += ingest_parse_record_length(w->parser);
	if (w->nbuffered >= MAX_BUFFERED_ROWS ||
		w->bytes_buffered >= MAX_BUFFERED_BYTES)
	{
		flush(w);
		ingest_meter_phase(w->meter, reading_phase(w));
	}
}

/*
 * Insert a row into a foreign table.  Returns the row as it is there, or NULL
 * if the wrapper did not want it.
 */
static TupleTableSlot *
insert_foreign(RowWriter *w, TupleTableSlot *slot)
{
	ResultRelInfo *leaf = w->leaf;

	slot = leaf->ri_FdwRoutine->ExecForeignInsert(w->estate, leaf, slot, NULL);
	if (slot != NULL)
		slot->tts_tableOid = RelationGetRelid(leaf->ri_RelationDesc);
	return slot;
}

/*
 * Insert a row into a table's heap.
 */
static void
insert_heap(RowWriter *w, TupleTableSlot *slot)
{
	Relation	rel = w->leaf->ri_RelationDesc;

	ingest_meter_enter(w->meter);
	table_tuple_insert(rel, slot, w->cid, w->insert_options, w->bistate);
	ingest_meter_leave(w->meter, RelationGetRelid(rel));
}

/*
 * Insert a row at once.
 */
static void
insert_row(RowWriter *w, TupleTableSlot *slot)
{
	if (w->leaf->ri_FdwRoutine != NULL)
	{
		slot = insert_foreign(w, slot);
		if (slot == NULL)
			return;
	}
	else
		insert_heap(w, slot);

	follow_up_row(w, w->leaf, slot);
	w->load->rows_loaded++;
}

/*
 * Read one row and put it where it belongs.  Returns false if there is none.
 */
static bool
take_row(RowWriter *w)
{
	EState	   *estate = w->estate;
	TupleTableSlot *slot = w->input;
	MemoryContext oldcontext;
	bool		found;

	CHECK_FOR_INTERRUPTS();
	ResetPerTupleExprContext(estate);

	if (slot == NULL)
		slot = next_slot(buffer_of(w->target));

	oldcontext = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	found = ingest_parse_slot(w->parser, GetPerTupleExprContext(estate), slot);
	MemoryContextSwitchTo(oldcontext);
	if (!found)
		return false;

	slot->tts_tableOid = RelationGetRelid(w->rel);
	if (ingest_route_partitioned(w->route))
		slot = route_row(w, slot);

	if (w->leaf_has_before &&
		!ExecBRInsertTriggers(estate, w->leaf, slot))
		return true;

	complete_row(w, slot);
	if (w->leaf_buffered)
		store_row(w, slot);
	else
		insert_row(w, slot);

	return true;
}

/*
 * Have errors tell their line from now on.
 */
static void
push_error_context(RowWriter *w, ErrorContextCallback *callback)
{
	callback->callback = ingest_parse_error_callback;
	callback->arg = w->parser;
	callback->previous = error_context_stack;
	error_context_stack = callback;
}

/*
 * Open the target and fire its BEFORE STATEMENT triggers.
 */
static void *
rows_begin(IngestWriteTarget *target)
{
	RowWriter  *w = palloc0(sizeof(RowWriter));

	w->load = target;
	w->parser = target->parser;
	w->meter = target->meter;

	w->rel = table_open(target->relid, RowExclusiveLock);
	w->insert_options = choose_insert_options(w->rel,
											  target->options->copy.freeze);

	w->cid = GetCurrentCommandId(true);

	w->route = ingest_route_begin(w->rel, ingest_parse_attnums(w->parser),
								  true);
	w->estate = ingest_route_estate(w->route);
	w->target = ingest_route_target(w->route);

	AfterTriggerBeginQuery();
	w->capture = MakeTransitionCaptureState(w->rel->trigdesc,
											RelationGetRelid(w->rel),
											CMD_INSERT);
	ingest_route_set_capture(w->route, w->capture);

	w->one_by_one = must_go_one_by_one(w);
	if (w->one_by_one || ingest_route_partitioned(w->route))
	{
		w->input = table_slot_create(w->rel, &w->estate->es_tupleTable);
		w->bistate = GetBulkInsertState();
	}

	w->leaf_buffered = !w->one_by_one;
	if (!ingest_route_partitioned(w->route))
		enter_leaf(w, w->target);

	ExecBSInsertTriggers(w->estate, w->target);

	return w;
}

/*
 * Take some rows.  Those that wait in a buffer stay there; finish flushes.
 */
static void
rows_write(IngestWriteTarget *target, void *state, int64 max_rows)
{
	RowWriter  *w = state;
	int64		limit = max_rows > 0 ? max_rows : ROWS_PER_CALL;
	MemoryContext oldcontext;
	ErrorContextCallback callback;

	push_error_context(w, &callback);
	oldcontext = MemoryContextSwitchTo(w->estate->es_query_cxt);

	ingest_meter_phase(w->meter, reading_phase(w));
	while (limit-- > 0 && take_row(w))
		target->rows_read++;
	target->at_end = ingest_parse_at_end(w->parser);

	MemoryContextSwitchTo(oldcontext);
	error_context_stack = callback.previous;
}

/*
 * Write what waits, fire the AFTER triggers and close everything.
 */
static void
rows_finish(IngestWriteTarget *target, void *state)
{
	RowWriter  *w = state;
	MemoryContext oldcontext;
	ErrorContextCallback callback;
	ListCell   *lc;

	push_error_context(w, &callback);
	oldcontext = MemoryContextSwitchTo(w->estate->es_query_cxt);
	flush(w);
	MemoryContextSwitchTo(oldcontext);
	error_context_stack = callback.previous;

	if (w->bistate != NULL)
		FreeBulkInsertState(w->bistate);

	ingest_meter_phase(target->meter, INGEST_PHASE_TRIGGER);
	ExecASInsertTriggers(w->estate, w->target, w->capture);
	AfterTriggerEndQuery(w->estate);

	ingest_meter_phase(target->meter, INGEST_PHASE_SETUP);
	foreach(lc, w->buffers)
		free_buffer(w, lfirst(lc));
	ingest_route_finish(w->route);
	table_close(w->rel, NoLock);
	pfree(w);
}

static const char *
rows_unusable(Relation rel pg_attribute_unused(),
			  const IngestOptions *options,
			  const IngestSourceSpec *spec)
{
	return ingest_source_only_copy(spec, options);
}

const IngestWriter ingest_writer_rows = {
	.name = "online",
	.needs_parser = true,
	.unusable = rows_unusable,
	.begin = rows_begin,
	.write = rows_write,
	.finish = rows_finish,
};
