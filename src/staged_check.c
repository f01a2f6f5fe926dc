/*-------------------------------------------------------------------------
 *
 * staged_check.c
 *		Keys of staged rows that the table has already.
 *
 * A duplicate key that is found when its index entry is made leaves all the
 * rows before it dead in the table.  So before any row is transferred each
 * unique B-tree of a staging table, which has its keys in order, is compared
 * with the one of the table it is a copy of.
 *
 * Most keys are not looked for.  Once it is known which is the first value of
 * the leading column that the table has behind some key, all keys before that
 * value are new.  So a load whose keys lie behind those of the table, or
 * between two of them, costs one look into the index.  Where the keys of both
 * mix, that is found out ever more rarely, and each key is looked for.
 *
 * What another transaction has not committed or has not deleted yet is left
 * to the insertion, which waits for its end; and so is what others insert from
 * now on, and a NULL that is not distinct from NULLs.
 *
 * The error is that of _bt_check_unique() (nbtinsert.c), which has no line
 * number either.
 *
 * IDENTIFICATION
 *		src/staged_check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "staged_transfer.h"

/* Most keys that are looked for before it is tried again to skip some. */
#define MAX_PATIENCE	63

/* The table's side. */
typedef struct KeyProbe
{
	Relation	heap;
	Relation	index;
	TupleTableSlot *slot;

	/* rows with a key */
	SnapshotData dirty;
	IndexScanDesc scan;
	int			nkeys;
	ScanKeyData keys[INDEX_MAX_KEYS];

	/* the first row at or behind a value of the leading column */
	IndexScanDesc bound_scan;
	ScanKeyData bound_key;
	FmgrInfo   *compare;
	bool		has_bound;		/* bound is known */
	bool		at_end;			/* and there is no such row */
	Datum		bound;
	int			patience;		/* keys to look for before the next bound */
	int			waited;
} KeyProbe;

/* A condition on a column of an index. */
static void
init_key(ScanKey key, Relation index, int column, StrategyNumber strategy)
{
	Oid			type = index->rd_opcintype[column];
	Oid			operator = get_opfamily_member(index->rd_opfamily[column],
											   type, type, strategy);

	if (!OidIsValid(operator))
		elog(ERROR, "missing operator %d(%u,%u) in opfamily %u", strategy,
			 type, type, index->rd_opfamily[column]);
	ScanKeyEntryInitialize(key, 0, column + 1, strategy, type,
						   index->rd_indcollation[column],
						   get_opcode(operator), (Datum) 0);
}

static bool
is_descending(Relation index)
{
	return (index->rd_indoption[0] & INDOPTION_DESC) != 0;
}

static void
begin_probe(KeyProbe *probe, Oid heapid, Oid indexid)
{
	Relation	heap = table_open(heapid, NoLock);
	Relation	index = index_open(indexid, NoLock);

	memset(probe, 0, sizeof(KeyProbe));
	probe->heap = heap;
	probe->index = index;
	probe->slot = table_slot_create(heap, NULL);
	probe->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < probe->nkeys; i++)
		init_key(&probe->keys[i], index, i, BTEqualStrategyNumber);
	init_key(&probe->bound_key, index, 0, is_descending(index) ?
			 BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber);
	probe->compare = index_getprocinfo(index, 1, BTORDER_PROC);

	InitDirtySnapshot(probe->dirty);
	probe->scan = index_beginscanCompat(heap, index, &probe->dirty,
										probe->nkeys, 0);
	probe->bound_scan = index_beginscanCompat(heap, index, SnapshotAny, 1, 0);
	probe->bound_scan->xs_want_itup = true;
}

static void
end_probe(KeyProbe *probe)
{
	index_endscan(probe->bound_scan);
	index_endscan(probe->scan);
	ExecDropSingleTupleTableSlot(probe->slot);
	index_close(probe->index, NoLock);
	table_close(probe->heap, NoLock);
}

/* Find out where the table goes on from a value of the leading column on. */
static void
find_bound(KeyProbe *probe, Datum value)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(probe->index), 0);
	bool		isnull;

	if (probe->has_bound && !probe->at_end && !att->attbyval)
		pfree(DatumGetPointer(probe->bound));
	probe->bound_key.sk_argument = value;
	index_rescan(probe->bound_scan, &probe->bound_key, 1, NULL, 0);
	probe->has_bound = true;
	probe->at_end = index_getnext_tid(probe->bound_scan,
									  ForwardScanDirection) == NULL;
	if (!probe->at_end)
		probe->bound = datumCopy(index_getattr(probe->bound_scan->xs_itup, 1,
											   probe->bound_scan->xs_itupdesc,
											   &isnull),
								 att->attbyval, att->attlen);
}

/* Does a value of the leading column lie before the bound? */
static bool
is_before_bound(KeyProbe *probe, Datum value)
{
	int32		order;

	if (!probe->has_bound)
		return false;
	if (probe->at_end)
		return true;
	order = DatumGetInt32(FunctionCall2Coll(probe->compare,
											probe->index->rd_indcollation[0],
											value, probe->bound));
	return is_descending(probe->index) ? order > 0 : order < 0;
}

/* Is it clear that the table has no such value in the leading column? */
static bool
can_skip(KeyProbe *probe, Datum value)
{
	if (is_before_bound(probe, value))
	{
		probe->patience = 0;
		return true;
	}
	if (probe->waited++ < probe->patience)
		return false;
	probe->waited = 0;
	find_bound(probe, value);
	if (is_before_bound(probe, value))
		return true;
	probe->patience = Min(2 * probe->patience + 1, MAX_PATIENCE);
	return false;
}

pg_noreturn static void
report_duplicate(KeyProbe *probe, Datum *values, bool *isnull)
{
	const char *name = RelationGetRelationName(probe->index);
	char	   *key = BuildIndexValueDescription(probe->index, values, isnull);

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"",
					name),
			 key ? errdetail("Key %s already exists.", key) : 0,
			 errtableconstraint(probe->heap, name)));
}

/* Raise the error if there is a row with the key, and no doubt about it. */
static void
check_key(KeyProbe *probe, Datum *values, bool *isnull)
{
	for (int i = 0; i < probe->nkeys; i++)
	{
		if (isnull[i])
			return;
		probe->keys[i].sk_argument = values[i];
	}
	if (can_skip(probe, values[0]))
		return;
	index_rescan(probe->scan, probe->keys, probe->nkeys, NULL, 0);
	while (index_getnext_slot(probe->scan, ForwardScanDirection, probe->slot))
	{
		if (!TransactionIdIsValid(probe->dirty.xmin) &&
			!TransactionIdIsValid(probe->dirty.xmax))
			report_duplicate(probe, values, isnull);
	}
}

/* Look for all keys of a staging table's index. */
static void
check_keys(const IngestStaging *staging, Relation rel, Relation keys,
		   Oid indexid)
{
	IndexScanDesc scan = index_beginscanCompat(rel, keys, SnapshotAny, 0, 0);
	KeyProbe	probe;

	begin_probe(&probe, staging->relid, indexid);
	scan->xs_want_itup = true;
	index_rescan(scan, NULL, 0, NULL, 0);
	while (index_getnext_tid(scan, ForwardScanDirection) != NULL)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		index_deform_tuple(scan->xs_itup, scan->xs_itupdesc, values, isnull);
		check_key(&probe, values, isnull);
	}
	end_probe(&probe);
	index_endscan(scan);
}

static void
check_index(const IngestStaging *staging, const IngestStagingIndex *index)
{
	Relation	rel = table_open(staging->staging, NoLock);
	Relation	keys = index_open(index->staging, NoLock);

	/* not built, for want of keys */
	if (RelationGetNumberOfBlocks(keys) > 0)
		check_keys(staging, rel, keys, index->index);
	index_close(keys, NoLock);
	table_close(rel, NoLock);
}

void
ingest_staged_check_keys(const IngestStaging *staging)
{
	ListCell   *lc;

	foreach(lc, staging->indexes)
		check_index(staging, lfirst(lc));
}
