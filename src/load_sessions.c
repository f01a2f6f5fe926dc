/*-------------------------------------------------------------------------
 *
 * load_sessions.c
 *		A load spread over background sessions.
 *
 * The owner starts as many sessions as were asked for and can be had, cuts
 * the source into that many pieces, and only then gives all of them their
 * jobs; the clock runs from the first job's start to the last job's end, by
 * the sessions' own clocks, so that starting processes and reading ahead are
 * not part of what is measured.  While they work the owner samples their
 * waits.
 *
 * IDENTIFICATION
 *		src/load_sessions.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "load.h"
#include "load_job.h"
#include "message.h"
#include "session.h"
#include "waits.h"

/* The owner's side of a load in sessions. */
typedef struct Gang
{
	int			nsessions;
	IngestSession **sessions;
	StringInfo *replies;
	int		   *pids;
	IngestWaits *waits;
} Gang;

void
ingest_load_no_slot_error(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no background worker slot is free"),
			 errhint("Increase max_worker_processes, or wait for other background workers to end.")));
}

void
ingest_load_check_shared(Relation rel)
{
	if (RelationUsesLocalBuffers(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot use temporary table \"%s\" here",
						RelationGetRelationName(rel)),
				 errdetail("Background sessions cannot see the temporary tables of this session.")));

	if (rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilelocatorSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was created or rewritten in the current transaction",
						RelationGetRelationName(rel)),
				 errdetail("Background sessions see it only after that transaction has committed."),
				 errhint("Commit first.")));

	if (CheckRelationLockedByMe(rel, AccessExclusiveLock, false))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("table \"%s\" is locked in access exclusive mode by the current transaction",
						RelationGetRelationName(rel)),
				 errdetail("Background sessions would wait for that lock."),
				 errhint("Commit first.")));
}

/*
 * Start up to wanted sessions; the error for none at all is raised here.
 */
static void
start_gang(Gang *gang, int wanted)
{
	gang->sessions = palloc_array(IngestSession *, wanted);
	gang->replies = palloc_array(StringInfo, wanted);
	gang->pids = palloc_array(int, wanted);

	for (gang->nsessions = 0; gang->nsessions < wanted; gang->nsessions++)
	{
		int			i = gang->nsessions;

		gang->sessions[i] = ingest_session_begin("load", false);
		if (gang->sessions[i] == NULL)
			break;
		gang->pids[i] = ingest_session_pid(gang->sessions[i]);
		gang->replies[i] = makeStringInfo();
	}

	if (gang->nsessions == 0)
		ingest_load_no_slot_error();
	if (gang->nsessions < wanted)
		ereport(NOTICE,
				(errmsg("loading with %d of %d processes", gang->nsessions, wanted),
				 errdetail("No more background worker slots are free."),
				 errhint("Increase max_worker_processes.")));
}

/*
 * Cut the source into pieces, one for each session.  A single session that
 * takes all of a file gets it whole, so that COPY reads it by itself.
 */
static IngestSourceRange *
cut_source(const IngestLoad *load, Relation target, int64 max_rows, int n,
		   int *nranges)
{
	IngestSourceRange *whole;

	if (n > 1 || max_rows >= 0)
		return ingest_parse_ranges(target, load->options, load->spec, n,
								   max_rows, nranges);

	whole = palloc0_object(IngestSourceRange);
	whole->start = load->spec->start;
	whole->end = load->spec->end;
	whole->first_line = load->spec->first_line;
	*nranges = 1;
	return whole;
}

/*
 * Give a session its part.
 */
static void
send_job(IngestSession *session, const IngestLoad *load,
		 const IngestSourceRange *range)
{
	IngestLoad	part = *load;
	IngestOptions options = *load->options;
	IngestSourceSpec spec = *load->spec;
	StringInfo	request = makeStringInfo();

	spec.start = range->start;
	spec.end = range->end;
	spec.first_line = range->first_line;
	part.spec = &spec;
	if (range->end >= 0)
		ingest_options_remove_header(&options);
	part.options = &options;

	ingest_load_job_put(request, &part);
	ingest_session_send(session, INGEST_LOAD_JOB, request);
}

static void
gang_tick(void *arg)
{
	Gang	   *gang = (Gang *) arg;

	ingest_waits_sample(gang->waits, gang->pids, gang->nsessions);
}

/*
 * Add up what the sessions answered.
 */
static void
gather_results(Gang *gang, const IngestLoad *load, IngestReport *report)
{
	IngestMeter *total = NULL;
	int64		start_us = PG_INT64_MAX;
	int64		end_us = 0;

	report->workers_used = 0;
	report->rows_read = 0;
	report->rows_loaded = 0;
	report->commits = 0;
	report->start_lsn = PG_UINT64_MAX;
	report->end_lsn = InvalidXLogRecPtr;

	for (int i = 0; i < gang->nsessions; i++)
	{
		IngestLoadResult result;
		IngestMeter *meter;
		const char *reason;
		const IngestStrategy *used;

		ingest_message_get(gang->replies[i], &result, sizeof(result));
		reason = ingest_message_get_string(gang->replies[i]);
		used = ingest_strategy_lookup(ingest_message_get_string(gang->replies[i]));
		if (reason)
			report->reason = reason;
		ingest_load_describe_used(load, used, report);
		report->workers_used += result.workers_used;
		meter = ingest_meter_receive(gang->replies[i]);
		if (total == NULL)
			total = meter;
		else
			ingest_meter_merge(total, meter);

		if (result.rows_read < 0 || report->rows_read < 0)
			report->rows_read = -1;
		else
			report->rows_read += result.rows_read;
		report->rows_loaded += result.rows_loaded;
		report->commits += result.commits;
		start_us = Min(start_us, result.start_us);
		end_us = Max(end_us, result.end_us);
		report->start_lsn = Min(report->start_lsn, result.start_lsn);
		report->end_lsn = Max(report->end_lsn, result.end_lsn);
	}

	report->elapsed_us = end_us - start_us;
	report->meter = total;
}

/*
 * Cut the source, give each session its part, and wait for all of them.
 */
static void
run_gang(Gang *gang, const IngestLoad *load, Relation target, int64 max_rows,
		 IngestReport *report)
{
	IngestWalIo io_start,
				io_end;
	IngestSourceRange *ranges;
	int			nranges;

	ranges = cut_source(load, target, max_rows, gang->nsessions, &nranges);
	while (gang->nsessions > Max(nranges, 1))
		ingest_session_finish(gang->sessions[--gang->nsessions]);
	if (nranges == 0)
	{
		/* No rows; a session finds that out as well. */
		ranges = cut_source(load, target, -1, 1, &nranges);
	}

	gang->waits = ingest_waits_begin();
	ingest_wal_io_snapshot(&io_start);
	for (int i = 0; i < gang->nsessions; i++)
		send_job(gang->sessions[i], load, &ranges[i]);
	ingest_session_wait(gang->sessions, gang->nsessions, gang->replies,
						ingest_wait_sample_interval, gang_tick, gang);
	ingest_wal_io_snapshot(&io_end);

	gather_results(gang, load, report);
	ingest_wal_io_diff(&report->wal_io, &io_end, &io_start);
	report->waits = ingest_waits_list(gang->waits);
	report->waits_known = true;
	report->commits_itself = true;
}

void
ingest_load_sessions(const IngestLoad *load, Relation target, int64 max_rows,
					 IngestReport *report)
{
	Gang		gang = {0};

	start_gang(&gang, load->strategy->own_workers ? 1 : load->options->workers);
	PG_TRY();
	{
		run_gang(&gang, load, target, max_rows, report);
	}
	PG_CATCH();
	{
		/* Whoever sees the error can rely on nobody committing after it. */
		ingest_session_abandon(gang.sessions, gang.nsessions);
		PG_RE_THROW();
	}
	PG_END_TRY();

	for (int i = 0; i < gang.nsessions; i++)
		ingest_session_finish(gang.sessions[i]);
}
