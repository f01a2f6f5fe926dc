/*-------------------------------------------------------------------------
 *
 * foreign_key.c
 *		Foreign keys of many new rows, checked together.
 *
 * The server checks a foreign key with a trigger for each row (RI_FKey_check()
 * in utils/adt/ri_triggers.c), which looks for the referenced row and locks
 * it.  Rows that have the same key need that once.  So the distinct keys are
 * collected, and one query joins them with the referenced table, as its owner,
 * by the constraint's operators, FOR KEY SHARE.  A key that it returns has
 * its referenced row, and that is locked.
 *
 * A key that it does not return is left to the server's trigger, which is
 * fired for the first row that has it.  It is the trigger that decides, with
 * a snapshot of its own, and that words the error.  The same is done with all
 * keys where the query would not do: where there are few of them; of
 * constraints with PERIOD; at SERIALIZABLE, since the query may read (and
 * have predicate locks on) more than the keys; and with a partitioned table
 * referenced at REPEATABLE READ, where the trigger takes a snapshot that no
 * query through SPI's extended interface can be given.
 *
 * So a load that fails names the first row, by its place in the table, that
 * has no referenced row.
 *
 * Deferrable constraints go row by row through the server's triggers: only
 * they know about SET CONSTRAINTS, and a deferred check is off if its row is
 * deleted in time.
 *
 * Memory: the keys of all of a table's constraints take half of
 * maintenance_work_mem; when that is full they are checked and forgotten.  The
 * query has the other half, as RI_Initial_Check() has all of it.  What it reads
 * is a tuplestore of work_mem, behind that on disk.
 *
 * Locks: RowShareLock on referenced tables, as the triggers take, and KEY
 * SHARE locks on referenced rows.
 *
 * IDENTIFICATION
 *		src/foreign_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/queryenvironment.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "foreign_key.h"
#include "key_set.h"
#include "route.h"

/* Fewer keys than these are not worth a query of their own. */
#define MIN_QUERY_KEYS	100

/* The name of the keys in the query; it hides nothing that the query needs. */
#define KEYS_NAME		"ingest_keys"

/* A constraint to be checked by its distinct keys. */
typedef struct ForeignKey
{
	Oid			referenced;
	bool		match_full;
	bool		by_query;		/* may a query check it? */
	int			nkeys;
	AttrNumber	referencing_attnums[INDEX_MAX_KEYS];
	AttrNumber	referenced_attnums[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];	/* referenced = referencing */

	/* the keys in hand */
	TupleDesc	desc;			/* key columns, and a key's number */
	IngestKeySet *set;
	Tuplestorestate *store;		/* of desc */
} ForeignKey;

/* A table whose new rows are being checked. */
typedef struct Check
{
	EState	   *estate;
	Relation	rel;
	TupleTableSlot *slot;
	MemoryContext context;		/* of the whole check */
	MemoryContext row_context;	/* reset after each row */

	/*
	 * The table as one sees it whose triggers are only those of the
	 * constraints that are checked by keys, and only the others.
	 */
	ResultRelInfo *by_key;
	ResultRelInfo *by_row;
	bool		any_by_row;

	List	   *keys;			/* of ForeignKey */
	Size		budget;			/* bytes for the keys */
} Check;

/* Receives the numbers of the keys that the query has found. */
typedef struct FoundReceiver
{
	DestReceiver pub;
	IngestKeySet *set;
} FoundReceiver;

/* ------------------------------------------------------------------------
 * Constraints
 * ------------------------------------------------------------------------
 */

/*
 * The columns of the keys as the query sees them.  Types and collations are
 * those that the parameters of the trigger's query have.
 */
static TupleDesc
make_desc(const ForeignKey *key, Relation rel)
{
	TupleDesc	desc = CreateTemplateTupleDesc(key->nkeys + 1);
	char		name[NAMEDATALEN];

	for (int i = 0; i < key->nkeys; i++)
	{
		snprintf(name, sizeof(name), "k%d", i + 1);
		TupleDescInitEntry(desc, i + 1, name,
						   TupleDescAttr(RelationGetDescr(rel),
										 key->referencing_attnums[i] - 1)->atttypid,
						   -1, 0);
	}
	TupleDescInitEntry(desc, key->nkeys + 1, "n", INT8OID, -1, 0);
	return desc;
}

/*
 * May a query check the keys, or must the trigger see each of them?
 */
static bool
may_query(Form_pg_constraint form)
{
	if (ingest_constraint_has_period(form) || IsolationIsSerializable())
		return false;
	return !IsolationUsesXactSnapshot() ||
		get_rel_relkind(form->confrelid) != RELKIND_PARTITIONED_TABLE;
}

static ForeignKey *
make_foreign_key(Relation rel, Oid constraint)
{
	ForeignKey *key = palloc0_object(ForeignKey);
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	key->referenced = form->confrelid;
	key->match_full = form->confmatchtype == FKCONSTR_MATCH_FULL;
	key->by_query = may_query(form);
	DeconstructFkConstraintRow(tuple, &key->nkeys, key->referencing_attnums,
							   key->referenced_attnums, key->operators,
							   NULL, NULL, NULL, NULL);
	ReleaseSysCache(tuple);

	key->desc = make_desc(key, rel);
	key->set = ingest_key_set_begin(key->desc, key->nkeys);
	key->store = tuplestore_begin_heap(false, false, work_mem);
	return key;
}

/*
 * A copy of the table with triggers of its own, for AfterTriggerSaveEvent().
 */
static ResultRelInfo *
copy_table(const ResultRelInfo *table)
{
	ResultRelInfo *copy = palloc_object(ResultRelInfo);

	*copy = *table;
	copy->ri_TrigDesc = CopyTriggerDesc(table->ri_TrigDesc);
	return copy;
}

/*
 * Sort the triggers that would fire for the rows into the two ways to check.
 */
static void
sort_triggers(Check *check, ResultRelInfo *table)
{
	check->by_key = copy_table(table);
	check->by_row = copy_table(table);
	for (int i = 0; i < table->ri_TrigDesc->numtriggers; i++)
	{
		Trigger    *trigger = &table->ri_TrigDesc->triggers[i];
		bool		by_key;

		if (!TRIGGER_FOR_INSERT(trigger->tgtype) ||
			!TRIGGER_FOR_ROW(trigger->tgtype) ||
			!ingest_route_trigger_enabled(trigger))
			continue;
		by_key = RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_FK &&
			!trigger->tgdeferrable;
		if (by_key)
		{
			check->keys = lappend(check->keys,
								  make_foreign_key(check->rel,
												   trigger->tgconstraint));
			check->by_row->ri_TrigDesc->triggers[i].tgenabled = TRIGGER_DISABLED;
		}
		else
		{
			check->any_by_row = true;
			check->by_key->ri_TrigDesc->triggers[i].tgenabled = TRIGGER_DISABLED;
		}
	}
	if (check->keys != NIL)
		check->budget = (Size) maintenance_work_mem * 1024 / 2 /
			list_length(check->keys);
}

/* ------------------------------------------------------------------------
 * The query
 * ------------------------------------------------------------------------
 */

static void
found_startup(DestReceiver *self pg_attribute_unused(),
			  int operation pg_attribute_unused(),
			  TupleDesc desc pg_attribute_unused())
{
}

static bool
found_receive(TupleTableSlot *slot, DestReceiver *self)
{
	bool		isnull;

	ingest_key_set_mark(((FoundReceiver *) self)->set,
						DatumGetInt64(slot_getattr(slot, 1, &isnull)));
	return true;
}

static void
found_shutdown(DestReceiver *self pg_attribute_unused())
{
}

static const DestReceiver found_receiver = {
	.receiveSlot = found_receive,
	.rStartup = found_startup,
	.rShutdown = found_shutdown,
	.rDestroy = found_shutdown,
	.mydest = DestNone,
};

/*
 * SELECT n FROM keys JOIN referenced ON referenced = key FOR KEY SHARE; ONLY
 * and the operators as in RI_FKey_check()'s query.
 */
static char *
build_query(const ForeignKey *key, Relation referenced)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT k.n FROM " KEYS_NAME " k JOIN %s%s x ON ",
					 referenced->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
					 "" : "ONLY ",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(referenced)),
												RelationGetRelationName(referenced)));
	for (int i = 0; i < key->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(referenced),
											  key->referenced_attnums[i] - 1);

		if (i > 0)
			appendStringInfoString(&sql, " AND ");
		generate_operator_clause(&sql,
								 psprintf("x.%s",
										  quote_identifier(NameStr(att->attname))),
								 att->atttypid, key->operators[i],
								 psprintf("k.k%d", i + 1),
								 TupleDescAttr(key->desc, i)->atttypid);
	}
	appendStringInfoString(&sql, " FOR KEY SHARE OF x");
	return sql.data;
}

/*
 * Give the query its half of maintenance_work_mem, until the nest level of
 * settings that is returned ends.
 */
static int
raise_work_mem(void)
{
	int			nestlevel = NewGUCNestLevel();
	char		value[32];

	snprintf(value, sizeof(value), "%d",
			 Max(work_mem, maintenance_work_mem / 2));
	(void) set_config_option("work_mem", value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("hash_mem_multiplier", "1", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

/*
 * Have the keys joined; marks those that are found.  Runs as the referenced
 * table's owner, whom no policy of that table binds, as ri_PerformCheck()
 * does; SPI takes a new snapshot, or the transaction's.
 */
static void
query_keys(ForeignKey *key)
{
	Relation	referenced = table_open(key->referenced, RowShareLock);
	EphemeralNamedRelationData keys;
	FoundReceiver receiver = {found_receiver, key->set};
	SPIExecuteOptions options = {0};
	char	   *sql = build_query(key, referenced);
	Oid			userid;
	int			sec_context;
	int			nestlevel = raise_work_mem();

	memset(&keys, 0, sizeof(keys));
	keys.md.name = KEYS_NAME;
	keys.md.tupdesc = key->desc;
	keys.md.enrtype = ENR_NAMED_TUPLESTORE;
	keys.md.enrtuples = ingest_key_set_count(key->set);
	keys.reldata = key->store;
	options.dest = &receiver.pub;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_register_relation(&keys) != SPI_OK_REL_REGISTER)
		elog(ERROR, "SPI_register_relation failed");
	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(referenced->rd_rel->relowner,
						   sec_context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS);
	if (SPI_execute_extended(sql, &options) < 0)
		elog(ERROR, "could not check foreign keys");
	SetUserIdAndSecContext(userid, sec_context);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	AtEOXact_GUC(true, nestlevel);
	pfree(sql);
	table_close(referenced, NoLock);
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/*
 * Fire the triggers, those of constraints that are checked by keys, for rows.
 */
static void
fire_triggers(Check *check, ItemPointer tids, int64 n)
{
	TupleTableSlot *slot = table_slot_create(check->rel, NULL);

	qsort(tids, n, sizeof(ItemPointerData), compare_tids);
	AfterTriggerBeginQuery();
	for (int64 i = 0; i < n; i++)
	{
		if (i > 0 && ItemPointerEquals(&tids[i], &tids[i - 1]))
			continue;
		if (!table_tuple_fetch_row_version(check->rel, &tids[i], SnapshotAny,
										   slot))
			elog(ERROR, "could not fetch new row (%u,%u) of table \"%s\"",
				 ItemPointerGetBlockNumber(&tids[i]),
				 ItemPointerGetOffsetNumber(&tids[i]),
				 RelationGetRelationName(check->rel));
		ExecARInsertTriggers(check->estate, check->by_key, slot, NIL, NULL);
	}
	ExecDropSingleTupleTableSlot(slot);
	AfterTriggerEndQuery(check->estate);
}

/*
 * Check the keys in hand, and forget them.
 */
static void
check_keys(Check *check)
{
	ItemPointer tids;
	int64		nkeys = 0;
	int64		n = 0;
	ListCell   *lc;

	foreach(lc, check->keys)
	{
		ForeignKey *key = lfirst(lc);

		if (key->by_query && ingest_key_set_count(key->set) >= MIN_QUERY_KEYS)
			query_keys(key);
		nkeys += ingest_key_set_count(key->set);
	}

	tids = MemoryContextAllocHuge(CurrentMemoryContext,
								  Max(nkeys, 1) * sizeof(ItemPointerData));
	foreach(lc, check->keys)
	{
		ForeignKey *key = lfirst(lc);

		n += ingest_key_set_unmarked(key->set, tids + n);
		ingest_key_set_reset(key->set);
		tuplestore_clear(key->store);
	}
	if (n > 0)
		fire_triggers(check, tids, n);
	pfree(tids);
}

/*
 * Add the key of the row in hand to those to be checked.  A NULL in it makes
 * it pass, but not in some of the columns alone with MATCH FULL: that the
 * trigger shall see.
 */
static void
collect_key(Check *check, ForeignKey *key)
{
	Datum		values[INDEX_MAX_KEYS + 1];
	bool		isnull[INDEX_MAX_KEYS + 1];
	int			nnulls = 0;
	int64		number;

	for (int i = 0; i < key->nkeys; i++)
	{
		values[i] = slot_getattr(check->slot, key->referencing_attnums[i],
								 &isnull[i]);
		nnulls += isnull[i];
	}
	if (nnulls == key->nkeys || (nnulls > 0 && !key->match_full))
		return;
	number = ingest_key_set_add(key->set, values, isnull,
								&check->slot->tts_tid);
	if (number < 0)
		return;

	values[key->nkeys] = Int64GetDatum(number);
	isnull[key->nkeys] = false;
	if (key->by_query)
		tuplestore_putvalues(key->store, key->desc, values, isnull);
}

/*
 * Take the row in hand.
 */
static void
take_row(Check *check)
{
	MemoryContext old = MemoryContextSwitchTo(check->row_context);
	bool		full = false;
	ListCell   *lc;

	foreach(lc, check->keys)
	{
		ForeignKey *key = lfirst(lc);

		collect_key(check, key);
		full |= ingest_key_set_size(key->set) > check->budget;
	}
	if (check->any_by_row)
		ExecARInsertTriggers(check->estate, check->by_row, check->slot, NIL,
							 NULL);
	MemoryContextSwitchTo(check->context);
	if (full)
		check_keys(check);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_context);
}

/*
 * Is the row in the slot one of those the command has put there?
 */
static bool
is_new_row(TupleTableSlot *slot, const IngestNewRows *rows)
{
	bool		isnull;
	Datum		xmin = slot_getsysattr(slot, MinTransactionIdAttributeNumber,
									   &isnull);
	Datum		cmin = slot_getsysattr(slot, MinCommandIdAttributeNumber,
									   &isnull);

	return TransactionIdEquals(DatumGetTransactionId(xmin), rows->xid) &&
		DatumGetCommandId(cmin) == rows->cid;
}

/*
 * Pass over the new rows in the order of their place.  What others have put
 * beside them is skipped; SnapshotSelf takes no predicate locks on it.
 */
static void
scan_rows(Check *check, const IngestNewRows *rows)
{
	TupleTableSlot *slot = table_slot_create(check->rel, NULL);
	ItemPointerData first;
	ItemPointerData last;
	TableScanDesc scan;

	ItemPointerSet(&first, rows->first_block, FirstOffsetNumber);
	ItemPointerSet(&last, MaxBlockNumber, MaxOffsetNumber);
	scan = table_beginscan_tidrangeCompat(check->rel, SnapshotSelf, &first,
										  &last);
	check->slot = slot;
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (is_new_row(slot, rows))
			take_row(check);
	}
	table_endscan(scan);
	check_keys(check);
	ExecDropSingleTupleTableSlot(slot);
}

void
ingest_foreign_key_check(EState *estate, ResultRelInfo *table,
						 const IngestNewRows *rows)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ingest_tools foreign keys",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Check		check = {0};
	ListCell   *lc;

	check.estate = estate;
	check.rel = table->ri_RelationDesc;
	check.context = context;
	check.row_context = AllocSetContextCreate(context,
											  "ingest_tools foreign keys, row",
											  ALLOCSET_SMALL_SIZES);
	sort_triggers(&check, table);
	if (check.keys != NIL || check.any_by_row)
		scan_rows(&check, rows);

	foreach(lc, check.keys)
		tuplestore_end(((ForeignKey *) lfirst(lc))->store);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
