/*-------------------------------------------------------------------------
 *
 * direct_rows.c
 *		Strategy "direct", one process's part: records to pages.
 *
 * A record's fields become the data area of a heap tuple (convert.c), which
 * is copied to a page of the leaf it belongs to (write_pages.c).  Most rows
 * are never anything else.  A slot whose values point into the row is filled
 * when something needs one: routing, CHECK constraints, generated columns,
 * indexes, a leaf whose columns stand in another order, TOAST.
 *
 * Errors are COPY's, at COPY's line.  Of several bad records COPY meets the
 * first; here processes read different places at the same time, so one that
 * meets an error in its chunk waits until all earlier chunks are done, and an
 * error there comes first.  It does not wait when the error arose while pages
 * were written, for then it may hold locks the others need.
 *
 * Rows with values out of line of a table that is logically decoded are kept
 * until the end and inserted by the server's own path, which logs a row's
 * values right before the row.  This happens in one process alone.
 *
 * Memory: the row and the pages; what input functions and expressions
 * allocate is freed after each row.
 *
 * IDENTIFICATION
 *		src/direct_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "convert.h"
#include "direct.h"
#include "progress.h"
#include "route.h"
#include "toast.h"
#include "write_pages.h"

/* Records after which progress is shown. */
#define PROGRESS_RECORDS	1000

/* COPY shows as much of a line or value in an error context. */
#define MAX_DISPLAY		100

/* Where a column's value comes from. */
typedef struct DirectColumn
{
	int			field;			/* of the record, or -1 */
	int			run;			/* columns from this one on whose fields
								 * follow each other */
	ExprState  *def;			/* default, if there is no field */
} DirectColumn;

/* A leaf that rows of this process have gone to. */
typedef struct DirectLeaf
{
	IngestDirectPart *part;
	IngestDirectLeafShared *shared;
	int			number;
	ResultRelInfo *rri;
	Relation	rel;
	Relation	storage;		/* its rows go there: rel or a staging table */

	/* what a row has to go through */
	bool		same_layout;	/* the target's rows are the leaf's */
	bool		has_generated;
	bool		needs_checks;	/* by the executor */
	bool		indexed;
	bool		keep_toasted;	/* insert long rows at the end */
	int			nnotnull;
	AttrNumber *notnull;

	IngestPageWriter *writer;
	IngestToaster *toaster;
	Tuplestorestate *kept;
	int64		rows;
} DirectLeaf;

/* Leaves by what the executor knows them as. */
typedef struct LeafEntry
{
	ResultRelInfo *rri;
	DirectLeaf *leaf;
	char		status;
} LeafEntry;

#define SH_PREFIX leaf_map
#define SH_ELEMENT_TYPE LeafEntry
#define SH_KEY_TYPE ResultRelInfo *
#define SH_KEY rri
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) ((uintptr_t) (key) >> 4))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct IngestDirectPart
{
	IngestDirectShared *shared;
	int			process;
	IngestMeter *meter;
	MemoryContext context;

	/* the target */
	Relation	rel;
	IngestRoute *route;
	EState	   *estate;
	bool		partitioned;

	/* columns */
	int			nattnums;
	const int  *attnums;
	const uint8 *field_flags;
	const char *null_print;
	int			null_len;
	bool		in_order;		/* fields come in the order of columns */
	DirectColumn *columns;

	IngestConverter *converter;
	IngestRow  *row;			/* of the target */
	IngestRow  *field_row;		/* in the order of fields, if another */
	IngestRow  *leaf_row;		/* of a leaf, if another */
	TupleTableSlot *slot;		/* values point into row */
	bool		slot_filled;
	IngestCsvRecord record;
	bool		writing;		/* an error may leave locks behind */
	bool		own_error;		/* an error has asked for its context */

	IngestChunks *chunks;
	IngestPages *pages;
	IngestIndexer *indexer;		/* NULL: no leaf has indexes */

	DirectLeaf **leaves;		/* by number; NULL until its first row */
	leaf_map_hash *leaf_map;	/* the same, by the executor's node */
	DirectLeaf *last_leaf;
};

/* ------------------------------------------------------------------------
 * Error context
 * ------------------------------------------------------------------------
 */

/* A value for display, cut as COPY cuts it. */
static char *
display(const char *str, int len)
{
	char	   *result;
	int			shown;

	if (len <= MAX_DISPLAY)
		return pnstrdup(str, len);
	shown = pg_mbcliplen(str, len, MAX_DISPLAY);
	result = palloc(shown + 4);
	memcpy(result, str, shown);
	strcpy(result + shown, "...");
	return result;
}

/*
 * "COPY t, line 12, column b: ..." in COPY's words (CopyFromErrorCallback()).
 */
static void
error_callback(void *arg)
{
	IngestDirectPart *part = arg;
	const char *relname = RelationGetRelationName(part->rel);
	const char *value;
	int			attnum = ingest_convert_current(part->converter, &value);
	unsigned long long line;

	part->own_error = true;
	if (part->writing)
		return;
	line = (unsigned long long) ingest_chunk_line(part->chunks);
	if (attnum > 0)
	{
		const char *attname =
			NameStr(TupleDescAttr(RelationGetDescr(part->rel),
								  attnum - 1)->attname);

		if (value)
			errcontext("COPY %s, line %llu, column %s: \"%s\"", relname, line,
					   attname, display(value, strlen(value)));
		else
			errcontext("COPY %s, line %llu, column %s: null input",
					   relname, line, attname);
	}
	else if (part->record.data != NULL)
		errcontext("COPY %s, line %llu: \"%s\"", relname, line,
				   display(part->record.data, (int) part->record.len));
	else
		errcontext("COPY %s, line %llu", relname, line);
}

/* ------------------------------------------------------------------------
 * Set-up
 * ------------------------------------------------------------------------
 */

/* Where each column's value comes from. */
static void
init_columns(IngestDirectPart *part)
{
	TupleDesc	desc = RelationGetDescr(part->rel);

	part->columns = palloc0(desc->natts * sizeof(DirectColumn));
	for (int i = 0; i < desc->natts; i++)
		part->columns[i].field = -1;
	part->in_order = true;
	for (int i = 0; i < part->nattnums; i++)
	{
		part->columns[part->attnums[i] - 1].field = i;
		if (i > 0 && part->attnums[i] < part->attnums[i - 1])
			part->in_order = false;
	}
	for (int i = desc->natts - 1; i >= 0; i--)
	{
		DirectColumn *column = &part->columns[i];

		column->run = column->field >= 0;
		if (i + 1 < desc->natts && column->field >= 0 &&
			column[1].field == column->field + 1)
			column->run += column[1].run;
	}
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Expr	   *expr;

		if (part->columns[i].field >= 0 || att->attisdropped ||
			att->attgenerated)
			continue;
		expr = (Expr *) build_column_default(part->rel, i + 1);
		if (expr != NULL)
			part->columns[i].def = ExecInitExpr(expression_planner(expr), NULL);
	}
}

/* The dialect, as far as records are concerned. */
static CopyFormatOptions *
make_format(IngestDirectShared *shared)
{
	CopyFormatOptions *format = palloc0(sizeof(CopyFormatOptions));

	format->delim = &shared->delim;
	format->quote = &shared->quote;
	format->escape = &shared->escape;
	return format;
}

IngestDirectPart *
ingest_direct_part_begin(IngestDirectShared *shared, int process,
						 Relation rel, IngestIndexer *indexer,
						 IngestMeter *meter)
{
	IngestDirectPart *part = palloc0(sizeof(IngestDirectPart));
	List	   *attnums = NIL;

	part->shared = shared;
	part->process = process;
	part->meter = meter;
	part->context = CurrentMemoryContext;
	part->rel = rel;
	part->indexer = indexer;
	part->nattnums = shared->nattnums;
	part->attnums = INGEST_DIRECT_AT(shared, int, shared->attnums);
	part->field_flags = INGEST_DIRECT_AT(shared, uint8, shared->field_flags);
	part->null_print = INGEST_DIRECT_AT(shared, char, shared->null_print);
	part->null_len = strlen(part->null_print);
	for (int i = 0; i < part->nattnums; i++)
		attnums = lappend_int(attnums, part->attnums[i]);

	part->route = ingest_route_begin(rel, attnums, false);
	part->estate = ingest_route_estate(part->route);
	part->partitioned = ingest_route_partitioned(part->route);
	init_columns(part);
	part->converter = ingest_convert_begin(RelationGetDescr(rel));
	part->row = ingest_row_create(RelationGetNumberOfAttributes(rel));
	if (!part->in_order)
		part->field_row = ingest_row_create(part->nattnums);
	part->slot = ExecInitExtraTupleSlot(part->estate, RelationGetDescr(rel),
										&TTSOpsVirtual);
	part->slot->tts_tableOid = RelationGetRelid(rel);
	part->leaves = palloc0(shared->nleaves * sizeof(DirectLeaf *));
	part->leaf_map = leaf_map_create(CurrentMemoryContext, shared->nleaves,
									 NULL);
	part->pages = ingest_pages_begin(shared->xid, shared->cid, meter);
	if (shared->staged)
		ingest_pages_stage(part->pages, shared->frozen);
	part->chunks = ingest_chunk_attach(INGEST_DIRECT_AT(shared, IngestChunkQueue,
														shared->queue),
									   process,
									   INGEST_DIRECT_AT(shared, char,
														shared->path),
									   make_format(shared), part->nattnums);
	return part;
}

/* ------------------------------------------------------------------------
 * Leaves
 * ------------------------------------------------------------------------
 */

static int
compare_leaves(const void *a, const void *b)
{
	Oid			left = ((const IngestDirectLeafShared *) a)->relid;
	Oid			right = ((const IngestDirectLeafShared *) b)->relid;

	return left < right ? -1 : left > right;
}

/* A batch of pages has its blocks. */
static void
pages_placed(void *arg, const Page *pages, const BlockNumber *blocks,
			 int nblocks)
{
	DirectLeaf *leaf = arg;

	(void) pages;
	ingest_index_place(leaf->part->indexer, leaf->number, blocks, nblocks);
}

/*
 * Do rows of the target have the same bytes in the leaf?
 */
static bool
has_same_layout(IngestDirectPart *part, ResultRelInfo *rri)
{
	TupleDesc	desc = RelationGetDescr(part->rel);
	TupleDesc	leaf_desc = RelationGetDescr(rri->ri_RelationDesc);

	if (!part->partitioned)
		return true;
	if (ExecGetRootToChildMap(rri, part->estate) != NULL)
		return false;
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attstorage !=
			TupleDescAttr(leaf_desc, i)->attstorage)
			return false;
	return true;
}

/* What the leaf's definition asks of a row. */
static void
init_leaf_checks(DirectLeaf *leaf)
{
	TupleDesc	desc = RelationGetDescr(leaf->rel);
	TupleConstr *constr = desc->constr;

	leaf->notnull = palloc(desc->natts * sizeof(AttrNumber));
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attnotnull)
			leaf->notnull[leaf->nnotnull++] = i + 1;
	if (constr != NULL)
	{
		leaf->has_generated = ingest_has_generated(constr);
		leaf->needs_checks = constr->num_check > 0 || leaf->has_generated;
	}
	if (leaf->rel->rd_rel->relispartition && !leaf->part->partitioned)
		leaf->needs_checks = true;
}

static inline IngestDirectLeafShared *
shared_leaves(const IngestDirectPart *part)
{
	return INGEST_DIRECT_AT(part->shared, IngestDirectLeafShared,
							part->shared->leaves);
}

/* What all processes know of a leaf. */
static IngestDirectLeafShared *
find_shared_leaf(const IngestDirectPart *part, Relation rel)
{
	IngestDirectLeafShared key = {.relid = RelationGetRelid(rel)};
	IngestDirectLeafShared *found;

	found = bsearch(&key, shared_leaves(part), part->shared->nleaves,
					sizeof(key), compare_leaves);
	if (found == NULL)
		elog(ERROR, "relation %u is not among the leaves of the load",
			 key.relid);
	return found;
}

/*
 * The first row of this process for a leaf: open what it takes to write it.
 */
static DirectLeaf *
open_leaf(IngestDirectPart *part, ResultRelInfo *rri)
{
	MemoryContext old = MemoryContextSwitchTo(part->context);
	IngestDirectShared *shared = part->shared;
	DirectLeaf *leaf = palloc0(sizeof(DirectLeaf));

	leaf->part = part;
	leaf->rri = rri;
	leaf->rel = rri->ri_RelationDesc;
	leaf->shared = find_shared_leaf(part, leaf->rel);
	leaf->number = leaf->shared - shared_leaves(part);

	leaf->same_layout = has_same_layout(part, rri);
	init_leaf_checks(leaf);
	leaf->keep_toasted = RelationIsLogicallyLogged(leaf->rel) &&
		OidIsValid(leaf->rel->rd_rel->reltoastrelid);
	leaf->storage = leaf->rel;
	if (shared->staged)
		leaf->storage = table_open(leaf->shared->staging, RowExclusiveLock);
	leaf->indexed = part->indexer != NULL &&
		ingest_index_wanted(part->indexer, leaf->number, leaf->storage);
	leaf->writer = ingest_pages_open(part->pages, leaf->storage,
									 leaf->indexed ? pages_placed : NULL,
									 leaf);
	part->leaves[leaf->number] = leaf;
	MemoryContextSwitchTo(old);
	return leaf;
}

/* The slot for those who need one. */
static inline TupleTableSlot *
fill_slot(IngestDirectPart *part)
{
	if (!part->slot_filled)
	{
		ingest_row_to_slot(part->row, part->slot);
		part->slot_filled = true;
	}
	return part->slot;
}

/* The leaf that the row in hand belongs to. */
static inline DirectLeaf *
find_leaf(IngestDirectPart *part)
{
	DirectLeaf *leaf = part->last_leaf;
	ResultRelInfo *rri;
	LeafEntry  *entry;
	bool		found;

	if (!part->partitioned && leaf != NULL)
		return leaf;
	rri = part->partitioned ?
		ingest_route_leaf(part->route, fill_slot(part)) :
		ingest_route_target(part->route);
	if (leaf != NULL && leaf->rri == rri)
		return leaf;

	entry = leaf_map_insert(part->leaf_map, rri, &found);
	if (!found)
	{
		entry->leaf = NULL;
		entry->leaf = open_leaf(part, rri);
	}
	return part->last_leaf = entry->leaf;
}

/* ------------------------------------------------------------------------
 * A record
 * ------------------------------------------------------------------------
 */

/*
 * Set the data of fields that COPY takes for NULL to NULL.
 */
static inline void
recognise_nulls(const IngestDirectPart *part, IngestCsvField *fields, int n)
{
	for (int i = 0; i < n; i++)
	{
		IngestCsvField *field = &fields[i];
		uint8		flags = part->field_flags[i];

		if (likely(field->len != part->null_len) ||
			memcmp(field->data, part->null_print, field->len) != 0)
			continue;
		if (field->quoted ? (flags & INGEST_DIRECT_NULL) != 0 :
			(flags & INGEST_DIRECT_NOT_NULL) == 0)
			field->data = NULL;
	}
}

static void
missing_data(IngestDirectPart *part, int attnum)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("missing data for column \"%s\"",
					NameStr(TupleDescAttr(RelationGetDescr(part->rel),
										  attnum - 1)->attname))));
}

/* Append a column that the source does not supply. */
static inline void
append_default(IngestDirectPart *part, int attnum, ExprState *def)
{
	bool		isnull = true;
	Datum		value = (Datum) 0;

	if (def != NULL)
		value = ExecEvalExpr(def, GetPerTupleExprContext(part->estate),
							 &isnull);
	ingest_row_append(part->row,
					  TupleDescAttr(RelationGetDescr(part->rel), attnum - 1),
					  value, isnull);
}

/*
 * Fields that are not in the order of columns.  They are converted in their
 * own order all the same, lest another error than COPY's be the first.
 */
static void
convert_out_of_order(IngestDirectPart *part, int nfields)
{
	const IngestCsvRecord *record = &part->record;
	TupleDesc	desc = RelationGetDescr(part->rel);
	IngestRow  *fields = part->field_row;

	ingest_convert_start(part->converter, fields, record->len);
	for (int i = 0; i < nfields; i++)
		ingest_convert_fields(part->converter, fields, part->attnums[i],
							  &record->fields[i], 1);
	if (nfields < part->nattnums)
		missing_data(part, part->attnums[nfields]);

	ingest_row_empty(part->row);
	for (int i = 0; i < desc->natts; i++)
	{
		int			field = part->columns[i].field;

		if (field >= 0)
			ingest_row_copy(part->row, TupleDescAttr(desc, i), fields, field);
		else
			append_default(part, i + 1, part->columns[i].def);
	}
}

/*
 * Fields in the order of columns, with other columns between them.
 */
static void
convert_in_order(IngestDirectPart *part, int nfields)
{
	const IngestCsvRecord *record = &part->record;
	int			natts = RelationGetNumberOfAttributes(part->rel);
	int			attnum = 1;

	ingest_convert_start(part->converter, part->row, record->len);
	while (attnum <= natts)
	{
		const DirectColumn *column = &part->columns[attnum - 1];
		int			n;

		if (column->field < 0)
		{
			append_default(part, attnum++, column->def);
			continue;
		}
		n = Min(column->run, nfields - column->field);
		if (n > 0)
			ingest_convert_fields(part->converter, part->row, attnum,
								  &record->fields[column->field], n);
		if (unlikely(n < column->run))
			missing_data(part, attnum + Max(n, 0));
		attnum += n;
	}
}

/*
 * The record in hand to a row of the target.
 */
static void
convert_record(IngestDirectPart *part)
{
	IngestCsvRecord *record = &part->record;
	int			nfields = Min(record->nfields, part->nattnums);

	if (unlikely(record->nfields > part->nattnums))
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("extra data after last expected column")));

	part->slot_filled = false;
	recognise_nulls(part, record->fields, nfields);
	if (likely(part->in_order))
		convert_in_order(part, nfields);
	else
		convert_out_of_order(part, nfields);
}

/* ------------------------------------------------------------------------
 * A row
 * ------------------------------------------------------------------------
 */

/* Has the row a NULL where the leaf forbids it? */
static inline bool
violates_not_null(const DirectLeaf *leaf, const IngestRow *row)
{
	if (!row->has_null)
		return false;
	for (int i = 0; i < leaf->nnotnull; i++)
		if (row->isnull[leaf->notnull[i] - 1])
			return true;
	return false;
}

/*
 * The long way: the row goes through a slot of the leaf, its generated columns
 * and its constraints.  Returns that slot; *row is set to the leaf's row.
 */
static TupleTableSlot *
check_row(DirectLeaf *leaf, IngestRow **row)
{
	IngestDirectPart *part = leaf->part;
	TupleTableSlot *slot;

	slot = fill_slot(part);
	if (part->partitioned)
		slot = ingest_route_convert(part->route, leaf->rri, slot, NULL);
	slot->tts_tableOid = RelationGetRelid(leaf->rel);
	if (leaf->has_generated &&
		RelationGetDescr(leaf->rel)->constr->has_generated_stored)
	{
		ExecComputeStoredGenerated(leaf->rri, part->estate, slot, CMD_INSERT);
		part->slot_filled = slot != part->slot;
	}
	if (RelationGetDescr(leaf->rel)->constr)
		ExecConstraints(leaf->rri, slot, part->estate);
	if (leaf->rel->rd_rel->relispartition && !part->partitioned)
		(void) ExecPartitionCheck(leaf->rri, slot, part->estate, true);

	if (!leaf->same_layout || leaf->has_generated)
	{
		if (part->leaf_row == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(part->context);

			part->leaf_row = ingest_row_create(MaxTupleAttributeNumber);
			MemoryContextSwitchTo(old);
		}
		ingest_row_from_slot(part->leaf_row, slot);
		*row = part->leaf_row;
	}
	return slot;
}

/*
 * A row that is too long: have its values compressed or moved out of line.
 * Returns false if it has been put aside to be inserted at the end.
 */
static bool
put_long_row(DirectLeaf *leaf, TupleTableSlot *slot, ItemPointer tid)
{
	IngestDirectPart *part = leaf->part;

	if (leaf->keep_toasted)
	{
		MemoryContext old = MemoryContextSwitchTo(part->context);

		if (leaf->kept == NULL)
			leaf->kept = tuplestore_begin_heap(false, false, work_mem);
		tuplestore_puttupleslot(leaf->kept, slot);
		MemoryContextSwitchTo(old);
		return false;
	}
	if (leaf->toaster == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(part->context);

		leaf->toaster = ingest_toast_begin(leaf->storage, part->pages);
		MemoryContextSwitchTo(old);
	}
	ingest_pages_put_tuple(leaf->writer,
						   ingest_toast_row(leaf->toaster, slot), tid);
	return true;
}

/*
 * The converted row to a page of its leaf, and its keys to the indexer.
 */
static void
store_row(IngestDirectPart *part)
{
	DirectLeaf *leaf = find_leaf(part);
	IngestRow  *row = part->row;
	TupleTableSlot *slot = NULL;
	ItemPointerData tid;

	if (unlikely(!leaf->same_layout || leaf->needs_checks ||
				 violates_not_null(leaf, row)))
		slot = check_row(leaf, &row);

	leaf->rows++;
	part->writing = true;
	if (unlikely(row->len > TOAST_TUPLE_THRESHOLD -
				 MAXALIGN(SizeofHeapTupleHeader) &&
				 MAXALIGN(SizeofHeapTupleHeader +
						  (row->has_null ? BITMAPLEN(row->natts) : 0)) +
				 row->len > TOAST_TUPLE_THRESHOLD))
	{
		if (slot == NULL)
			slot = fill_slot(part);
		if (!put_long_row(leaf, slot, &tid))
		{
			part->writing = false;
			return;
		}
	}
	else
		ingest_pages_put(leaf->writer, row, &tid);
	part->writing = false;

	if (leaf->indexed)
	{
		if (slot == NULL)
			slot = fill_slot(part);
		slot->tts_tid = tid;
		slot->tts_tableOid = RelationGetRelid(leaf->rel);
		ingest_index_collect(part->indexer, leaf->number, leaf->storage, slot);
	}
}

/*
 * Add to the records of all processes, and show them if we are the leader.
 */
static void
show_progress(IngestDirectPart *part, int records)
{
	IngestDirectShared *shared = part->shared;
	IngestChunkQueue *queue = INGEST_DIRECT_AT(shared, IngestChunkQueue,
											   shared->queue);
	uint64		before = pg_atomic_fetch_add_u64(&shared->records, records);

	if (part->process == 0)
		ingest_progress_rows(before + records, ingest_chunk_position(queue) -
							 shared->source_start);
}

static void
load_records(IngestDirectPart *part)
{
	MemoryContext tuple_context = GetPerTupleMemoryContext(part->estate);
	int			records = 0;

	while (ingest_chunk_next(part->chunks, &part->record))
	{
		MemoryContext old;

		ResetPerTupleExprContext(part->estate);
		old = MemoryContextSwitchTo(tuple_context);
		convert_record(part);
		store_row(part);
		MemoryContextSwitchTo(old);
		part->own_error = false;	/* it was a notice */
		if (unlikely(++records == PROGRESS_RECORDS))
		{
			show_progress(part, records);
			records = 0;
		}
	}
	show_progress(part, records);
}

/* ------------------------------------------------------------------------
 * The end
 * ------------------------------------------------------------------------
 */

/*
 * Insert the rows put aside for a leaf.
 */
static void
insert_kept_rows(DirectLeaf *leaf)
{
	IngestDirectPart *part = leaf->part;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(leaf->rel),
													&TTSOpsMinimalTuple);
	BulkInsertState bistate = GetBulkInsertState();

	while (tuplestore_gettupleslot(leaf->kept, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		table_tuple_insert(leaf->rel, slot, part->shared->cid, 0, bistate);

		/* there may have been room before the pages of this load */
		leaf->shared->first_block =
			Min(leaf->shared->first_block,
				ItemPointerGetBlockNumber(&slot->tts_tid));
		if (leaf->indexed)
			ingest_index_collect(part->indexer, leaf->number, leaf->rel, slot);
	}
	if (leaf->indexed)
		ingest_index_place(part->indexer, leaf->number, NULL, 0);
	FreeBulkInsertState(bistate);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(leaf->kept);
	leaf->kept = NULL;
}

void
ingest_direct_part_feed(IngestDirectPart *part, IngestFeed *feed, bool others)
{
	ingest_chunk_set_feed(part->chunks, feed);
	if (others)
		while (ingest_chunk_read_on(part->chunks))
			show_progress(part, 0);
}

void
ingest_direct_part_run(IngestDirectPart *part)
{
	ErrorContextCallback callback;

	callback.callback = error_callback;
	callback.arg = part;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	ingest_meter_phase(part->meter, INGEST_PHASE_CONVERT);
	PG_TRY();
	{
		load_records(part);
	}
	PG_CATCH();
	{
		/*
		 * Not if the error is a worker's, which has no context of ours: that
		 * has waited, and waiting for more from it here would end with the
		 * error that it is gone.
		 */
		if (part->own_error && !part->writing)
			ingest_chunk_fail(part->chunks);
		PG_RE_THROW();
	}
	PG_END_TRY();
	error_context_stack = callback.previous;

	ingest_chunk_detach(part->chunks);
	ingest_meter_phase(part->meter, INGEST_PHASE_WRITE);
	ingest_pages_flush(part->pages);
	for (int i = 0; i < part->shared->nleaves; i++)
		if (part->leaves[i] != NULL && part->leaves[i]->kept != NULL)
			insert_kept_rows(part->leaves[i]);
}

void
ingest_direct_part_count(IngestDirectPart *part)
{
	for (int i = 0; i < part->shared->nleaves; i++)
	{
		DirectLeaf *leaf = part->leaves[i];

		if (leaf == NULL)
			continue;
		pg_atomic_fetch_add_u64(&leaf->shared->rows, leaf->rows);
		pg_atomic_fetch_add_u64(&part->shared->rows, leaf->rows);
		if (leaf->toaster != NULL)
			pg_atomic_fetch_add_u64(&leaf->shared->toast_rows,
									ingest_toast_rows(leaf->toaster));
	}
}

/* Close everything. */
void
ingest_direct_part_end(IngestDirectPart *part)
{
	for (int i = 0; i < part->shared->nleaves; i++)
	{
		DirectLeaf *leaf = part->leaves[i];

		if (leaf != NULL && leaf->toaster != NULL)
			ingest_toast_end(leaf->toaster);
		if (leaf != NULL && leaf->storage != leaf->rel)
			table_close(leaf->storage, NoLock);
	}
	ingest_route_finish(part->route);
}
