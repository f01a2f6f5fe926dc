/*-------------------------------------------------------------------------
 *
 * index_rebuild.c
 *		Fill an index by the server's own build.
 *
 * A build writes an index from its first page on, which costs less than any
 * way of inserting, but it replaces what was there and therefore takes an
 * AccessExclusiveLock on the index: who plans a query on the table waits
 * until the transaction ends.  The table is locked against VACUUM and others
 * who change its pg_class row.  It is what REINDEX does, so it is done for the
 * table's owner only.
 *
 * Two ways.  A B-tree without a single entry is built from the keys that the
 * load has collected: while index_build() runs, the table's access method is
 * one whose scan hands these out, so that the table is not read again.
 * Nothing else can be missing from it: whoever has put rows into the table
 * held a lock on the index until its entries were there.  Should the relation
 * cache rebuild the table's entry meanwhile, the access method is the old one
 * again and the build scans the table, which is right as well.
 *
 * Any other index is built by reindex_index(), with a scan of the table and
 * ShareLock on it.  That also sees to what old rows bring along: dead rows
 * whose entries are left, HOT chains, and the checks of indcheckxmin.
 *
 * A build has an error of its own for duplicate keys.  It is turned into the
 * one that insertion raises.
 *
 * Only outside parallel mode.
 *
 * IDENTIFICATION
 *		src/index_rebuild.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/relcache.h"

#include "compat.h"
#include "index_insert.h"

/* What the borrowed scan hands out; there is one build at a time. */
static IngestKeyStream *feed_stream;

/*
 * May the index be built anew?  The answer is the same in every process; that
 * no one in this session uses the index is only known in the end.
 */
IngestIndexReason
ingest_index_rebuild_reason(Relation heap, Relation index)
{
	if (!object_ownercheck(RelationRelationId, RelationGetRelid(heap),
						   GetUserId()))
		return INGEST_INDEX_REASON_OWNER;
	if (!index->rd_index->indisvalid)
		return INGEST_INDEX_REASON_INVALID;
	return INGEST_INDEX_REASON_NONE;
}

/* A table_index_build_range_scan() that hands out the collected keys. */
static double
feed_scan(Relation heap pg_attribute_unused(), Relation index,
		  IndexInfo *info pg_attribute_unused(),
		  bool allow_sync pg_attribute_unused(),
		  bool anyvisible pg_attribute_unused(),
		  bool progress pg_attribute_unused(),
		  BlockNumber start_blockno pg_attribute_unused(),
		  BlockNumber numblocks pg_attribute_unused(),
		  IndexBuildCallback callback, void *state,
		  TableScanDesc scan pg_attribute_unused())
{
	IndexTuple	tuple;

	while ((tuple = ingest_key_stream_next(feed_stream)) != NULL)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		index_deform_tuple(tuple, RelationGetDescr(index), values, isnull);
		callback(index, &tuple->t_tid, values, isnull, true, state);
	}

	/* How many rows the table has is not known here. */
	return -1;
}

/* Has the B-tree nothing but its metapage, or, never built, not even that? */
bool
ingest_index_is_bare(Relation index)
{
	return index->rd_rel->relam == BTREE_AM_OID &&
		RelationGetNumberOfBlocks(index) <= 1;
}

/*
 * The text of a message of the server's with its %s replaced by what another
 * message has in that place; NULL if text is not one made from format.
 */
static char *
transplant(const char *text, const char *format, const char *new_format)
{
	const char *mark = strstr(format, "%s");
	size_t		before = mark - format;
	size_t		after = strlen(mark + 2);
	size_t		len = strlen(text);

	if (len < before + after || strncmp(text, format, before) != 0 ||
		strcmp(text + len - after, mark + 2) != 0)
		return NULL;
	return psprintf(new_format, pnstrdup(text + before, len - before - after));
}

/*
 * Throw the error in hand again, but a build's unique violation as the one of
 * an insertion.  The strings are the server's, and so are their translations.
 */
static void
rethrow(const char *indexname)
{
	ErrorData  *edata;

	edata = CopyErrorData();
	FlushErrorState();
	if (edata->sqlerrcode == ERRCODE_UNIQUE_VIOLATION)
	{
		const char *format = dgettext(PG_TEXTDOMAIN("postgres"),
									  "duplicate key value violates unique constraint \"%s\"");
		char	   *detail = NULL;

		if (edata->detail)
			detail = transplant(edata->detail,
								dgettext(PG_TEXTDOMAIN("postgres"),
										 "Key %s is duplicated."),
								dgettext(PG_TEXTDOMAIN("postgres"),
										 "Key %s already exists."));
		edata->message = psprintf(format, indexname);
		edata->detail = detail;
	}
	ReThrowError(edata);
}

/*
 * Build the bare B-tree, locked with AccessExclusiveLock, from the keys of the
 * stream.  memory is what the build may use, in bytes.
 */
void
ingest_index_build_from_keys(IngestIndexTarget *target,
							 IngestKeyStream *stream, Size memory)
{
	Relation	heap = target->heap;
	Relation	index = target->index;
	const TableAmRoutine *saved = heap->rd_tableam;
	TableAmRoutine feeding = *saved;
	MemoryContext context = CurrentMemoryContext;
	int			nestlevel = NewGUCNestLevel();
	char		kilobytes[32];

	feeding.index_build_range_scan = feed_scan;
	snprintf(kilobytes, sizeof(kilobytes), "%zu", Max(memory / 1024, 1024));
	(void) set_config_option("maintenance_work_mem", kilobytes, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);

	TransferPredicateLocksToHeapRelation(index);
	RelationSetNewRelfilenumber(index, index->rd_rel->relpersistence);

	feed_stream = stream;
	heap->rd_tableam = &feeding;
	PG_TRY();
	{
		index_buildCompat(heap, index, target->info, true, false, true);
	}
	PG_CATCH();
	{
		heap->rd_tableam = saved;
		feed_stream = NULL;
		MemoryContextSwitchTo(context);
		rethrow(RelationGetRelationName(index));
	}
	PG_END_TRY();
	heap->rd_tableam = saved;
	feed_stream = NULL;
	AtEOXact_GUC(false, nestlevel);
}

/*
 * Build the index by a scan of its table.  The caller has it locked with
 * AccessExclusiveLock and closed.
 */
void
ingest_index_build_from_table(Oid indexid, const char *indexname,
							  char persistence)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		ReindexParams params = {0};

		reindex_indexCompat(indexid, false, persistence, &params);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		rethrow(indexname);
	}
	PG_END_TRY();
}
