/*-------------------------------------------------------------------------
 *
 * load_function.c
 *		ingest_load(): one load, one report row.
 *
 * The load belongs to the caller's transaction unless the options ask for
 * what one transaction cannot give: several processes that write, commits on
 * the way, or a commit mode.  Then background sessions do it and commit.
 *
 * IDENTIFICATION
 *		src/load_function.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "input.h"
#include "load.h"

PG_FUNCTION_INFO_V1(ingest_load);

/*
 * Does the load need transactions of its own?
 */
static bool
needs_sessions(const IngestOptions *options, const IngestStrategy *strategy)
{
	return (options->workers > 1 && !strategy->own_workers) ||
		options->commit_rows != INGEST_COMMIT_ROWS_END ||
		options->commit_mode != INGEST_COMMIT_IMMEDIATE_WAIT;
}

/*
 * Raise the errors of where nothing may be written.
 */
static void
check_may_write(void)
{
	PreventCommandIfParallelMode("ingest_load()");
	PreventCommandDuringRecovery("ingest_load()");
}

/*
 * Load by background sessions.
 */
static void
load_by_sessions(IngestLoad *load, IngestOptions *options, Relation target,
				 IngestReport *report)
{
	ingest_load_check_shared(target);
	load->spec = ingest_input_share(target, load->spec, options, -1);
	ingest_load_choose(load, target, true, report);
	ingest_load_sessions(load, target, -1, report);
	report->relations =
		ingest_load_name_relations(ingest_meter_relations(report->meter));
}

/*
 * ingest_load(target regclass, source text, options text) returns a row of
 * type ingest_report.
 */
Datum
ingest_load(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *source = text_to_cstring(PG_GETARG_TEXT_PP(1));
	IngestOptions *options =
		ingest_options_parse(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	IngestLoad	load;
	IngestReport report;
	Relation	target;
	TupleDesc	tupdesc;
	HeapTuple	tuple;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	tupdesc = BlessTupleDesc(tupdesc);
	ingest_report_check_type(tupdesc);

	check_may_write();
	load.relid = relid;
	load.options = options;
	load.strategy = ingest_strategy_lookup(options->strategy);

	ingest_report_init(&report);
	target = ingest_load_open_target(relid, RowExclusiveLock, options->columns);
	load.spec = ingest_input_resolve(target, source, options, 0, -1);
	ingest_load_describe(&load, &report);
	report.target =
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(target)),
								   RelationGetRelationName(target));
	report.source = source;

	if (needs_sessions(options, load.strategy))
		load_by_sessions(&load, options, target, &report);
	else
		ingest_load_here(&load, &report);
	table_close(target, NoLock);

	tuple = ingest_report_tuple(&report, tupdesc);
	ingest_report_remember(get_func_namespace(fcinfo->flinfo->fn_oid),
						   "ingest_load", tuple, tupdesc);
	PG_RETURN_DATUM(HeapTupleGetDatum(tuple));
}
