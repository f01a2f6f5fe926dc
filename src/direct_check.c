/*-------------------------------------------------------------------------
 *
 * direct_check.c
 *		May a load be done by strategy "direct", and by several processes?
 *
 * "direct" puts rows on pages long before anybody can see them, in no
 * particular order.  Whatever might look at the table between two rows, or
 * cares for their order, rules it out: row triggers of the user's, volatile
 * defaults.  Foreign keys and statement triggers do not.  The rest of the
 * reasons are formats and tables that its fast path does not know.
 *
 * Parallel workers may evaluate only what is marked parallel safe, may not
 * use temporary tables or sequences, and may not make logical decoding see a
 * row before its values out of line.  Then one process does the load, outside
 * parallel mode, where none of this matters.
 *
 * Reasons are for people: they end up in reports, so they are translatable
 * and read as "..., because REASON".
 *
 * Locks: RowExclusiveLock on every leaf, kept to the end of the transaction.
 * COPY locks a leaf when its first row arrives; but what is decided here must
 * stay true, and a worker waiting for a lock is worse than a leader.
 *
 * IDENTIFICATION
 *		src/direct_check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/copy.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "commands/trigger.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "compat.h"
#include "convert.h"
#include "direct.h"
#include "route.h"

/* ------------------------------------------------------------------------
 * Format and source
 * ------------------------------------------------------------------------
 */

static const char *
check_format(const CopyFormatOptions *format)
{
	if (format->file_encoding != GetDatabaseEncoding())
		return gettext_noop("the encoding of the file is not the server's");
	if (format->freeze)
		return gettext_noop("rows are to be frozen");
	if (ingest_copy_default_marker(format) != NULL)
		return gettext_noop("the DEFAULT option is used");
	if (strchr("\r\n", format->quote[0]) || strchr("\r\n", format->escape[0]))
		return gettext_noop("the quote or escape character is a line end");
	return NULL;
}

static const char *
check_source(const IngestSourceSpec *spec)
{
	struct stat st;

	if (spec->kind == INGEST_SOURCE_SPOOL)
		return NULL;
	if (spec->kind != INGEST_SOURCE_FILE)
		return gettext_noop("the source is not a file");
	if (stat(spec->text, &st) < 0 || !S_ISREG(st.st_mode))
		return gettext_noop("the source is not a regular file");
	return NULL;
}

/* ------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------
 */

/*
 * Triggers: those of foreign keys and deferrable constraints and those of
 * statements may stay.
 */
static const char *
check_trigger(const Trigger *trigger)
{
	if (!TRIGGER_FOR_INSERT(trigger->tgtype) ||
		!ingest_route_trigger_enabled(trigger))
		return NULL;
	if (trigger->tgnewtable != NULL)
		return gettext_noop("a trigger uses a transition table");
	if (!TRIGGER_FOR_ROW(trigger->tgtype) || trigger->tgisinternal)
		return NULL;
	if (!TRIGGER_FOR_AFTER(trigger->tgtype))
		return gettext_noop("a table has a BEFORE ROW trigger");
	return gettext_noop("a table has an AFTER ROW trigger");
}

static const char *
check_triggers(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;
	const char *reason = NULL;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (reason == NULL)
			reason = check_trigger(&triggers->triggers[i]);
	}
	return reason;
}

/* A table that rows are to be stored in. */
static const char *
check_leaf(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		return gettext_noop("a foreign table is to receive rows");
	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		IsCatalogRelation(rel))
		return gettext_noop("the target is not a table of a user's");
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return gettext_noop("a table's access method is not heap");
	if (RelationIsUsedAsCatalogTable(rel))
		return gettext_noop("a table is used as a catalog table by logical decoding");
	return check_triggers(rel);
}

/*
 * Defaults of the columns that the source does not supply.
 */
static const char *
check_defaults(Relation rel, List *attnums)
{
	for (int attnum = 1; attnum <= RelationGetNumberOfAttributes(rel); attnum++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
		Node	   *expr;

		if (att->attisdropped || att->attgenerated ||
			list_member_int(attnums, attnum))
			continue;
		expr = build_column_default(rel, attnum);
		if (expr != NULL &&
			contain_volatile_functions_not_nextval((Node *)
												   expression_planner((Expr *) expr)))
			return gettext_noop("a default is volatile");
	}
	return NULL;
}

/* Open and check what rows may be stored in. */
static const char *
check_leaves(Relation rel, List **leaves)
{
	const char *reason = NULL;
	List	   *relids;
	ListCell   *lc;

	*leaves = NIL;
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		*leaves = list_make1_oid(RelationGetRelid(rel));
		return check_leaf(rel);
	}

	reason = check_triggers(rel);
	relids = find_all_inheritors(RelationGetRelid(rel), RowExclusiveLock, NULL);
	foreach(lc, relids)
	{
		Relation	part;

		if (reason != NULL)
			break;
		part = table_open(lfirst_oid(lc), NoLock);
		if (part->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		{
			reason = check_leaf(part);
			*leaves = lappend_oid(*leaves, lfirst_oid(lc));
		}
		table_close(part, NoLock);
	}
	list_sort(*leaves, list_oid_cmp);
	return reason;
}

const char *
ingest_direct_unusable(Relation rel, const IngestOptions *options,
					   const IngestSourceSpec *spec)
{
	List	   *attnums = CopyGetAttnums(RelationGetDescr(rel), rel,
										 options->columns);
	List	   *leaves;
	const char *reason;

	if (IsInParallelMode())
		return gettext_noop("the session is in parallel mode");
	if (attnums == NIL)
		return gettext_noop("no column is to be loaded");
	reason = ingest_source_only_copy(spec, options);
	if (reason == NULL)
		reason = check_format(ingest_source_format(spec, options));
	if (reason == NULL)
		reason = check_source(spec);
	if (reason == NULL)
		reason = check_leaves(rel, &leaves);
	if (reason == NULL)
		reason = check_defaults(rel, attnums);
	return reason;
}

List *
ingest_direct_leaves(Relation rel)
{
	List	   *leaves;
	const char *reason = check_leaves(rel, &leaves);

	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has changed since the load began",
						RelationGetRelationName(rel)),
				 errdetail("Now strategy direct cannot be used because %s.",
						   _(reason)),
				 errhint("Try again.")));
	return leaves;
}

/* ------------------------------------------------------------------------
 * Parallel workers
 * ------------------------------------------------------------------------
 */

/*
 * Is an expression, or a list of them, fit for a worker?
 *
 * A volatile function may be marked parallel safe and yet run queries, each of
 * which begins a command.  Within a query's workers this does no harm; but
 * here a command id is in use, and CommandCounterIncrement() (xact.c) refuses.
 */
static bool
is_parallel_safe_node(Node *node)
{
	Query	   *query = makeNode(Query);

	if (contain_volatile_functions(node))
		return false;
	query->commandType = CMD_SELECT;
	query->targetList = list_make1(makeTargetEntry((Expr *) node, 1, NULL,
												   false));
	return max_parallel_hazard(query) == PROPARALLEL_SAFE;
}

/*
 * Everything that is evaluated for a row of a table: CHECK constraints,
 * generated columns, the partition constraint or key.
 */
static bool
has_safe_expressions(Relation rel)
{
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	PartitionKey key;

	if (constr != NULL)
	{
		for (int i = 0; i < constr->num_check; i++)
			if (!is_parallel_safe_node(stringToNode(constr->check[i].ccbin)))
				return false;
		if (ingest_has_generated(constr))
		{
			for (int i = 0; i < constr->num_defval; i++)
			{
				AttrNumber	attnum = constr->defval[i].adnum;

				if (TupleDescAttr(RelationGetDescr(rel),
								  attnum - 1)->attgenerated &&
					!is_parallel_safe_node(stringToNode(constr->defval[i].adbin)))
					return false;
			}
		}
	}
	if (rel->rd_rel->relispartition &&
		!is_parallel_safe_node((Node *) RelationGetPartitionQual(rel)))
		return false;
	key = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
		RelationGetPartitionKey(rel) : NULL;
	return key == NULL || is_parallel_safe_node((Node *) key->partexprs);
}

/* Input functions, and defaults for what is not in the source. */
static const char *
check_columns(Relation rel, List *attnums)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int attnum = 1; attnum <= desc->natts; attnum++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
		Node	   *expr;

		if (att->attisdropped || att->attgenerated)
			continue;
		if (list_member_int(attnums, attnum))
		{
			if (!ingest_convert_parallel_safe(desc, attnum))
				return gettext_noop("a column's type is not parallel safe");
			continue;
		}
		expr = build_column_default(rel, attnum);
		if (expr != NULL && !is_parallel_safe_node(expr))
			return gettext_noop("a default is not parallel safe");
	}
	return NULL;
}

/*
 * Is one of the table's indexes, or the TOAST table's, new in this
 * transaction?
 */
static bool
has_new_index(Relation rel)
{
	List	   *indexes;
	ListCell   *lc;
	bool		result = false;

	/* the TOAST table's is as new as the table, and not in the list */
	if (RELATION_IS_LOCAL(rel) && OidIsValid(rel->rd_rel->reltoastrelid))
		return true;
	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		result |= RELATION_IS_LOCAL(index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return result;
}

static const char *
check_parallel_table(Relation rel)
{
	if (RelationUsesLocalBuffers(rel))
		return gettext_noop("a table is temporary");
	if (INGEST_NEW_INDEX_UNLOCKED && rel->rd_rel->relkind == RELKIND_RELATION &&
		has_new_index(rel))
		return gettext_noop("an index is new in the transaction");
	if (!has_safe_expressions(rel))
		return gettext_noop("a constraint or generated column is not parallel safe");
	if (rel->rd_rel->relkind == RELKIND_RELATION &&
		RelationIsLogicallyLogged(rel) && OidIsValid(rel->rd_rel->reltoastrelid))
		return gettext_noop("logical decoding needs values out of line in order");
	return NULL;
}

const char *
ingest_direct_serial(const IngestWriteTarget *target, Relation rel)
{
	const char *reason;
	ListCell   *lc;

	reason = check_columns(rel, ingest_parse_attnums(target->parser));
	if (reason == NULL)
		reason = check_parallel_table(rel);
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return reason;
	foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
	{
		Relation	part;

		if (reason != NULL)
			break;
		part = table_open(lfirst_oid(lc), NoLock);
		reason = check_parallel_table(part);
		table_close(part, NoLock);
	}
	return reason;
}
