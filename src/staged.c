/*-------------------------------------------------------------------------
 *
 * staged.c
 *		Strategy "staged": rows are put where nobody sees them, and checked,
 *		before the table is touched.
 *
 * The rows go to a staging table of each leaf (publish.c), by the machinery
 * of "direct" (direct.c): the same processes, the same errors, but no WAL.
 * When all are there the staging tables get indexes, by which duplicate keys
 * among them are found.  Foreign keys and statement triggers come last.
 *
 * Mode append: keys that the table has already are looked for
 * (staged_check.c).  Only then the rows are added, as direct adds those of a
 * file (staged_transfer.c).  So a file that is bad leaves no dead rows, and
 * the table grows and is written to for a part of the time only.  What is left
 * to be found that late is a foreign key without a referenced row, a key that
 * another transaction comes first with, and what deferrable unique and
 * exclusion constraints find.
 *
 * Mode replace: the staging tables are logged and get statistics, and then
 * each leaf's storage is exchanged for the new one.  A leaf that no row belongs
 * to is empty afterwards: what the target holds is what the source holds.
 * What TRUNCATE refuses is refused.  So is what "direct" cannot do, whatever
 * cares for the rows that go (triggers for DELETE and TRUNCATE), and logical
 * decoding, which cannot read rows from images of pages.  Deferrable unique
 * constraints are refused because an index build checks them at once.
 *
 * Locks: those of direct to add rows.  To replace them ShareUpdateExclusiveLock
 * on each leaf from the start, so that two of these loads, or one and VACUUM or
 * CREATE INDEX CONCURRENTLY, do not meet with the locks that publishing takes;
 * readers and writers go on.  What they write until then is replaced, too.
 * AccessExclusiveLock on each leaf, in the order of OIDs, when all is ready
 * for all of them.  The target of a partitioned table is locked as COPY locks
 * it.  Who replaces has the first of these locks before any other on a table
 * (ingest_load_lock_replaced()), so that two of them queue up: neither waits
 * for the other's weaker lock.
 *
 * IDENTIFICATION
 *		src/staged.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/heap.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/tablecmds.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "direct.h"
#include "publish.h"
#include "route.h"
#include "staged_transfer.h"
#include "write.h"

/* Does a trigger of the user's wait for rows to go? */
static bool
has_delete_trigger(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if ((TRIGGER_FOR_DELETE(trigger->tgtype) ||
			 TRIGGER_FOR_TRUNCATE(trigger->tgtype)) &&
			!trigger->tgisinternal && ingest_route_trigger_enabled(trigger))
			return true;
	}
	return false;
}

static bool
has_deferrable_index(Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	bool		result = false;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		result |= !index->rd_index->indimmediate;
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return result;
}

/* Why the rows of one table cannot be replaced, or NULL. */
static const char *
check_replaced(Relation rel)
{
	if (has_delete_trigger(rel))
		return gettext_noop("a table has a trigger on DELETE or TRUNCATE");
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return NULL;
	if (RelationIsLogicallyLogged(rel))
		return gettext_noop("rows must be fit for logical decoding");
	if (has_deferrable_index(rel))
		return gettext_noop("a unique or exclusion constraint is deferrable");
	return NULL;
}

/*
 * The target and all below it, OIDs, locked with ShareUpdateExclusiveLock but
 * for the target of a partitioned table.
 */
static List *
lock_tables(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return find_all_inheritors(RelationGetRelid(rel),
								   ShareUpdateExclusiveLock, NULL);
	LockRelation(rel, ShareUpdateExclusiveLock);
	return list_make1_oid(RelationGetRelid(rel));
}

/* Why rows of a table cannot be staged to be added to it, or NULL. */
static const char *
check_added(Relation rel)
{
	/* they would have to go in with their values, one after the other */
	if (rel->rd_rel->relkind == RELKIND_RELATION &&
		RelationIsLogicallyLogged(rel) &&
		OidIsValid(rel->rd_rel->reltoastrelid))
		return gettext_noop("rows must be fit for logical decoding");
	return NULL;
}

/* Why one of the tables is unfit, or NULL. */
static const char *
check_tables(List *tables, const char *(*check) (Relation rel))
{
	const char *reason = NULL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		Relation	table = table_open(lfirst_oid(lc), NoLock);

		if (reason == NULL)
			reason = check(table);
		table_close(table, NoLock);
	}
	return reason;
}

static const char *
replace_unusable(Relation rel, const IngestOptions *options,
				 const IngestSourceSpec *spec)
{
	List	   *tables = lock_tables(rel);
	const char *reason = ingest_direct_unusable(rel, options, spec);

	if (reason == NULL && heap_truncate_find_FKs(tables) != NIL)
		reason = gettext_noop("a foreign key of another table references it");
	return reason ? reason : check_tables(tables, check_replaced);
}

static const char *
staged_unusable(Relation rel, const IngestOptions *options,
				const IngestSourceSpec *spec)
{
	Oid			relid = RelationGetRelid(rel);
	List	   *tables = list_make1_oid(relid);
	const char *reason;

	if (options->mode == INGEST_MODE_REPLACE)
		return replace_unusable(rel, options, spec);
	reason = ingest_direct_unusable(rel, options, spec);
	if (reason != NULL)
		return reason;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		tables = find_all_inheritors(relid, NoLock, NULL);
	return check_tables(tables, check_added);
}

/* ------------------------------------------------------------------------
 * Mode append
 * ------------------------------------------------------------------------
 */

static IngestStaging *
begin_adding(Oid relid, bool is_target pg_attribute_unused())
{
	return ingest_staging_create(relid, false);
}

/* Rows that are put on pages twice cannot be frozen the first time. */
static bool
never(void)
{
	return false;
}

static void
add_rows(IngestWriteTarget *target, List *stagings,
		 IngestDirectShared *shared, EState *estate)
{
	ListCell   *lc;

	foreach(lc, stagings)
		ingest_staged_check_keys(lfirst(lc));
	ingest_staged_transfer(target, stagings, shared, estate);
	foreach(lc, stagings)
		ingest_staging_drop(lfirst(lc), target->meter);
}

/* ------------------------------------------------------------------------
 * Mode replace
 * ------------------------------------------------------------------------
 */

/*
 * A staging table for a leaf, which nothing else in the session may use.  For
 * the target itself ingest_load_check_replace() has seen to that.
 */
static IngestStaging *
begin_replacing(Oid relid, bool is_target)
{
	if (!is_target)
	{
		Relation	rel = table_open(relid, NoLock);

		CheckTableNotInUse(rel, "replace the rows of");
		table_close(rel, NoLock);
	}
	return ingest_staging_create(relid, true);
}

/* All rows are staged. */
static void
finish_rows(IngestWriteTarget *target, List *stagings)
{
	ListCell   *lc;

	foreach(lc, stagings)
		ingest_staging_build_toast(lfirst(lc), target->meter);
}

/*
 * What takes time comes first, for all leaves, lest the first one be locked
 * while that is done for the last.
 */
static void
replace_rows(IngestWriteTarget *target, List *stagings,
			 IngestDirectShared *shared, EState *estate pg_attribute_unused())
{
	ListCell   *lc;

	foreach(lc, stagings)
		ingest_staging_complete_indexes(lfirst(lc), target->meter);
	ingest_staging_make_durable(stagings, shared->frozen,
								target->workers_used, target->meter);
	if (target->options->analyze)
	{
		foreach(lc, stagings)
			ingest_staging_analyze(lfirst(lc));
	}
	foreach(lc, stagings)
		ingest_staging_swap(lfirst(lc), target->meter);
	if (!target->options->analyze)
		return;
	foreach(lc, stagings)
		ingest_staging_analyze_table(lfirst(lc));
}

/* ------------------------------------------------------------------------
 * The writer
 * ------------------------------------------------------------------------
 */

static const IngestDirectStager adding = {
	.begin = begin_adding,
	.may_freeze = never,
	.filled = finish_rows,
	.publish = add_rows,
};

static const IngestDirectStager replacing = {
	.begin = begin_replacing,
	.may_freeze = ingest_staging_may_freeze,
	.filled = finish_rows,
	.publish = replace_rows,
};

static void *
staged_begin(IngestWriteTarget *target)
{
	return ingest_direct_begin(target,
							   target->options->mode == INGEST_MODE_REPLACE ?
							   &replacing : &adding);
}

/* Errors speak of the leaves and their indexes, not of staging tables. */
static void
staged_write(IngestWriteTarget *target, void *state, int64 max_rows)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		ingest_direct_write(target, state, max_rows);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		ingest_staging_rethrow(ingest_direct_load_stagings(state));
	}
	PG_END_TRY();
}

const IngestWriter ingest_writer_staged = {
	.name = "staged",
	.needs_parser = true,
	.unusable = staged_unusable,
	.begin = staged_begin,
	.write = staged_write,
	.finish = ingest_direct_finish,
};
