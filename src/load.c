/*-------------------------------------------------------------------------
 *
 * load.c
 *		The driver of a load in one process.
 *
 * A load opens the target, begins the source and the parser if the writer
 * needs them, and lets the writer take rows until there are no more.  It runs
 * either in the caller's transaction (ingest_load_here), where it never
 * commits, or in a background session (ingest_load_job), where it starts and
 * commits its own transactions.
 *
 * What must outlive a transaction is in target.context; what a writer's begin
 * allocates ends with its transaction.  The target is locked with
 * RowExclusiveLock in each transaction, as INSERT and COPY do.
 *
 * Dynamic commits: a transaction ends after DYNAMIC_COMMIT_MS, or as soon as
 * somebody waits for a row that it has locked.  Db2's online load, from which
 * the idea comes (the study behind workload W1), also shortens its commit
 * interval while others wait.
 *
 * IDENTIFICATION
 *		src/load.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/objectaddress.h"
#include "commands/copy.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "choose.h"
#include "compat.h"
#include "direct.h"
#include "input.h"
#include "load.h"
#include "load_job.h"
#include "message.h"
#include "progress.h"
#include "route.h"
#include "session.h"
#include "write.h"

/* Longest time between two commits at a dynamic interval, milliseconds. */
#define DYNAMIC_COMMIT_MS	1000

/*
 * What a load waits for before it chooses a strategy for a source that comes
 * bit by bit: enough for "auto" to see that there are many rows, and to want
 * all the processes it may have by default.
 */
#define FIRST_CHUNKS		16

/*
 * commit_delay of the batch modes, microseconds; commit_siblings is set to 0,
 * so that a single session waits as well (workload W4).
 */
#define BATCH_COMMIT_DELAY	"100"

/* A load in progress, in target.context. */
typedef struct LoadState
{
	IngestLoad	load;			/* as it is done */
	const IngestWriter *writer;
	IngestWriteTarget target;
	XLogRecPtr	start_lsn;
	int64		start_us;		/* monotonic clock */
	int64		commits;
} LoadState;

static int64
monotonic_us(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) INSTR_TIME_GET_MICROSEC(now);
}

/*
 * Raise the error COPY raises for a relation that holds no rows of its own.
 * Foreign tables COPY can load; we cannot measure or undo what another server
 * does.
 */
static void
check_target_kind(Relation rel)
{
	const char *kind;

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			if (!IsCatalogRelation(rel))
				return;
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("permission denied: \"%s\" is a system catalog",
							RelationGetRelationName(rel))));
			break;
		case RELKIND_VIEW:
			kind = "view";
			break;
		case RELKIND_MATVIEW:
			kind = "materialized view";
			break;
		case RELKIND_SEQUENCE:
			kind = "sequence";
			break;
		case RELKIND_FOREIGN_TABLE:
			kind = "foreign table";
			break;
		default:
			kind = "non-table relation";
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot load into %s \"%s\"", kind,
					RelationGetRelationName(rel)),
			 errdetail("Only tables and partitioned tables can be loaded.")));
}

/*
 * Check the right to INSERT: into the table, or into every column loaded.  As
 * DoCopy() (copy.c) it goes through the executor's check, where extensions
 * for mandatory access control and auditing have their hook.
 */
static void
check_target_permission(Relation rel, LOCKMODE lockmode, List *columns)
{
	List	   *attnums = CopyGetAttnums(RelationGetDescr(rel), rel, columns);
	ParseState *pstate = ingest_route_parsestate(rel, lockmode, attnums);

	ExecCheckPermissionsCompat(pstate->p_rtable, ParseStatePermInfos(pstate),
							   true);
	free_parsestate(pstate);
}

Relation
ingest_load_open_target(Oid relid, LOCKMODE lockmode, List *columns)
{
	Relation	rel = table_open(relid, lockmode);

	check_target_kind(rel);
	check_target_permission(rel, lockmode, columns);

	if (check_enable_rls(relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("loading is not supported with row-level security"),
				 errdetail("Row-level security applies to table \"%s\".",
						   RelationGetRelationName(rel)),
				 errhint("Use INSERT statements instead.")));

	return rel;
}

void
ingest_load_lock_replaced(Oid relid)
{
	if (get_rel_relkind(relid) == RELKIND_RELATION &&
		pg_class_aclcheck(relid, GetUserId(), ACL_TRUNCATE) == ACLCHECK_OK)
		LockRelationOid(relid, ShareUpdateExclusiveLock);
}

void
ingest_load_check_replace(Relation rel)
{
	AclResult	result = pg_class_aclcheck(RelationGetRelid(rel), GetUserId(),
										   ACL_TRUNCATE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
	CheckTableNotInUse(rel, "replace the rows of");
}

/*
 * Size of a relation's main fork in bytes, -1 if it is gone.
 */
static int64
relation_size(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	int64		size;

	if (rel == NULL)
		return -1;
	size = RELKIND_HAS_STORAGE(rel->rd_rel->relkind) ?
		(int64) RelationGetNumberOfBlocks(rel) * BLCKSZ : 0;
	relation_close(rel, AccessShareLock);
	return size;
}

void
ingest_load_describe(const IngestLoad *load, IngestReport *report)
{
	report->strategy = load->options->strategy;
	report->workers = load->options->workers;
	ingest_load_describe_used(load, load->strategy, report);
}

void
ingest_load_describe_used(const IngestLoad *load, const IngestStrategy *used,
						  IngestReport *report)
{
	const IngestOptions *options = load->options;

	report->strategy_used = used->name;
	report->batch_rows = used->uses_batch_rows ? options->batch_rows : -1;
	report->split_bytes = used->uses_split_bytes &&
		options->split_bytes > 0 ? options->split_bytes : -1;
	report->commit_rows_used =
		options->commit_rows == INGEST_COMMIT_ROWS_END ||
		(options->commit_rows == INGEST_COMMIT_ROWS_DYNAMIC ?
		 used->commits_dynamically : used->commits_at_rows);
	report->commit_rows = options->commit_rows;
	report->commit_mode = options->commit_mode;
	report->index_mode_used = used->uses_index_mode;
	report->index_mode = options->index_mode;
}

void
ingest_load_choose(IngestLoad *load, Relation rel, bool tell,
				   IngestReport *report)
{
	IngestOptions *options = palloc_object(IngestOptions);
	IngestChoice choice;

	ingest_choose(load->strategy, rel, load->options, load->spec, &choice);
	if (tell)
		ingest_choose_tell(load->strategy, rel, load->options, load->spec,
						   &choice);

	if (load->strategy->writer == NULL)
		report->workers = choice.workers;
	*options = *load->options;
	options->strategy = choice.strategy->name;
	options->workers = choice.workers;
	load->options = options;
	load->strategy = choice.strategy;
	ingest_load_describe_used(load, choice.strategy, report);
	if (choice.reason != NULL)
		report->reason = _(choice.reason);
}

bool
ingest_load_goes_by_file(const IngestStrategy *strategy, Relation rel,
						 const IngestOptions *options,
						 const IngestSourceSpec *spec)
{
	const IngestStrategy *direct = ingest_strategy_lookup("direct");
	IngestSourceSpec file = *spec;

	if (!ingest_input_is_stream(spec) ||
		(strategy->writer != NULL && !strategy->own_workers))
		return false;
	file.kind = INGEST_SOURCE_SPOOL;
	return direct->writer->unusable(rel, options, &file) == NULL;
}

/*
 * Have the load read a file if that is what its processes need.
 */
static void
open_stream(IngestLoad *load, Relation rel)
{
	IngestOptions *options;

	if (!ingest_load_goes_by_file(load->strategy, rel, load->options,
								  load->spec))
		return;
	options = palloc_object(IngestOptions);
	*options = *load->options;
	load->spec = ingest_input_stream(rel, load->spec, options,
									 FIRST_CHUNKS * (int64) ingest_direct_chunk_size);
	load->options = options;
}

/*
 * Choose the writer, and open the target and what stands between the source
 * and the writer.  Called in a transaction; all of it is allocated in the
 * load's own context.
 */
static LoadState *
begin_load(const IngestLoad *load, MemoryContext parent, bool tell,
		   IngestReport *report)
{
	MemoryContext context = AllocSetContextCreate(parent, "ingest_tools load",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	LoadState  *state = palloc0_object(LoadState);
	IngestWriteTarget *target = &state->target;
	Relation	rel;

	state->start_us = monotonic_us();
	state->start_lsn = GetXLogInsertRecPtr();
	state->load = *load;

	target->relid = load->relid;
	target->context = context;
	target->meter = ingest_meter_begin();

	rel = ingest_load_open_target(load->relid, RowExclusiveLock,
								  load->options->columns);
	if (!rel->rd_islocaltemp)
		PreventCommandIfReadOnly("ingest_load()");
	open_stream(&state->load, rel);
	target->spec = state->load.spec;
	ingest_load_choose(&state->load, rel, tell, report);
	state->writer = state->load.strategy->writer;
	target->options = state->load.options;

	ingest_meter_watch(target->meter, rel);
	if (state->writer->needs_parser)
	{
		target->source = ingest_source_begin(target->spec, target->options);
		target->parser = ingest_parse_begin(rel, target->options,
											target->source);
	}
	table_close(rel, NoLock);

	MemoryContextSwitchTo(old);
	return state;
}

/*
 * Close the source.  The meter, which tells what it all cost, stays in the
 * load's context.
 */
static void
finish_load(LoadState *state)
{
	if (state->target.parser)
		ingest_parse_finish(state->target.parser);
	if (state->target.source)
		ingest_source_finish(state->target.source);
	ingest_meter_stop(state->target.meter);
}

/*
 * Is it time for a commit at a dynamic interval?
 */
static bool
dynamic_commit_due(int64 transaction_start_us)
{
	LOCKTAG		tag;
	TransactionId xid = GetTopTransactionIdIfAny();

	if (monotonic_us() - transaction_start_us >= DYNAMIC_COMMIT_MS * 1000)
		return true;
	if (!TransactionIdIsValid(xid))
		return false;

	/* XactLockTableWait() waits for this lock. */
	SET_LOCKTAG_TRANSACTION(tag, xid);
	return LockHasWaiters(&tag, ExclusiveLock, false);
}

/*
 * Let the writer take rows, in the current transaction, until the source is
 * at its end or, if may_commit, a commit is due.
 */
static void
write_rows(LoadState *state, bool may_commit)
{
	IngestWriteTarget *target = &state->target;
	int			commit_rows = may_commit ?
		target->options->commit_rows : INGEST_COMMIT_ROWS_END;
	int64		start_us = monotonic_us();
	int64		start_rows = target->rows_read;
	void	   *writer_state = state->writer->begin(target);

	for (;;)
	{
		int64		taken = target->rows_read - start_rows;

		CHECK_FOR_INTERRUPTS();
		state->writer->write(target, writer_state,
							 commit_rows > 0 ? commit_rows - taken : 0);
		ingest_progress_rows(target->rows_loaded,
							 target->source ?
							 ingest_source_bytes_done(target->source) : -1);

		if (target->at_end)
			break;
		if (commit_rows > 0 && target->rows_read - start_rows >= commit_rows)
			break;
		if (commit_rows == INGEST_COMMIT_ROWS_DYNAMIC &&
			dynamic_commit_due(start_us))
			break;
	}

	state->writer->finish(target, writer_state);
}

/*
 * The figures of this process, in the form of a report.
 */
static void
fill_report(LoadState *state, IngestReport *report)
{
	IngestWriteTarget *target = &state->target;

	report->rows_read = target->rows_read_unknown ? -1 : target->rows_read;
	report->rows_loaded = target->rows_loaded;
	report->commits = state->commits;
	report->elapsed_us = monotonic_us() - state->start_us;
	report->start_lsn = state->start_lsn;
	report->end_lsn = GetXLogInsertRecPtr();
	report->meter = target->meter;
	if (target->workers_used > 0)
		report->workers_used = target->workers_used;
	if (target->reason && report->reason)
		report->reason = psprintf("%s; %s", report->reason,
								  _(target->reason));
	else if (target->reason)
		report->reason = _(target->reason);
}

List *
ingest_load_name_relations(List *usages)
{
	List	   *result = NIL;
	const char *table = NULL;
	ListCell   *lc;

	foreach(lc, usages)
	{
		IngestRelationUsage *usage = (IngestRelationUsage *) lfirst(lc);
		IngestReportRelation *relation = palloc_object(IngestReportRelation);
		bool		toast = usage->kind == INGEST_RELATION_TOAST ||
			usage->kind == INGEST_RELATION_TOAST_INDEX;

		relation->usage = *usage;
		relation->name = toast ? table : get_rel_name(usage->relid);
		relation->bytes = relation_size(usage->relid);
		if (usage->kind == INGEST_RELATION_HEAP)
			table = relation->name;
		if (relation->name != NULL && relation->bytes >= 0)
			result = lappend(result, relation);
	}
	return result;
}

void
ingest_load_here(const IngestLoad *load, bool tell, IngestReport *report)
{
	IngestWalIo io_start,
				io_end;
	LoadState  *state;

	ingest_wal_io_snapshot(&io_start);
	state = begin_load(load, CurrentMemoryContext, tell, report);
	ingest_progress_begin(load->relid,
						  ingest_strategy_number(state->load.strategy),
						  MyProcPid);
	if (state->target.source)
		ingest_progress_total(ingest_source_bytes_total(state->target.source));

	PushActiveSnapshot(GetTransactionSnapshot());
	write_rows(state, false);
	PopActiveSnapshot();
	finish_load(state);
	CommandCounterIncrement();

	ingest_progress_end();
	fill_report(state, report);
	report->commits = -1;		/* the caller's transaction goes on */
	ingest_wal_io_snapshot(&io_end);
	ingest_wal_io_diff(&report->wal_io, &io_end, &io_start);

	report->relations =
		ingest_load_name_relations(ingest_meter_relations(report->meter));
}

/*
 * Make this session commit as the mode says.  commit_delay may be set only by
 * those whom the server lets set it; its error is what others get.
 */
static void
apply_commit_mode(IngestCommitMode mode)
{
	bool		wait = mode == INGEST_COMMIT_IMMEDIATE_WAIT ||
		mode == INGEST_COMMIT_BATCH_WAIT;
	bool		batch = mode == INGEST_COMMIT_BATCH_WAIT ||
		mode == INGEST_COMMIT_BATCH_NOWAIT;

	SetConfigOption("synchronous_commit", wait ? "on" : "off",
					PGC_USERSET, PGC_S_SESSION);
	if (batch)
	{
		SetConfigOption("commit_siblings", "0", PGC_USERSET, PGC_S_SESSION);
		SetConfigOption("commit_delay", BATCH_COMMIT_DELAY,
						superuser() ? PGC_SUSET : PGC_USERSET, PGC_S_SESSION);
	}
}

/*
 * In another transaction than the first one the table may be another.
 */
static void
recheck_writer(LoadState *state)
{
	Relation	rel = table_open(state->load.relid, RowExclusiveLock);

	ingest_choose_recheck(state->load.strategy, rel, state->load.options,
						  state->load.spec);
	table_close(rel, NoLock);
}

/*
 * Take rows and commit, until the source is at its end.  Called in a
 * transaction, returns outside of one.
 */
static void
load_in_transactions(LoadState *state)
{
	IngestWriteTarget *target = &state->target;

	for (;;)
	{
		int64		rows_before = target->rows_read;

		PushActiveSnapshot(GetTransactionSnapshot());
		if (rows_before > 0)
			recheck_writer(state);
		write_rows(state, true);
		PopActiveSnapshot();

		ingest_meter_phase(target->meter, INGEST_PHASE_COMMIT);
		CommitTransactionCommand();
		if (target->rows_read != rows_before)
			state->commits++;
		if (target->at_end)
			break;
		ingest_meter_phase(target->meter, INGEST_PHASE_SETUP);
		StartTransactionCommand();
	}
}

void
ingest_load_job_put(StringInfo request, const IngestLoad *load)
{
	const IngestSourceSpec *spec = load->spec;
	int32		leader_pid = MyProcPid;

	Assert(spec->feed == NULL);
	ingest_message_put(request, &load->relid, sizeof(load->relid));
	ingest_message_put(request, &leader_pid, sizeof(leader_pid));
	ingest_message_put_string(request, ingest_options_text(load->options));
	ingest_message_put(request, spec, sizeof(*spec));
	ingest_message_put_string(request, spec->text);
}

/*
 * Read what ingest_load_job_put() wrote; returns the pid of the process that
 * wants the load.
 */
static int
get_job(StringInfo request, IngestLoad *load)
{
	IngestSourceSpec *spec = palloc_object(IngestSourceSpec);
	int32		leader_pid;
	char	   *text;

	ingest_message_get(request, &load->relid, sizeof(load->relid));
	ingest_message_get(request, &leader_pid, sizeof(leader_pid));
	text = ingest_message_get_string(request);
	ingest_message_get(request, spec, sizeof(*spec));
	spec->text = ingest_message_get_string(request);

	load->spec = spec;
	load->options = ingest_options_parse(text);
	load->strategy = ingest_strategy_lookup(load->options->strategy);
	return leader_pid;
}

/*
 * Session handler: one load in transactions of its own.  The reply is an
 * IngestLoadResult and the meter.
 */
void
ingest_load_job(StringInfo request, StringInfo reply)
{
	IngestLoad	load;
	IngestReport report;
	IngestLoadResult result;
	LoadState  *state;
	int			leader_pid;

	/*
	 * The job's own data is in the handler's context, which outlives the
	 * transactions.
	 */
	MemoryContext context = CurrentMemoryContext;

	StartTransactionCommand();
	MemoryContextSwitchTo(context);
	leader_pid = get_job(request, &load);
	apply_commit_mode(load.options->commit_mode);
	ingest_report_init(&report);
	state = begin_load(&load, context, false, &report);
	ingest_progress_begin(load.relid,
						  ingest_strategy_number(state->load.strategy),
						  leader_pid);
	if (state->target.source)
		ingest_progress_total(ingest_source_bytes_total(state->target.source));

	MemoryContextSwitchTo(CurTransactionContext);
	load_in_transactions(state);
	MemoryContextSwitchTo(context);

	finish_load(state);
	ingest_progress_end();

	fill_report(state, &report);
	result.rows_read = report.rows_read;
	result.rows_loaded = report.rows_loaded;
	result.commits = report.commits;
	result.start_us = state->start_us;
	result.end_us = state->start_us + report.elapsed_us;
	result.start_lsn = report.start_lsn;
	result.end_lsn = report.end_lsn;
	result.workers_used = Max(state->target.workers_used, 1);
	ingest_message_put(reply, &result, sizeof(result));
	ingest_message_put_string(reply, report.reason);
	ingest_message_put_string(reply, state->load.strategy->name);
	ingest_meter_send(state->target.meter, reply);
	ingest_wal_io_report();
}
