/*-------------------------------------------------------------------------
 *
 * load_function.c
 *		ingest_load(): one load, one report row.
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
 * Raise the errors of where nothing may be written.
 */
static void
check_may_write(void)
{
	PreventCommandIfParallelMode("ingest_load()");
	PreventCommandDuringRecovery("ingest_load()");
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

	if (options->mode == INGEST_MODE_REPLACE)
		ingest_load_lock_replaced(relid);
	target = ingest_load_open_target(relid, RowExclusiveLock, options->columns);
	if (options->mode == INGEST_MODE_REPLACE)
		ingest_load_check_replace(target);
	load.spec = ingest_input_resolve(target, source, options, 0, -1);
	ingest_load_run(&load, options, target, true, &report);
	report.source = source;
	table_close(target, NoLock);

	tuple = ingest_report_tuple(&report, tupdesc);
	ingest_report_remember(get_func_namespace(fcinfo->flinfo->fn_oid),
						   "ingest_load", tuple, tupdesc);
	PG_RETURN_DATUM(HeapTupleGetDatum(tuple));
}
