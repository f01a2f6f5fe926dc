/*-------------------------------------------------------------------------
 *
 * publish.c
 *		Staging tables: storage that is filled unseen, then put in the place
 *		of a table's own.
 *
 * A staging table is the transient heap that CLUSTER and ALTER TABLE make
 * when they rewrite a table (make_new_heap() in commands/cluster.c), with
 * copies of the table's indexes, made as REINDEX CONCURRENTLY makes them
 * (index_concurrently_create_copy() in catalog/index.c).  A swap exchanges
 * the storage of tables and indexes (publish_exchange.c) and drops the old.
 * All of it is part of the caller's (sub)transaction, whose rollback brings
 * the old content back; and a crash leaves at most a file that no catalog
 * entry names, as after any command that has made a table.
 *
 * A staging table from which rows will be transferred is an unlogged table.
 * One that will be swapped has the persistence of the table and not that of
 * an unlogged one, whose init fork would empty the table after a crash.  Its
 * pages are filled without WAL all the same (write_pages.c), which is safe as
 * long as nothing but this transaction can name them.  Before they become the
 * table's they are logged, heap and TOAST table both (publish_durable.c).
 * Where wal_level = minimal nothing is: the storage is new in the transaction
 * and is synced at commit.
 *
 * Freezing follows the rules of COPY FREEZE (CopyFrom() in copyfrom.c).  That
 * the storage is new in the subtransaction is always so here.
 *
 * An index that others may not insert into yet has no counterpart, and its
 * content, which nobody uses, stays as it is.  That of an exclusion constraint
 * has none because the server's function refuses it; it is built when the
 * table has its new rows.
 *
 * Statistics are collected of the staging table and handed over.  Those that
 * a staging table does not have (CREATE STATISTICS, children by inheritance,
 * a number of distinct values or the target of an index's expression that has
 * been set) want the table itself, and so does who is not its owner: ANALYZE
 * says what it thinks of that.
 *
 * Locks: the staging table's is AccessExclusiveLock from its creation.  The
 * table's own AccessExclusiveLock is taken when all is built and logged; what
 * is left to do then are a few updates of catalog rows.
 *
 * IDENTIFICATION
 *		src/publish.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/toasting.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/acl.h"
#include "utils/attoptcache.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "index_insert.h"
#include "publish.h"
#include "publish_exchange.h"

/* ------------------------------------------------------------------------
 * Before
 * ------------------------------------------------------------------------
 */

/*
 * Set a column's statistics target (ALTER TABLE ... SET STATISTICS) to that of
 * another one.  It does not go with a new table.
 */
static void
copy_statistics_target(Relation catalog, HeapTuple from, Oid to,
					   AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCacheCopyAttNum(to, attnum);
	int			n = Anum_pg_attribute_attstattarget - 1;
	Datum		values[Natts_pg_attribute] = {0};
	bool		isnull[Natts_pg_attribute] = {false};
	bool		replace[Natts_pg_attribute] = {false};

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u",
			 attnum, to);
	replace[n] = true;
	values[n] = heap_getattr(from, n + 1, RelationGetDescr(catalog),
							 &isnull[n]);
	tuple = heap_modify_tuple(tuple, RelationGetDescr(catalog), values, isnull,
							  replace);
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	heap_freetuple(tuple);
}

/* The same for all columns of a table where it has been set. */
static void
copy_statistics_targets(Relation from, Oid to)
{
	Relation	catalog = table_open(AttributeRelationId, RowExclusiveLock);

	for (AttrNumber i = 1; i <= RelationGetNumberOfAttributes(from); i++)
	{
		HeapTuple	tuple;

		tuple = SearchSysCacheCopyAttNum(RelationGetRelid(from), i);

		/* none for one that has been dropped */
		if (HeapTupleIsValid(tuple) &&
			ingest_statistics_target_is_set(tuple, RelationGetDescr(catalog)))
			copy_statistics_target(catalog, tuple, to, i);
	}
	table_close(catalog, NoLock);
	CommandCounterIncrement();
}

/* Make the counterpart of an index. */
static IngestStagingIndex *
create_index(Relation staging, Relation index)
{
	IngestStagingIndex *result = palloc(sizeof(IngestStagingIndex));

	result->index = RelationGetRelid(index);
	result->name = pstrdup(RelationGetRelationName(index));
	result->staging_name = psprintf("pg_temp_%u_%u", result->index,
									GetCurrentTransactionId());
	result->staging =
		index_create_copyCompat(staging, result->index,
								index->rd_rel->reltablespace,
								result->staging_name);
	CommandCounterIncrement();
	index_set_state_flags(result->staging, INDEX_CREATE_SET_READY);
	return result;
}

/* Can duplicates be found in an index before its rows are the table's? */
static bool
finds_duplicates(Relation index)
{
	return index->rd_index->indisunique && index->rd_index->indimmediate &&
		index->rd_rel->relam == BTREE_AM_OID;
}

/*
 * Make the counterparts of a table's indexes: of all that there can be if they
 * are to replace the table's, or else of those in which duplicates are found.
 */
static void
create_indexes(IngestStaging *staging, Relation rel, bool replaces)
{
	Relation	staging_rel = table_open(staging->staging, NoLock);
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);

		if (index->rd_index->indisready && !index->rd_index->indisexclusion &&
			(replaces || finds_duplicates(index)))
			staging->indexes = lappend(staging->indexes,
									   create_index(staging_rel, index));
		else if (index->rd_index->indisready)
			staging->rebuilt = lappend_oid(staging->rebuilt,
										   RelationGetRelid(index));
		index_close(index, NoLock);
	}
	table_close(staging_rel, NoLock);
}

/* A table's TOAST table, if it has one. */
static Oid
get_toast_table(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			toastid = rel->rd_rel->reltoastrelid;

	table_close(rel, NoLock);
	return toastid;
}

Oid
ingest_staging_toast(const IngestStaging *staging)
{
	return get_toast_table(staging->staging);
}

/* A relation's storage parameters. */
static Datum
get_reloptions(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		isnull;
	Datum		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	result = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
		result = PointerGetDatum(PG_DETOAST_DATUM_COPY(result));
	ReleaseSysCache(tuple);
	return isnull ? (Datum) 0 : result;
}

/*
 * A table like another one but for its constraints and indexes, as
 * make_new_heap() makes it, with a name that no other transaction wants.
 */
static Oid
create_heap(Relation rel, const char *name, char persistence)
{
	Oid			toastid = rel->rd_rel->reltoastrelid;
	Oid			result;

	result = heap_create_with_catalog(name, RelationGetNamespace(rel),
									  rel->rd_rel->reltablespace, InvalidOid,
									  InvalidOid, InvalidOid,
									  rel->rd_rel->relowner,
									  rel->rd_rel->relam,
									  RelationGetDescr(rel), NIL,
									  RELKIND_RELATION, persistence, false,
									  false, ONCOMMIT_NOOP,
									  get_reloptions(RelationGetRelid(rel)),
									  false, true, true, RelationGetRelid(rel),
									  NULL);
	CommandCounterIncrement();
	if (OidIsValid(toastid))
		NewHeapCreateToastTable(result, get_reloptions(toastid), NoLock,
								toastid);
	return result;
}

IngestStaging *
ingest_staging_create(Oid relid, bool replaces)
{
	IngestStaging *staging = palloc0(sizeof(IngestStaging));
	Relation	rel = table_open(relid, NoLock);
	char		persistence = rel->rd_rel->relpersistence;

	/* VACUUM may lock a TOAST table alone, for a long time */
	if (replaces && OidIsValid(rel->rd_rel->reltoastrelid))
		LockRelationOid(rel->rd_rel->reltoastrelid, ShareUpdateExclusiveLock);
	if (!replaces && persistence == RELPERSISTENCE_PERMANENT)
		persistence = RELPERSISTENCE_UNLOGGED;
	staging->relid = relid;
	staging->name = pstrdup(RelationGetRelationName(rel));
	staging->staging_name = psprintf("pg_temp_%u_%u", relid,
									 GetCurrentTransactionId());
	staging->staging = create_heap(rel, staging->staging_name, persistence);
	if (replaces)
		copy_statistics_targets(rel, staging->staging);
	create_indexes(staging, rel, replaces);
	table_close(rel, NoLock);
	return staging;
}

bool
ingest_staging_may_freeze(void)
{
	/* it would count as a registered one */
	InvalidateCatalogSnapshot();
	return INGEST_FREEZES_STAGED && ThereAreNoPriorRegisteredSnapshots() &&
		ThereAreNoReadyPortals();
}

/* ------------------------------------------------------------------------
 * Indexes
 * ------------------------------------------------------------------------
 */

static bool
is_empty(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		result = RelationGetNumberOfBlocks(rel) == 0;

	table_close(rel, NoLock);
	return result;
}

void
ingest_staging_build_toast(const IngestStaging *staging, IngestMeter *meter)
{
	Oid			toastid = ingest_staging_toast(staging);
	ReindexParams params = {0};
	Oid			index;

	if (!OidIsValid(toastid))
		return;
	LockRelationOid(toastid, AccessExclusiveLock);
	if (is_empty(toastid))
		return;
	index = toast_get_valid_index(toastid, AccessExclusiveLock);
	ingest_meter_enter(meter);
	reindex_relationCompat(toastid, 0, &params);
	ingest_meter_leave(meter, index);
}

/* Build an index, unless the rows that were loaded have had it built. */
static void
complete_index(const IngestStagingIndex *index, IngestMeter *meter)
{
	Relation	rel = index_open(index->staging, AccessExclusiveLock);
	char		persistence = rel->rd_rel->relpersistence;
	bool		built = RelationGetNumberOfBlocks(rel) > 0;

	index_close(rel, NoLock);
	if (built)
		return;
	ingest_meter_enter(meter);
	ingest_index_build_from_table(index->staging, index->name, persistence);
	ingest_meter_leave(meter, index->staging);
}

void
ingest_staging_complete_indexes(const IngestStaging *staging,
								IngestMeter *meter)
{
	ListCell   *lc;

	foreach(lc, staging->indexes)
		complete_index(lfirst(lc), meter);
}

/* ------------------------------------------------------------------------
 * Statistics
 * ------------------------------------------------------------------------
 */

static void
analyze_table(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *namespace = get_namespace_name(get_rel_namespace(relid));
	char	   *sql = psprintf("ANALYZE %s",
							   quote_qualified_identifier(namespace, name));

	SPI_connect();
	if (SPI_execute(sql, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not analyze relation %u", relid);
	SPI_finish();
}

/*
 * Has a statistics target been set for an expression of an index?  A copy does
 * not get it until 16, and what is known of an index that is new in the
 * transaction is not read again when it is set (RelationReloadIndexInfo()).
 */
static bool
has_index_target(Oid indexid)
{
	Relation	catalog = table_open(AttributeRelationId, AccessShareLock);
	Relation	index = index_open(indexid, AccessShareLock);
	bool		result = false;

	for (AttrNumber i = 1; i <= RelationGetNumberOfAttributes(index); i++)
	{
		HeapTuple	tuple = SearchSysCacheCopyAttNum(indexid, i);

		result |= ingest_statistics_target_is_set(tuple,
												  RelationGetDescr(catalog));
		heap_freetuple(tuple);
	}
	index_close(index, AccessShareLock);
	table_close(catalog, AccessShareLock);
	return result;
}

static bool
has_index_targets(Relation rel)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		if (has_index_target(lfirst_oid(lc)))
			return true;
	}
	return false;
}

/* Has a number of distinct values been set for a column? */
static bool
has_distinct_options(Relation rel)
{
	for (AttrNumber i = 1; i <= RelationGetNumberOfAttributes(rel); i++)
	{
		AttributeOpts *options;

		options = get_attribute_options(RelationGetRelid(rel), i);

		if (options != NULL &&
			(options->n_distinct != 0 || options->n_distinct_inherited != 0))
			return true;
	}
	return false;
}

/* Are the table's statistics those its staging table can have? */
static bool
has_plain_statistics(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		result = RelationGetStatExtList(rel) == NIL &&
		!rel->rd_rel->relhassubclass && !has_distinct_options(rel) &&
		!has_index_targets(rel) &&
		object_ownercheck(RelationRelationId, relid, GetUserId());

	table_close(rel, NoLock);
	return result;
}

void
ingest_staging_analyze(IngestStaging *staging)
{
	if (!staging->analyzed && has_plain_statistics(staging->relid))
	{
		analyze_table(staging->staging);
		staging->analyzed = true;
	}
}

void
ingest_staging_analyze_table(const IngestStaging *staging)
{
	if (!staging->analyzed)
		analyze_table(staging->relid);
}

/* The statistics of a relation, or of an index's expressions, are another's. */
static void
hand_over_statistics(Oid from, Oid to)
{
	RemoveStatistics(to, 0);
	CopyStatistics(from, to);
}

/* ------------------------------------------------------------------------
 * Publishing
 * ------------------------------------------------------------------------
 */

/*
 * The staging table has an index for each of the table's that is used.  Others
 * could not make one; what this session runs, triggers say, could.
 */
static void
check_indexes(const IngestStaging *staging, Relation rel)
{
	List	   *known = list_copy(staging->rebuilt);
	ListCell   *lc;

	foreach(lc, staging->indexes)
		known = lappend_oid(known, ((IngestStagingIndex *) lfirst(lc))->index);
	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisready &&
			!list_member_oid(known, lfirst_oid(lc)))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" has changed since the load began",
							RelationGetRelationName(rel)),
					 errdetail("Index \"%s\" is new.",
							   RelationGetRelationName(index))));
		index_close(index, NoLock);
	}
	list_free(known);
}

/*
 * Nobody else uses the table from here on.  Returns the OID of its TOAST
 * table, which is locked as well.
 */
static Oid
shut_out_others(const IngestStaging *staging)
{
	Relation	rel = table_open(staging->relid, AccessExclusiveLock);
	Oid			toastid = rel->rd_rel->reltoastrelid;

	check_indexes(staging, rel);
	CheckTableForSerializableConflictIn(rel);
	TransferPredicateLocksToHeapRelation(rel);
	pgstat_count_truncate(rel);
	table_close(rel, NoLock);
	if (OidIsValid(toastid))
		LockRelationOid(toastid, AccessExclusiveLock);
	return toastid;
}

static void
swap_index(const IngestStaging *staging, const IngestStagingIndex *index,
		   IngestMeter *meter)
{
	Relation	rel = index_open(index->index, AccessExclusiveLock);

	TransferPredicateLocksToHeapRelation(rel);
	index_close(rel, NoLock);
	ingest_exchange_storage(index->index, index->staging);
	if (staging->analyzed)
		hand_over_statistics(index->staging, index->index);
	ingest_meter_move(meter, index->staging, index->index, index->index);
}

/*
 * What the TOAST tables have cost goes to the one the table has now.
 */
static void
move_toast_figures(IngestMeter *meter, Oid from, Oid to, bool swapped)
{
	Oid			from_index;
	Oid			to_index;

	if (!OidIsValid(from) || !OidIsValid(to))
		return;
	from_index = toast_get_valid_index(from, RowExclusiveLock);
	to_index = toast_get_valid_index(to, RowExclusiveLock);
	ingest_meter_move(meter, from, to, swapped ? from : to);
	ingest_meter_move(meter, from_index, to_index,
					  swapped ? from_index : to_index);
}

static void
drop_table(Oid relid)
{
	ObjectAddress object;

	ObjectAddressSet(object, RelationRelationId, relid);
	performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
}

static void
rebuild_index(Oid indexid, IngestMeter *meter)
{
	Relation	index = index_open(indexid, AccessExclusiveLock);
	char		persistence = index->rd_rel->relpersistence;
	char	   *name = pstrdup(RelationGetRelationName(index));

	index_close(index, NoLock);
	ingest_meter_enter(meter);
	ingest_index_build_from_table(indexid, name, persistence);
	ingest_meter_leave(meter, indexid);
}

void
ingest_staging_drop(const IngestStaging *staging, IngestMeter *meter)
{
	ListCell   *lc;

	foreach(lc, staging->indexes)
	{
		IngestStagingIndex *index = lfirst(lc);

		ingest_meter_move(meter, index->staging, index->index, index->index);
	}
	move_toast_figures(meter, ingest_staging_toast(staging),
					   get_toast_table(staging->relid), false);
	ingest_meter_move(meter, staging->staging, staging->relid, staging->relid);
	drop_table(staging->staging);
}

void
ingest_staging_swap(IngestStaging *staging, IngestMeter *meter)
{
	Oid			old_toast = shut_out_others(staging);
	Oid			new_toast = ingest_staging_toast(staging);
	ListCell   *lc;

	ingest_exchange_storage(staging->relid, staging->staging);
	if (staging->analyzed)
		hand_over_statistics(staging->staging, staging->relid);
	foreach(lc, staging->indexes)
		swap_index(staging, lfirst(lc), meter);
	ingest_meter_move(meter, staging->staging, staging->relid, staging->relid);
	CommandCounterIncrement();

	move_toast_figures(meter, new_toast, old_toast, true);
	drop_table(staging->staging);
	ingest_exchange_name_toast(staging->relid);
	CommandCounterIncrement();
	foreach(lc, staging->rebuilt)
		rebuild_index(lfirst_oid(lc), meter);
}

/* ------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------
 */

/* A text with a name in it replaced, or the text. */
static char *
replace_name(char *text, const char *name, const char *new_name)
{
	char	   *place = text ? strstr(text, name) : NULL;

	/* the names of others may begin with it */
	if (place == NULL || isalnum((unsigned char) place[strlen(name)]) ||
		place[strlen(name)] == '_')
		return text;
	return psprintf("%.*s%s%s", (int) (place - text), text, new_name,
					place + strlen(name));
}

static void
replace_names(ErrorData *error, const char *name, const char *new_name)
{
	error->message = replace_name(error->message, name, new_name);
	error->detail = replace_name(error->detail, name, new_name);
	error->hint = replace_name(error->hint, name, new_name);
	error->context = replace_name(error->context, name, new_name);
	error->table_name = replace_name(error->table_name, name, new_name);
	error->constraint_name = replace_name(error->constraint_name, name,
										  new_name);
}

void
ingest_staging_rethrow(List *stagings)
{
	ErrorData  *error = CopyErrorData();
	ListCell   *lc;

	FlushErrorState();
	foreach(lc, stagings)
	{
		IngestStaging *staging = lfirst(lc);
		ListCell   *lc2;

		foreach(lc2, staging->indexes)
		{
			IngestStagingIndex *index = lfirst(lc2);

			replace_names(error, index->staging_name, index->name);
		}
		replace_names(error, staging->staging_name, staging->name);
	}
	ReThrowError(error);
}
