/*-------------------------------------------------------------------------
 *
 * write_copy.c
 *		Writer that lets the server's own COPY do it.
 *
 * Of a whole file COPY gets the name and reads it by itself, as it does when
 * it is told to by SQL.  In all other cases (a part of a file, a spool, a
 * query, or commits on the way) it gets the bytes through its callback for
 * logical replication's table synchronization.  That callback has no
 * argument; what it reads from is in a static variable while COPY runs, and
 * is put back when COPY is entered again from within (a trigger that loads).
 *
 * To end a transaction after so many rows, the bytes are handed over up to
 * the end of that many records.  COPY's own line counter (copyfrom_internal.h)
 * is set to where the bytes begin, so that its errors name the line of the
 * source and not of the part.
 *
 * IDENTIFICATION
 *		src/write_copy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "mb/pg_wchar.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "csv.h"
#include "progress.h"
#include "route.h"
#include "write.h"

#define READ_SIZE	65536

/*
 * Bytes on their way to COPY; in target.context, for what is left in the
 * buffer at a commit is the next transaction's.
 */
typedef struct CopyFeed
{
	IngestSource *source;
	IngestCsv  *csv;			/* finds record ends; NULL: no need to */
	char	   *buf;
	size_t		size;
	size_t		start;			/* first byte not handed over */
	size_t		end;			/* end of the bytes read */
	bool		eof;			/* the source has no more */
	bool		begun;			/* the header has been met */
	bool		ended;			/* no records follow, though bytes may */
	uint64		line;			/* lines that COPY has read */

	int64		records_left;	/* to hand over to this COPY; -1: all */
	size_t		ready;			/* bytes from start that may be handed over */
} CopyFeed;

/* One transaction's part. */
typedef struct CopyWriteState
{
	Relation	rel;
	CopyFeed   *feed;			/* NULL: COPY reads the file by itself */
} CopyWriteState;

/* What the callback of the COPY that runs now reads from. */
static CopyFeed *current_feed = NULL;

/*
 * Read on; what is left goes to the front of the buffer.
 */
static void
feed_fill(CopyFeed *feed)
{
	size_t		len = feed->end - feed->start;

	memmove(feed->buf, feed->buf + feed->start, len);
	feed->start = 0;
	feed->end = len;
	if (feed->size - len < READ_SIZE)
	{
		feed->size *= 2;
		feed->buf = repalloc_huge(feed->buf, feed->size);
	}
	len = ingest_source_read(feed->source, feed->buf + feed->end,
							 feed->size - feed->end);
	feed->end += len;
	feed->eof = len == 0;
}

/*
 * Make bytes ready to be handed over; returns false if there are no more, or
 * no more for this COPY.
 */
static bool
feed_more(CopyFeed *feed)
{
	for (;;)
	{
		size_t		len = feed->end - feed->start;

		if (feed->records_left == 0)
			return false;
		if (len > 0 && feed->csv == NULL)
			feed->ready = len;
		else if (len > 0)
		{
			int64		records = 0;
			int64		lines = 0;
			IngestCsvStatus status;

			status = ingest_csv_skip(feed->csv, feed->buf + feed->start, len,
									 feed->eof, feed->records_left, len,
									 &feed->ready, &records, &lines);
			feed->records_left -= records;

			/*
			 * What is wrong with the rest COPY says itself, and it knows an
			 * end-of-data marker.
			 */
			if (feed->ready == 0 && (status != INGEST_CSV_MORE || feed->eof))
			{
				feed->ready = len;
				feed->records_left = 0;
				feed->ended = true;
			}
		}
		if (feed->ready > 0)
			return true;
		if (feed->eof)
			return false;
		feed_fill(feed);
	}
}

/*
 * The callback: at least minread bytes, fewer only at the end.
 */
static int
feed_read(void *outbuf, int minread, int maxread)
{
	CopyFeed   *feed = current_feed;
	int			n = 0;

	while (n < Max(minread, 1))
	{
		size_t		len;

		if (feed->ready == 0 && !feed_more(feed))
			break;
		len = Min(feed->ready, (size_t) (maxread - n));
		memcpy((char *) outbuf + n, feed->buf + feed->start, len);
		feed->start += len;
		feed->ready -= len;
		n += len;
	}
	return n;
}

/*
 * Set up what outlives the transaction.  The bytes are counted into records
 * only if commits depend on it.
 */
static CopyFeed *
begin_feed(IngestWriteTarget *target)
{
	const CopyFormatOptions *format = &target->options->copy;
	MemoryContext old = MemoryContextSwitchTo(target->context);
	CopyFeed   *feed = palloc0_object(CopyFeed);

	feed->source = ingest_source_begin(target->spec, target->options);
	feed->size = 2 * READ_SIZE;
	feed->buf = palloc(feed->size);
	feed->records_left = -1;
	feed->line = target->spec->first_line > 0 ? target->spec->first_line - 1 : 0;

	if (target->options->commit_rows > 0)
	{
		int			encoding = format->file_encoding >= 0 ?
			format->file_encoding : pg_get_client_encoding();

		if (!ingest_copy_is_csv(format) || PG_ENCODING_IS_CLIENT_ONLY(encoding))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("strategy copy can commit on the way only while it loads CSV in an encoding that a server may have")));
		feed->csv = ingest_csv_begin(format, 0);
	}
	MemoryContextSwitchTo(old);
	return feed;
}

/*
 * Does COPY read the file itself?
 */
static bool
copy_reads_file(const IngestWriteTarget *target)
{
	const IngestSourceSpec *spec = target->spec;

	return target->options->commit_rows <= 0 &&
		spec->start == 0 && spec->end < 0 &&
		(spec->kind == INGEST_SOURCE_FILE || spec->kind == INGEST_SOURCE_PROGRAM);
}

/*
 * Has the table BEFORE ROW triggers for INSERT?  The catalog is asked, without
 * a lock on the table.
 */
static bool
has_before_triggers(Relation pg_trigger, Oid relid)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_trigger, TriggerRelidNameIndexId, true, NULL,
							  1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		int16		type = ((Form_pg_trigger) GETSTRUCT(tuple))->tgtype;

		found = TRIGGER_TYPE_MATCHES(type, TRIGGER_TYPE_ROW,
									 TRIGGER_TYPE_BEFORE, TRIGGER_TYPE_INSERT);
	}
	systable_endscan(scan);
	return found;
}

/*
 * Can rows be taken and not loaded, without COPY counting them?
 */
static bool
may_drop_rows(Relation rel)
{
	Relation	pg_trigger = table_open(TriggerRelationId, AccessShareLock);
	List	   *relids;
	ListCell   *lc;
	bool		found = false;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(RelationGetRelid(rel), NoLock, NULL);
	else
		relids = list_make1_oid(RelationGetRelid(rel));
	foreach(lc, relids)
	{
		found = has_before_triggers(pg_trigger, lfirst_oid(lc));
		if (found)
			break;
	}
	table_close(pg_trigger, AccessShareLock);
	return found;
}

static void *
copy_begin(IngestWriteTarget *target)
{
	CopyWriteState *state = palloc0_object(CopyWriteState);

	state->rel = table_open(target->relid, RowExclusiveLock);
	if (!copy_reads_file(target))
	{
		if (target->writer_private == NULL)
			target->writer_private = begin_feed(target);
		state->feed = (CopyFeed *) target->writer_private;
	}
	if (!target->begun)
		target->rows_read_unknown = may_drop_rows(state->rel) ||
			ingest_copy_ignores_errors(&target->options->copy);
	target->begun = true;
	return state;
}

/*
 * COPY from the feed, up to max_rows records.  Of several COPYs from one
 * source only the first meets the header.
 */
static uint64
copy_from_feed(IngestWriteTarget *target, CopyWriteState *state,
			   ParseState *pstate, int64 max_rows)
{
	CopyFeed   *feed = state->feed;
	CopyFeed   *save_feed = current_feed;
	IngestOptions options = *target->options;
	CopyFromState cstate;
	uint64		processed;

	feed->records_left = feed->csv && max_rows > 0 ? max_rows : -1;
	if (feed->begun)
		ingest_options_remove_header(&options);
	else if (feed->records_left > 0 && options.copy.header_line)
		feed->records_left++;
	feed->begun = true;

	PG_TRY();
	{
		current_feed = feed;
		cstate = BeginCopyFrom(pstate, state->rel, NULL, NULL, false, feed_read,
							   options.columns, options.copy_list);
		ingest_progress_mark();
		cstate->cur_lineno = feed->line;
		processed = CopyFrom(cstate);
		feed->line = cstate->cur_lineno;
		EndCopyFrom(cstate);
	}
	PG_FINALLY();
	{
		current_feed = save_feed;
	}
	PG_END_TRY();

	/* were those the last records? */
	if (feed->records_left == 0 && feed->start == feed->end && !feed->eof)
		feed_fill(feed);
	target->at_end = feed->records_left != 0 || feed->ended ||
		(feed->eof && feed->start == feed->end);
	return processed;
}

/*
 * COPY from the file or program the source names.
 */
static uint64
copy_from_file(IngestWriteTarget *target, CopyWriteState *state,
			   ParseState *pstate)
{
	const IngestSourceSpec *spec = target->spec;
	CopyFromState cstate;
	uint64		processed;

	cstate = BeginCopyFrom(pstate, state->rel, NULL, spec->text,
						   spec->kind == INGEST_SOURCE_PROGRAM, NULL,
						   target->options->columns,
						   target->options->copy_list);
	ingest_progress_mark();
	processed = CopyFrom(cstate);
	EndCopyFrom(cstate);
	target->at_end = true;
	return processed;
}

static void
copy_write(IngestWriteTarget *target, void *arg, int64 max_rows)
{
	CopyWriteState *state = (CopyWriteState *) arg;
	List	   *attnums = CopyGetAttnums(RelationGetDescr(state->rel), state->rel,
										 target->options->columns);
	ParseState *pstate = ingest_route_parsestate(state->rel, RowExclusiveLock,
												 attnums);
	uint64		processed;

	ingest_meter_phase(target->meter, INGEST_PHASE_WRITE);
	if (state->feed)
		processed = copy_from_feed(target, state, pstate, max_rows);
	else
		processed = copy_from_file(target, state, pstate);
	ingest_meter_phase(target->meter, INGEST_PHASE_SETUP);

	target->rows_loaded += processed;
	target->rows_read += processed;
	free_parsestate(pstate);
}

static void
copy_finish(IngestWriteTarget *target, void *arg)
{
	CopyWriteState *state = (CopyWriteState *) arg;

	if (state->feed && target->at_end)
		ingest_source_finish(state->feed->source);
	table_close(state->rel, NoLock);
}

const IngestWriter ingest_writer_copy = {
	.name = "copy",
	.needs_parser = false,
	.begin = copy_begin,
	.write = copy_write,
	.finish = copy_finish,
};
