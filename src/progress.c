/*-------------------------------------------------------------------------
 *
 * progress.c
 *		Progress of loads in the server's own progress table.
 *
 * A load is shown as the server shows a COPY: pg_stat_progress_copy has its
 * bytes and tuples.  What COPY has no column for goes into parameters of the
 * same entry that COPY does not use, from PROGRESS_FIRST on; the view
 * ingest_progress reads them with pg_stat_get_progress_info(), which also
 * decides who may see whose.  No shared memory of our own is needed.
 *
 * IDENTIFICATION
 *		src/progress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"

#include "progress.h"

/*
 * Our parameters, counted from 0; the view counts from 1.  The server's
 * COPY uses the first eight.
 */
#define PROGRESS_STAGE		14
#define PROGRESS_STRATEGY	15	/* number in ingest_strategies(), from 1 */
#define PROGRESS_RUN		16
#define PROGRESS_RUNS		17
#define PROGRESS_LEADER		18
#define PROGRESS_MARK		19	/* holds PROGRESS_MAGIC in entries of ours */

#define PROGRESS_MAGIC		20260001

/* What the entry of this process says, to say it again. */
static int	progress_strategy;
static int	progress_leader;

/*
 * Show a load into relid by a strategy, given as its number in
 * ingest_strategies().  leader_pid is the process that asked for the load.
 */
void
ingest_progress_begin(Oid relid, int strategy, int leader_pid)
{
	progress_strategy = strategy;
	progress_leader = leader_pid;
	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, relid);
	ingest_progress_mark();
}

/*
 * Mark the entry of this process as ours, again after the server's COPY has
 * made an entry of its own.
 */
void
ingest_progress_mark(void)
{
	const int	params[] = {
		PROGRESS_COPY_COMMAND, PROGRESS_COPY_TYPE, PROGRESS_STAGE,
		PROGRESS_STRATEGY, PROGRESS_LEADER, PROGRESS_MARK
	};
	const int64 values[] = {
		PROGRESS_COPY_COMMAND_FROM, PROGRESS_COPY_TYPE_CALLBACK,
		INGEST_STAGE_LOADING, progress_strategy, progress_leader,
		PROGRESS_MAGIC
	};

	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

/* How many bytes there are to read. */
void
ingest_progress_total(int64 bytes)
{
	pgstat_progress_update_param(PROGRESS_COPY_BYTES_TOTAL, bytes);
}

/* How far the load is; bytes are left alone if negative. */
void
ingest_progress_rows(int64 rows, int64 bytes)
{
	if (bytes >= 0)
		pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, bytes);
	pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, rows);
}

/* What a process that has loads done by others is about. */
void
ingest_progress_stage(IngestStage stage)
{
	pgstat_progress_update_param(PROGRESS_STAGE, stage);
}

/* Which of how many runs is next, counted from 1. */
void
ingest_progress_run(int run, int runs, int strategy)
{
	const int	params[] = {PROGRESS_RUN, PROGRESS_RUNS, PROGRESS_STRATEGY};
	const int64 values[] = {run, runs, strategy};

	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

void
ingest_progress_end(void)
{
	pgstat_progress_end_command();
}
