/*-------------------------------------------------------------------------
 *
 * bench.c
 *		ingest_bench(): load the same rows in many ways, each into a fresh
 *		clone of the target, and tell what each way cost.
 *
 * The caller's backend only plans, waits and reports.  A keeper session makes
 * and drops the clones; whatever becomes of the caller, it drops the clone
 * there is.  Each run is done by new background sessions, so that no run
 * finds another's caches, plans or memory.
 *
 * COPY is the oracle: before the first run the server's COPY loads the source
 * into a clone without indexes.  Number of rows and a hash over them, which
 * does not depend on their order, are what every run is compared with.  That
 * load also brings a file into the system's cache before the first run that
 * counts, so that none of them pays for that alone.
 *
 * Locks: AccessShareLock on the target and its partitions, to the end of the
 * transaction.  The keeper holds it too, from the start on: its later clones
 * would otherwise queue behind whoever waits for a stronger lock, and he waits
 * for us.
 *
 * The function returns a row per call, so that a cursor or a SELECT list sees
 * each run when it ends.  The state between calls is in the multi-call
 * context; sessions and spool belong to the resource owner that is current
 * while the portal runs, the same in all calls.  A caller that stops early
 * (LIMIT, a closed cursor) runs the ExprContext callback.
 *
 * IDENTIFICATION
 *		src/bench.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_publication.h"
#include "commands/copy.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/bgwriter.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "bench_measure.h"
#include "bench_plan.h"
#include "clone.h"
#include "compat.h"
#include "input.h"
#include "load.h"
#include "progress.h"
#include "session.h"

/* A source and the options that go with it. */
typedef struct BenchInput
{
	const IngestSourceSpec *spec;
	IngestOptions *options;
	int64		max_rows;		/* -1: all of it */
} BenchInput;

/* A bench in progress; in the multi-call context. */
typedef struct BenchState
{
	IngestBenchPlan *plan;
	Oid			extension_nsp;
	Oid			target_nsp;
	const char *target_relname;
	const char *target_name;	/* qualified, to show */
	const char *source_name;
	List	   *supplied;		/* attribute numbers the source has */

	BenchInput	input;			/* what is measured */
	BenchInput	preload;		/* what is there before; spec may be NULL */

	IngestSession *keeper;
	const char *clone_name;		/* of the clone there is, or NULL */
	int64		reference_count;
	const char *reference_hash;
	int			next;			/* run to do, of nruns * repeat */
	bool		warned_checkpoint;

} BenchState;

PG_FUNCTION_INFO_V1(ingest_bench);

/*
 * What the generated or stored rows are that are there before the measured
 * ones: the first of the same series, or the target's own.
 */
static void
resolve_preload(BenchState *state, Relation target)
{
	IngestBenchPlan *plan = state->plan;
	BenchInput *preload = &state->preload;
	const char *text = plan->source;

	if (plan->preload == 0)
		return;

	preload->options = palloc_object(IngestOptions);
	*preload->options = *plan->options;
	if (!ingest_input_is_generated(text))
		text = ingest_input_target_query(target, state->supplied);
	preload->spec = ingest_input_resolve(target, text, preload->options,
										 0, plan->preload);
	preload->spec = ingest_input_share(target, preload->spec,
									   preload->options, plan->preload);
	preload->max_rows = -1;
}

/*
 * Find out what is to be loaded, and make it readable for other processes.
 */
static void
resolve_inputs(BenchState *state, Relation target)
{
	IngestBenchPlan *plan = state->plan;
	BenchInput *input = &state->input;
	IngestSourceSpec *spec;

	input->options = plan->options;
	input->max_rows = plan->rows;
	spec = ingest_input_resolve(target, plan->source, plan->options,
								plan->preload, plan->rows);
	resolve_preload(state, target);
	input->spec = ingest_input_share(target, spec, plan->options, plan->rows);
	if (input->spec->kind == INGEST_SOURCE_SPOOL)
		input->max_rows = -1;	/* the spool has no more than that */
}

/*
 * Have the keeper hold the locks that it needs to make a clone.
 */
static void
lock_sources(BenchState *state, Relation target)
{
	ingest_session_lock(state->keeper, ingest_clone_sources(target));
}

/*
 * Have the keeper make a clone, with the promise to drop it; returns its OID.
 */
static Oid
create_clone(BenchState *state, const char *name, bool with_indexes)
{
	Relation	target = table_open(state->plan->relid, AccessShareLock);
	char	   *create = ingest_clone_create_sql(target, name, with_indexes);
	char	   *drop = ingest_clone_drop_sql(target, name);
	Oid			relid;

	/* A partition may have been attached since. */
	lock_sources(state, target);
	table_close(target, NoLock);
	state->clone_name = name;
	ingest_session_set_farewell(state->keeper, drop);
	ingest_session_execute(state->keeper, create);

	AcceptInvalidationMessages();
	relid = get_relname_relid(name, state->target_nsp);
	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" has been dropped by another session", name)));
	return relid;
}

static void
drop_clone(BenchState *state, const char *name)
{
	Relation	target = table_open(state->plan->relid, AccessShareLock);

	ingest_session_execute(state->keeper, ingest_clone_drop_sql(target, name));
	table_close(target, NoLock);
	ingest_session_set_farewell(state->keeper, NULL);
	state->clone_name = NULL;
}

/*
 * Load an input into a clone, as a run says; no run means the server's COPY
 * by one process.
 */
static void
load_clone(BenchState *state, Oid clone, const BenchInput *input,
		   const IngestBenchRun *run, IngestReport *report)
{
	Relation	target = table_open(state->plan->relid, AccessShareLock);
	IngestOptions options = *input->options;
	IngestLoad	load;

	load.relid = clone;
	load.options = &options;
	load.spec = input->spec;
	load.strategy = run ? run->strategy : ingest_strategy_lookup("copy");

	options.strategy = load.strategy->name;
	options.workers = run ? run->workers : 1;
	options.batch_rows = run ? run->batch_rows : options.batch_rows;
	options.commit_rows = run ? run->commit_rows : INGEST_COMMIT_ROWS_END;
	options.index_mode = run ? run->index_mode : INGEST_INDEX_AUTO;
	options.commit_mode = run ? run->commit_mode : INGEST_COMMIT_IMMEDIATE_WAIT;
	options.mode = run ? options.mode : INGEST_MODE_APPEND;

	ingest_report_init(report);
	ingest_load_describe(&load, report);
	ingest_load_sessions(&load, target, input->max_rows, report);
	table_close(target, NoLock);
}

/*
 * What the clone holds and, if the list is not empty, what the WAL between
 * the report's positions says about its relations.
 */
static IngestMeasurement *
measure_clone(BenchState *state, const char *name, const IngestReport *report)
{
	Relation	target = table_open(state->plan->relid, AccessShareLock);
	char	   *hash_sql = ingest_clone_hash_sql(target, name, state->supplied);
	IngestMeasurement *result;

	table_close(target, NoLock);
	result = ingest_bench_measure(state->keeper, hash_sql, report);
	return result;
}

/*
 * Load the source as COPY does and remember what the table then holds.  Rows
 * that a run will replace are left out.
 */
static void
make_reference(BenchState *state)
{
	char	   *name = ingest_clone_name();
	IngestReport report;
	IngestMeasurement *measured;
	Oid			clone;

	ingest_progress_stage(INGEST_STAGE_REFERENCE);
	clone = create_clone(state, name, false);
	if (state->preload.spec && state->plan->options->mode == INGEST_MODE_APPEND)
		load_clone(state, clone, &state->preload, NULL, &report);
	load_clone(state, clone, &state->input, NULL, &report);
	report.meter = NULL;
	measured = measure_clone(state, name, &report);
	drop_clone(state, name);

	state->reference_count = measured->count;
	state->reference_hash = measured->hash;
}

/*
 * Write out what is dirty, so that a run does not pay for the run before it.
 * Who may not do that gets the runs without it.
 */
static void
checkpoint_between_runs(BenchState *state)
{
	if (!state->plan->checkpoint)
		return;
	if (!has_privs_of_role(GetUserId(), ROLE_PG_CHECKPOINT))
	{
		if (!state->warned_checkpoint)
			ereport(NOTICE,
					(errmsg("no checkpoints are made between the runs"),
					 errdetail("Only roles with privileges of the \"%s\" role may make them.",
							   "pg_checkpoint")));
		state->warned_checkpoint = true;
		return;
	}
	ingest_progress_stage(INGEST_STAGE_CHECKPOINT);
	RequestCheckpoint(CHECKPOINT_FAST | CHECKPOINT_WAIT | CHECKPOINT_FORCE);
}

/*
 * Show the clone's relations under names that begin with the target's.
 */
static void
rename_relations(BenchState *state, const char *clone_name, List *relations)
{
	size_t		len = strlen(clone_name);
	ListCell   *lc;

	foreach(lc, relations)
	{
		IngestReportRelation *relation = (IngestReportRelation *) lfirst(lc);

		if (strncmp(relation->name, clone_name, len) == 0)
			relation->name = psprintf("%s%s", state->target_relname,
									  relation->name + len);
	}
}

/*
 * Do a run and fill in its report.
 */
static void
do_run(BenchState *state, const IngestBenchRun *run, int repetition,
	   IngestReport *report)
{
	char	   *name = ingest_clone_name();
	IngestMeasurement *measured;
	Oid			clone;

	ingest_progress_run(state->next + 1,
						state->plan->nruns * state->plan->repeat,
						ingest_strategy_number(run->strategy));
	ingest_progress_stage(INGEST_STAGE_CLONING);
	clone = create_clone(state, name, true);
	if (state->preload.spec)
		load_clone(state, clone, &state->preload, NULL, report);
	checkpoint_between_runs(state);

	ingest_progress_stage(INGEST_STAGE_RUNNING);
	load_clone(state, clone, &state->input, run, report);

	ingest_progress_stage(INGEST_STAGE_VERIFYING);
	measured = measure_clone(state, name, report);
	drop_clone(state, name);

	rename_relations(state, name, measured->relations);
	report->target = state->target_name;
	report->source = state->source_name;
	report->repetition = repetition;
	report->relations = measured->relations;
	report->verified_known = true;
	report->verified = measured->count == state->reference_count &&
		strcmp(measured->hash, state->reference_hash) == 0;
}

/*
 * End the sessions; runs also when the caller stops asking for rows.
 */
static void
bench_shutdown(Datum arg)
{
	BenchState *state = (BenchState *) DatumGetPointer(arg);

	ingest_progress_end();
	if (state->keeper)
		ingest_session_finish(state->keeper);
	state->keeper = NULL;
}

/*
 * Raise an error if the clones would be published without anybody asking for
 * it.  A subscriber that is sent rows of a table it does not have stops, and
 * stays stopped after the clone is gone.
 */
static void
check_not_published(BenchState *state)
{
	if (!XLogLogicalInfoActive() ||
		(GetAllTablesPublications() == NIL &&
		 GetSchemaPublications(state->target_nsp) == NIL))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("clones of table \"%s\" would be published",
					state->target_relname),
			 errdetail("A publication is for all tables of the schema or of the database, and its subscribers do not have the clones."),
			 errhint("Bench a table like it in a schema or database that is not published.")));
}

/*
 * Check the target, prepare the source, start the keeper, load the reference.
 */
static void
bench_begin(BenchState *state)
{
	IngestBenchPlan *plan = state->plan;
	Relation	target;

	PreventCommandIfReadOnly("ingest_bench()");
	PreventCommandIfParallelMode("ingest_bench()");
	PreventCommandDuringRecovery("ingest_bench()");

	target = ingest_load_open_target(plan->relid, AccessShareLock,
									 plan->options->columns);
	ingest_load_check_shared(target);
	state->target_nsp = RelationGetNamespace(target);
	state->target_relname = pstrdup(RelationGetRelationName(target));
	state->target_name =
		quote_qualified_identifier(get_namespace_name(state->target_nsp),
								   RelationGetRelationName(target));
	check_not_published(state);
	state->source_name = plan->source ? plan->source : "generate:";
	state->supplied = CopyGetAttnums(RelationGetDescr(target), target,
									 plan->options->columns);

	ingest_progress_begin(plan->relid, 0, MyProcPid);

	state->keeper = ingest_session_begin("keeper", true);
	if (state->keeper == NULL)
		ingest_load_no_slot_error();
	lock_sources(state, target);

	ingest_progress_stage(INGEST_STAGE_SPOOLING);
	resolve_inputs(state, target);
	table_close(target, NoLock);
	make_reference(state);
}

/*
 * Replace every occurrence of a clone's name in a part of an error.
 */
static char *
show_target_name(char *text, const char *clone, const char *target)
{
	StringInfoData buf;
	char	   *found;

	if (text == NULL)
		return NULL;
	initStringInfo(&buf);
	while ((found = strstr(text, clone)) != NULL)
	{
		appendBinaryStringInfo(&buf, text, found - text);
		appendStringInfoString(&buf, target);
		text = found + strlen(clone);
	}
	appendStringInfoString(&buf, text);
	return buf.data;
}

/*
 * In a PG_CATCH block: let the keeper clean up before the error reaches the
 * client, and have the error speak of the target instead of a clone that the
 * user has never seen.
 */
static void
bench_rethrow(BenchState *state, MemoryContext context)
{
	ErrorData  *edata;
	char	   *target;

	ingest_progress_end();
	if (state->keeper)
		ingest_session_abandon(&state->keeper, 1);
	state->keeper = NULL;
	if (state->clone_name == NULL || state->target_relname == NULL)
		PG_RE_THROW();

	MemoryContextSwitchTo(context);
	edata = CopyErrorData();
	FlushErrorState();
	target = unconstify(char *, state->target_relname);
	edata->message = show_target_name(edata->message, state->clone_name, target);
	edata->detail = show_target_name(edata->detail, state->clone_name, target);
	edata->context = show_target_name(edata->context, state->clone_name, target);
	edata->table_name = show_target_name(edata->table_name,
										 state->clone_name, target);
	edata->constraint_name = show_target_name(edata->constraint_name,
											  state->clone_name, target);
	edata->internalquery = NULL;
	edata->internalpos = 0;
	ReThrowError(edata);
}

/*
 * First call: everything up to the first run.
 */
static void
bench_first_call(FunctionCallInfo fcinfo, FuncCallContext *funcctx)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
	BenchState *state = palloc0_object(BenchState);
	MemoryContext context = CurrentMemoryContext;
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	funcctx->tuple_desc = BlessTupleDesc(tupdesc);
	ingest_report_check_type(tupdesc);
	funcctx->user_fctx = state;

	state->plan = ingest_bench_plan(fcinfo);
	state->extension_nsp = get_func_namespace(fcinfo->flinfo->fn_oid);
	RegisterExprContextCallback(rsinfo->econtext, bench_shutdown,
								PointerGetDatum(state));

	PG_TRY();
	{
		bench_begin(state);
	}
	PG_CATCH();
	{
		bench_rethrow(state, context);
	}
	PG_END_TRY();

	MemoryContextSwitchTo(old);
}

/*
 * ingest_bench() returns a row of type ingest_report for each run.
 */
Datum
ingest_bench(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	BenchState *volatile state;
	IngestReport report;
	MemoryContext context = CurrentMemoryContext;
	const IngestBenchRun *run;
	HeapTuple	tuple;
	int			repetition;

	if (SRF_IS_FIRSTCALL())
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

		if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("set-valued function called in context that cannot accept a set")));
		funcctx = SRF_FIRSTCALL_INIT();
		bench_first_call(fcinfo, funcctx);
	}

	funcctx = SRF_PERCALL_SETUP();
	state = (BenchState *) funcctx->user_fctx;

	if (state->next >= state->plan->nruns * state->plan->repeat)
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

		UnregisterExprContextCallback(rsinfo->econtext, bench_shutdown,
									  PointerGetDatum(state));
		bench_shutdown(PointerGetDatum(state));
		SRF_RETURN_DONE(funcctx);
	}

	PG_TRY();
	{
		run = ingest_bench_run(state->plan, state->next, &repetition);
		do_run(state, run, repetition, &report);
		state->next++;
		tuple = ingest_report_tuple(&report, funcctx->tuple_desc);
		ingest_report_remember(state->extension_nsp, "ingest_bench", tuple,
							   funcctx->tuple_desc);
	}
	PG_CATCH();
	{
		bench_rethrow(state, context);
	}
	PG_END_TRY();

	SRF_RETURN_NEXT(funcctx, HeapTupleGetDatum(tuple));
}
