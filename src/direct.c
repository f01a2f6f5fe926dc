/*-------------------------------------------------------------------------
 *
 * direct.c
 *		Strategy "direct": whole pages, by several processes, in the caller's
 *		transaction.
 *
 * The leader decides what may be done (direct_check.c), fixes the transaction
 * id and the command id all rows will carry, and starts workers.  Then it
 * does what they do: take chunks of the file and turn their records into pages
 * (direct_rows.c), and when there are none left, share the work on the
 * indexes (index.c).  Back outside parallel mode it does what only a leader
 * may: the remaining indexes, foreign keys, triggers, statistics.
 *
 * Foreign keys are checked once the rows are all there, by a scan of what has
 * been appended (foreign_key.c).
 *
 * With one process there is no parallel mode at all.
 *
 * Locks: RowExclusiveLock on the target and all of its leaves.
 *
 * IDENTIFICATION
 *		src/direct.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "chunk.h"
#include "compat.h"
#include "direct.h"
#include "foreign_key.h"
#include "index.h"
#include "parallel.h"
#include "progress.h"
#include "route.h"
#include "scan.h"
#include "write.h"

typedef struct DirectLoad
{
	IngestWriteTarget *target;
	Relation	rel;
	List	   *leaves;			/* OIDs, ascending */
	const IngestDirectStager *stager;	/* NULL: rows go to the leaves */
	List	   *stagings;		/* IngestStaging, in the order of the leaves */

	/* the file's records */
	int64		start;
	int64		end;			/* so far, if the file grows */
	bool		grows;
	int64		first_line;
	IngestCsvEol eol;

	IngestRoute *route;			/* for triggers */
	int			nworkers;
	IngestParallel *parallel;	/* NULL without workers */
	IngestDirectShared *shared;
	IngestIndexer *indexer;
} DirectLoad;

extern PGDLLEXPORT void ingest_direct_worker(void *shared, int worker,
											 IngestMeter *meter);

int			ingest_direct_chunk_size = INGEST_CHUNK_SIZE;

/*
 * Chunks of a few bytes put record and quote boundaries everywhere, which is
 * what a test wants.
 */
void
ingest_direct_define_settings(void)
{
	DefineCustomIntVariable("ingest_tools.chunk_size",
							"Sets how much of a file a process takes at once.",
							NULL,
							&ingest_direct_chunk_size,
							INGEST_CHUNK_SIZE, 1, 64 * INGEST_CHUNK_SIZE,
							PGC_USERSET,
							GUC_UNIT_BYTE | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
}

/* ------------------------------------------------------------------------
 * Before
 * ------------------------------------------------------------------------
 */

/*
 * COPY does not know the file's line ends before the end of the first record,
 * and takes them for CRs until then: within quotes there an LF does not count
 * as a line, and a CR does.  By how many lines is COPY behind one who knows
 * that they are LFs?  Negative if it is ahead.  Passes over the record.
 */
static int64
first_record_lag(IngestScan *scan)
{
	int64		line = ingest_scan_line(scan);
	int64		lines = 0;
	IngestScanPiece piece;

	if (!ingest_scan_next(scan, 1, PG_INT64_MAX, &piece))
		return 0;
	for (size_t i = 0; i < piece.len; i++)
		lines += piece.data[i] == '\n';
	return lines - (ingest_scan_line(scan) - line);
}

/*
 * Find where the records are: behind the header, up to the end of the file,
 * and what line ends they have, which the first one shows.
 */
static void
find_records(DirectLoad *load)
{
	const IngestSourceSpec *spec = load->target->spec;
	const IngestOptions *options = load->target->options;
	IngestSourceSpec whole = *spec;
	IngestScan *scan;
	StringInfoData header;
	struct stat st;

	if (spec->feed != NULL)
		load->end = spec->feed->end;
	else if (spec->end >= 0)
		load->end = spec->end;
	else
	{
		if (stat(spec->text, &st) < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not stat file \"%s\": %m", spec->text)));
		load->end = st.st_size;
	}

	/* the first record of the file shows it, header or not */
	whole.start = load->end;
	load->eol = ingest_scan_file_eol(&whole, options);

	initStringInfo(&header);
	scan = ingest_scan_begin(spec, options);
	ingest_parse_pass_header(load->rel, options, spec, scan, &header);
	load->start = ingest_scan_position(scan);
	load->grows = ingest_source_grows(spec);
	load->end = Max(load->end, load->start);
	load->first_line = ingest_scan_line(scan);
	if (load->start == 0 && load->eol == INGEST_CSV_EOL_NL)
		load->first_line -= first_record_lag(scan);
	ingest_scan_finish(scan);
	pfree(header.data);
}

/*
 * Is a column named in a list of names, or are all?
 */
static bool
is_named(Relation rel, int attnum, List *names, bool all)
{
	const char *attname = NameStr(TupleDescAttr(RelationGetDescr(rel),
												attnum - 1)->attname);
	ListCell   *lc;

	foreach(lc, names)
		if (strcmp(strVal(lfirst(lc)), attname) == 0)
			return true;
	return all;
}

/* FORCE_NOT_NULL and FORCE_NULL for one field. */
static uint8
get_field_flags(DirectLoad *load, const CopyFormatOptions *format, int attnum)
{
	uint8		flags = 0;

	if (is_named(load->rel, attnum, format->force_notnull,
				 ingest_copy_force_not_null_all(format)))
		flags |= INGEST_DIRECT_NOT_NULL;
	if (is_named(load->rel, attnum, format->force_null,
				 ingest_copy_force_null_all(format)))
		flags |= INGEST_DIRECT_NULL;
	return flags;
}

static bool
any_leaf_has_indexes(DirectLoad *load)
{
	ListCell   *lc;
	bool		result = false;

	foreach(lc, load->leaves)
	{
		Relation	leaf = table_open(lfirst_oid(lc), NoLock);

		result |= leaf->rd_rel->relhasindex;
		table_close(leaf, NoLock);
	}
	return result;
}

/* Reserve size bytes of what is shared; returns their offset. */
static Size
reserve(Size *total, Size size)
{
	Size		offset = *total;

	*total = add_size(offset, MAXALIGN(size));
	return offset;
}

/*
 * Lay out the shared state, make it and fill it in.  Returns its size.
 */
static Size
make_shared(DirectLoad *load, const CopyFormatOptions *format,
			TransactionId xid, CommandId cid)
{
	List	   *attnums = ingest_parse_attnums(load->target->parser);
	int			nfields = list_length(attnums);
	int			nprocesses = load->nworkers + 1;
	IngestDirectShared layout = {0};
	IngestDirectShared *shared;
	IngestDirectLeafShared *leaf;
	Size		size = 0;
	ListCell   *lc;
	int			nleaves = 0;
	int			i = 0;

	layout.null_print = reserve(&size, strlen(format->null_print) + 1);
	layout.path = reserve(&size, strlen(load->target->spec->text) + 1);
	layout.attnums = reserve(&size, nfields * sizeof(int));
	layout.field_flags = reserve(&size, nfields);
	layout.leaves = reserve(&size, list_length(load->leaves) *
							sizeof(IngestDirectLeafShared));
	layout.queue = reserve(&size, ingest_chunk_queue_size(nprocesses));
	size = add_size(size, offsetof(IngestDirectShared, data));

	if (load->nworkers > 0)
	{
		load->parallel = ingest_parallel_begin(load->nworkers, size);
		shared = ingest_parallel_shared(load->parallel);
	}
	else
		shared = palloc0(size);

	memcpy(shared, &layout, offsetof(IngestDirectShared, records));
	shared->relid = RelationGetRelid(load->rel);
	shared->xid = xid;
	shared->cid = cid;
	shared->has_indexes = load->indexer != NULL;
	shared->staged = load->stager != NULL;
	shared->frozen = shared->staged && load->stager->may_freeze();
	if (load->indexer != NULL)
		shared->indexer = ingest_index_handle(load->indexer);
	shared->delim = format->delim[0];
	shared->quote = format->quote[0];
	shared->escape = format->escape[0];
	strcpy(INGEST_DIRECT_AT(shared, char, shared->null_print),
		   format->null_print);
	strcpy(INGEST_DIRECT_AT(shared, char, shared->path),
		   load->target->spec->text);
	shared->source_start = load->target->spec->start;
	pg_atomic_init_u64(&shared->records, 0);
	pg_atomic_init_u64(&shared->rows, 0);

	shared->nattnums = nfields;
	foreach(lc, attnums)
	{
		INGEST_DIRECT_AT(shared, int, shared->attnums)[i] = lfirst_int(lc);
		INGEST_DIRECT_AT(shared, uint8, shared->field_flags)[i++] =
			get_field_flags(load, format, lfirst_int(lc));
	}

	shared->nleaves = list_length(load->leaves);
	leaf = INGEST_DIRECT_AT(shared, IngestDirectLeafShared, shared->leaves);
	foreach(lc, load->leaves)
	{
		Relation	rel;

		leaf->relid = lfirst_oid(lc);
		if (load->stager != NULL)
		{
			IngestStaging *staging = list_nth(load->stagings, nleaves);

			leaf->staging = staging->staging;
		}
		rel = table_open(load->stager ? leaf->staging : leaf->relid, NoLock);
		leaf->first_block = RelationGetNumberOfBlocks(rel);
		if (load->indexer != NULL)
			ingest_index_announce(load->indexer, nleaves, rel);
		pg_atomic_init_u64(&leaf->rows, 0);
		pg_atomic_init_u64(&leaf->toast_rows, 0);
		table_close(rel, NoLock);
		leaf++;
		nleaves++;
	}

	ingest_chunk_queue_init(INGEST_DIRECT_AT(shared, IngestChunkQueue,
											 shared->queue),
							format, load->eol, load->start, load->end,
							load->grows, load->first_line, ingest_direct_chunk_size,
							nprocesses);
	load->shared = shared;
	return size;
}

/* ------------------------------------------------------------------------
 * Together
 * ------------------------------------------------------------------------
 */

/*
 * What every process does.
 */
static void
run_part(IngestDirectPart *part, IngestIndexer *indexer, IngestMeter *meter)
{
	ingest_direct_part_run(part);
	if (indexer != NULL)
	{
		ingest_meter_phase(meter, INGEST_PHASE_INDEX);
		ingest_index_apply(indexer);
		ingest_meter_phase(meter, INGEST_PHASE_WRITE);
	}
}

/* Have the meter watch the staging tables. */
static void
watch_stagings(IngestDirectShared *shared, IngestMeter *meter)
{
	IngestDirectLeafShared *leaves =
		INGEST_DIRECT_AT(shared, IngestDirectLeafShared, shared->leaves);

	for (int i = 0; shared->staged && i < shared->nleaves; i++)
	{
		Relation	rel = table_open(leaves[i].staging, RowExclusiveLock);

		ingest_meter_watch(meter, rel);
		table_close(rel, NoLock);
	}
}

/*
 * A worker's life (an IngestParallelEntry).
 */
void
ingest_direct_worker(void *arg, int worker, IngestMeter *meter)
{
	IngestDirectShared *shared = arg;
	Relation	rel = table_open(shared->relid, RowExclusiveLock);
	IngestIndexer *indexer = NULL;
	IngestDirectPart *part;

	ingest_meter_watch(meter, rel);
	watch_stagings(shared, meter);
	if (shared->has_indexes)
	{
		indexer = ingest_index_attach(shared->indexer);
		ingest_index_set_meter(indexer, meter);
	}
	part = ingest_direct_part_begin(shared, worker, rel, indexer, meter);
	run_part(part, indexer, meter);
	ingest_direct_part_count(part);
	ingest_direct_part_end(part);
	if (indexer != NULL)
		ingest_index_end(indexer);
	table_close(rel, NoLock);
}

/* ------------------------------------------------------------------------
 * After
 * ------------------------------------------------------------------------
 */

/*
 * Foreign keys of the rows this load has put into a leaf.
 */
static void
check_foreign_keys(DirectLoad *load, const IngestDirectLeafShared *leaf)
{
	EState	   *estate = ingest_route_estate(load->route);
	IngestNewRows rows;

	rows.xid = load->shared->xid;
	rows.cid = load->shared->cid;
	rows.first_block = leaf->first_block;
	ingest_foreign_key_check(estate,
							 ExecGetTriggerResultRel(estate, leaf->relid,
													 ingest_route_target(load->route)),
							 &rows);
}

/*
 * Account for the rows of each leaf: triggers, statistics, serializability.
 */
static void
finish_leaves(DirectLoad *load)
{
	IngestDirectLeafShared *leaves =
		INGEST_DIRECT_AT(load->shared, IngestDirectLeafShared,
						 load->shared->leaves);

	for (int i = 0; i < load->shared->nleaves; i++)
	{
		IngestDirectLeafShared *leaf = &leaves[i];
		int64		rows = pg_atomic_read_u64(&leaf->rows);
		int64		toast_rows = pg_atomic_read_u64(&leaf->toast_rows);
		Relation	rel;

		if (rows == 0)
			continue;
		rel = table_open(leaf->relid, NoLock);
		pgstat_count_heap_insert(rel, rows);
		if (toast_rows > 0)
		{
			Relation	toastrel = table_open(rel->rd_rel->reltoastrelid,
											  RowExclusiveLock);

			pgstat_count_heap_insert(toastrel, toast_rows);
			table_close(toastrel, NoLock);
		}

		/* makes this process one that has written, whoever did */
		CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);

		if (rel->trigdesc != NULL && rel->trigdesc->trig_insert_after_row)
			check_foreign_keys(load, leaf);
		table_close(rel, NoLock);
	}
}

/*
 * Processes for the load: as many as asked for, but not more than chunks, and
 * one only if there is a reason.
 */
static int
choose_workers(DirectLoad *load)
{
	int64		nchunks = (load->end - load->start +
						   ingest_direct_chunk_size - 1) /
		ingest_direct_chunk_size;
	int			nworkers = load->target->options->workers - 1;
	const char *reason;

	if (!load->grows)
		nworkers = (int) Min((int64) nworkers, nchunks - 1);
	if (nworkers <= 0)
		return 0;
	reason = ingest_direct_serial(load->target, load->rel);
	if (reason == NULL)
		return nworkers;
	load->target->reason = reason;
	return 0;
}

static void
begin_indexes(DirectLoad *load)
{
	IngestIndexOptions options = {0};

	if (!any_leaf_has_indexes(load))
		return;
	options.nleaves = list_length(load->leaves);
	options.nprocesses = load->nworkers + 1;
	options.mode = load->target->options->index_mode;
	options.staged = load->stager != NULL;
	load->indexer = ingest_index_begin(&options);
	ingest_index_set_meter(load->indexer, load->target->meter);
}

/*
 * Pages and indexes, by all processes.  Afterwards load->shared is a private
 * copy, and parallel mode, if there was any, is over.
 */
static void
load_pages(DirectLoad *load, const CopyFormatOptions *format,
		   TransactionId xid, CommandId cid)
{
	IngestWriteTarget *target = load->target;
	IngestDirectPart *part;
	Size		size;

	begin_indexes(load);
	size = make_shared(load, format, xid, cid);
	watch_stagings(load->shared, target->meter);
	part = ingest_direct_part_begin(load->shared, 0, load->rel, load->indexer,
									target->meter);
	target->workers_used = 1;
	if (load->parallel != NULL)
		target->workers_used += ingest_parallel_launch(load->parallel,
													   "ingest_direct_worker");
	ingest_direct_part_feed(part, target->spec->feed,
							target->workers_used > 1);
	run_part(part, load->indexer, target->meter);
	ingest_direct_part_count(part);
	ingest_direct_part_end(part);

	if (load->parallel != NULL)
	{
		IngestDirectShared *copy = palloc(size);

		ingest_parallel_wait(load->parallel);
		memcpy(copy, load->shared, size);
		load->shared = copy;
		ingest_parallel_finish(load->parallel, target->meter);
	}
}

/*
 * Make the staging tables, for commands to come to see.
 */
static void
begin_staging(DirectLoad *load)
{
	ListCell   *lc;

	if (load->stager == NULL)
		return;
	foreach(lc, load->leaves)
	{
		bool		is_target = lfirst_oid(lc) == RelationGetRelid(load->rel);

		load->stagings = lappend(load->stagings,
								 load->stager->begin(lfirst_oid(lc),
													 is_target));
	}
	CommandCounterIncrement();
}

/*
 * The staging tables' rows become the leaves'.
 */
static void
publish(DirectLoad *load, EState *estate)
{
	if (load->stager == NULL)
		return;
	load->stager->publish(load->target, load->stagings, load->shared, estate);
	CommandCounterIncrement();

	/* index builds report as if they were CREATE INDEX */
	ingest_progress_total(ingest_source_bytes_total(load->target->source));
}

/*
 * The load, from the first trigger to the last.
 */
static void
load_all(DirectLoad *load)
{
	IngestWriteTarget *target = load->target;
	CopyFormatOptions *format = ingest_source_format(target->spec,
													 target->options);
	TransactionId xid = GetCurrentTransactionId();
	CommandId	cid;
	EState	   *estate;

	begin_staging(load);
	cid = GetCurrentCommandId(true);
	find_records(load);
	load->nworkers = choose_workers(load);
	load->route = ingest_route_begin(load->rel,
									 ingest_parse_attnums(target->parser),
									 false);
	estate = ingest_route_estate(load->route);

	AfterTriggerBeginQuery();
	ExecBSInsertTriggers(estate, ingest_route_target(load->route));

	load_pages(load, format, xid, cid);

	ingest_meter_phase(target->meter, INGEST_PHASE_INDEX);
	if (load->stager != NULL)
		load->stager->filled(target, load->stagings);
	if (load->indexer != NULL)
	{
		ingest_index_apply_serial(load->indexer, estate);
		ingest_index_end(load->indexer);
	}
	publish(load, estate);
	ingest_meter_phase(target->meter, INGEST_PHASE_TRIGGER);
	finish_leaves(load);
	ExecASInsertTriggers(estate, ingest_route_target(load->route), NULL);
	AfterTriggerEndQuery(estate);
	ingest_route_finish(load->route);

	target->rows_loaded += pg_atomic_read_u64(&load->shared->rows);
	target->rows_read = target->rows_loaded;
	if (load->grows)
		load->end = target->spec->feed->end;
	ingest_source_read_elsewhere(target->source,
								 load->end - target->spec->start);
}

/* ------------------------------------------------------------------------
 * The writer
 * ------------------------------------------------------------------------
 */

void *
ingest_direct_begin(IngestWriteTarget *target,
					const IngestDirectStager *stager)
{
	DirectLoad *load = palloc0(sizeof(DirectLoad));

	load->target = target;
	load->stager = stager;
	load->rel = table_open(target->relid, RowExclusiveLock);
	load->leaves = ingest_direct_leaves(load->rel);
	return load;
}

/*
 * All at once, whatever the number of rows asked for: the rows of a batch
 * could not be made visible anyway before the load ends.
 */
void
ingest_direct_write(IngestWriteTarget *target, void *state,
					int64 max_rows pg_attribute_unused())
{
	DirectLoad *load = state;

	load_all(load);
	target->at_end = true;
}

void
ingest_direct_finish(IngestWriteTarget *target pg_attribute_unused(),
					 void *state)
{
	DirectLoad *load = state;

	table_close(load->rel, NoLock);
}

List *
ingest_direct_load_stagings(const void *state)
{
	return ((const DirectLoad *) state)->stagings;
}

static void *
direct_begin(IngestWriteTarget *target)
{
	return ingest_direct_begin(target, NULL);
}

const IngestWriter ingest_writer_direct = {
	.name = "direct",
	.needs_parser = true,
	.unusable = ingest_direct_unusable,
	.begin = direct_begin,
	.write = ingest_direct_write,
	.finish = ingest_direct_finish,
};
