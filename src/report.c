/*-------------------------------------------------------------------------
 *
 * report.c
 *		Figures of a load to a row of type ingest_report, and its history.
 *
 * The row's columns are listed once, in the order of the type, in
 * ingest_report_tuple(); the install script has the same list.  Names and
 * units follow pg_stat_statements and pg_stat_wal: times in milliseconds,
 * WAL in bytes, buffers in blocks.
 *
 * The last report of the backend is kept as a tuple in TopMemoryContext, so
 * that it can be looked at after a rollback.
 *
 * IDENTIFICATION
 *		src/report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "compat.h"
#include "index.h"
#include "report.h"
#include "waits.h"

/* Columns of type ingest_report. */
#define REPORT_NCOLS	47

/* The last report of this backend, in TopMemoryContext. */
static HeapTuple last_report = NULL;

/* A row being built: values in the order of the type. */
typedef struct ReportRow
{
	int			n;
	Datum		values[REPORT_NCOLS];
	bool		nulls[REPORT_NCOLS];
} ReportRow;

static const char *const relation_kind_names[] = {
	[INGEST_RELATION_HEAP] = "heap",
	[INGEST_RELATION_INDEX] = "index",
	[INGEST_RELATION_TOAST] = "toast",
	[INGEST_RELATION_TOAST_INDEX] = "toast index",
};

/*
 * Make every figure unknown.
 */
void
ingest_report_init(IngestReport *report)
{
	memset(report, 0, sizeof(*report));
	report->repetition = -1;
	report->batch_rows = -1;
	report->split_bytes = -1;
	report->workers_used = 1;
	report->rows_rejected = 0;
	report->commits = -1;
	report->wal_io.writes = -1;
	report->wal_io.syncs = -1;
	report->wal_io.write_ms = -1;
	report->wal_io.sync_ms = -1;
}

static void
put(ReportRow *row, Datum value, bool isnull)
{
	Assert(row->n < REPORT_NCOLS);
	row->values[row->n] = value;
	row->nulls[row->n] = isnull;
	row->n++;
}

static void
put_text(ReportRow *row, const char *value)
{
	put(row, value ? CStringGetTextDatum(value) : (Datum) 0, value == NULL);
}

static void
put_int4(ReportRow *row, int value)
{
	put(row, Int32GetDatum(value), value < 0);
}

static void
put_int8(ReportRow *row, int64 value)
{
	put(row, Int64GetDatum(value), value < 0);
}

static void
put_float8(ReportRow *row, double value)
{
	put(row, Float8GetDatum(value), value < 0);
}

static void
put_lsn(ReportRow *row, XLogRecPtr value)
{
	put(row, LSNGetDatum(value), XLogRecPtrIsInvalid(value));
}

static void
put_json(ReportRow *row, StringInfo json)
{
	put(row, DirectFunctionCall1(jsonb_in, CStringGetDatum(json->data)), false);
}

/*
 * Append "name": value to a JSON object, null for an unknown figure.
 */
static void
append_figure(StringInfo buf, const char *name, int64 value)
{
	appendStringInfo(buf, ", \"%s\": ", name);
	if (value < 0)
		appendStringInfoString(buf, "null");
	else
		appendStringInfo(buf, INT64_FORMAT, value);
}

/*
 * The phases that took any time, in their order, as a JSON array.
 */
static void
put_phases(ReportRow *row, const IngestMeter *meter)
{
	StringInfoData buf;
	const char *separator = "";

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '[');
	for (int i = 0; i < INGEST_NPHASES; i++)
	{
		const IngestUsage *usage = ingest_meter_usage(meter, i);

		if (usage->elapsed_us == 0)
			continue;
		appendStringInfo(&buf, "%s{\"phase\": \"%s\", \"process_ms\": %.3f, \"cpu_user_ms\": %.3f, \"cpu_system_ms\": %.3f",
						 separator, ingest_phase_name(i),
						 usage->elapsed_us / 1000.0,
						 usage->cpu_user_us / 1000.0,
						 usage->cpu_system_us / 1000.0);
		append_figure(&buf, "wal_records", usage->wal.wal_records);
		append_figure(&buf, "wal_fpi", usage->wal.wal_fpi);
		append_figure(&buf, "wal_bytes", (int64) usage->wal.wal_bytes);
		append_figure(&buf, "shared_blks_hit", usage->buffers.shared_blks_hit);
		append_figure(&buf, "shared_blks_read", usage->buffers.shared_blks_read);
		append_figure(&buf, "shared_blks_dirtied", usage->buffers.shared_blks_dirtied);
		append_figure(&buf, "shared_blks_written", usage->buffers.shared_blks_written);
		appendStringInfoChar(&buf, '}');
		separator = ", ";
	}
	appendStringInfoChar(&buf, ']');
	put_json(row, &buf);
}

/*
 * What was done with an index, if its keys were not simply inserted with each
 * row by the server.
 */
static void
append_index_note(StringInfo buf, int note)
{
	const char *reason;

	if (note == 0)
		return;
	reason = ingest_index_note_reason(note);
	appendStringInfo(buf, ", \"index_mode\": \"%s\", \"leaf_batches\": %s, \"index_reason\": ",
					 ingest_index_note_mode(note),
					 ingest_index_note_leaf_batches(note) ? "true" : "false");
	if (reason)
		escape_json(buf, reason);
	else
		appendStringInfoString(buf, "null");
}

/*
 * The relations as a JSON array.
 */
static void
put_relations(ReportRow *row, List *relations)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '[');
	foreach(lc, relations)
	{
		IngestReportRelation *relation = (IngestReportRelation *) lfirst(lc);
		IngestRelationUsage *usage = &relation->usage;

		if (lc != list_head(relations))
			appendStringInfoString(&buf, ", ");
		appendStringInfoString(&buf, "{\"relation\": ");
		escape_json(&buf, relation->name);
		appendStringInfo(&buf, ", \"kind\": \"%s\"",
						 relation_kind_names[usage->kind]);
		append_figure(&buf, "blks_hit", usage->blks_hit);
		append_figure(&buf, "blks_read", usage->blks_read);
		append_figure(&buf, "blks_dirtied", usage->blks_dirtied);
		append_figure(&buf, "blks_written", usage->blks_written);
		append_figure(&buf, "wal_records", usage->wal_records);
		append_figure(&buf, "wal_fpi", usage->wal_fpi);
		append_figure(&buf, "wal_bytes", usage->wal_bytes);
		append_figure(&buf, "page_updates", usage->page_updates);
		append_figure(&buf, "bytes", relation->bytes);
		append_index_note(&buf, usage->note);
		appendStringInfoChar(&buf, '}');
	}
	appendStringInfoChar(&buf, ']');
	put_json(row, &buf);
}

/*
 * The waits, longest first, as a JSON array.
 */
static void
put_waits(ReportRow *row, const IngestReport *report)
{
	StringInfoData buf;
	ListCell   *lc;

	if (!report->waits_known)
	{
		put(row, (Datum) 0, true);
		return;
	}

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '[');
	foreach(lc, report->waits)
	{
		IngestWait *wait = (IngestWait *) lfirst(lc);

		if (lc != list_head(report->waits))
			appendStringInfoString(&buf, ", ");
		appendStringInfoString(&buf, "{\"type\": ");
		escape_json(&buf, wait->type);
		appendStringInfoString(&buf, ", \"event\": ");
		if (wait->event)
			escape_json(&buf, wait->event);
		else
			appendStringInfoString(&buf, "null");
		appendStringInfo(&buf, ", \"samples\": " INT64_FORMAT ", \"ms\": %.3f}",
						 wait->samples, wait->us / 1000.0);
	}
	appendStringInfoChar(&buf, ']');
	put_json(row, &buf);
}

/*
 * commit_rows as the options write it.
 */
static const char *
commit_rows_text(int commit_rows)
{
	if (commit_rows == INGEST_COMMIT_ROWS_END)
		return "once";
	if (commit_rows == INGEST_COMMIT_ROWS_DYNAMIC)
		return "dynamic";
	return psprintf("%d", commit_rows);
}

void
ingest_report_check_type(TupleDesc tupdesc)
{
	if (tupdesc->natts != REPORT_NCOLS)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("type ingest_report does not match the library"),
				 errhint("Run ALTER EXTENSION ingest_tools UPDATE.")));
}

/*
 * Build the row; tupdesc is that of type ingest_report.
 */
HeapTuple
ingest_report_tuple(const IngestReport *report, TupleDesc tupdesc)
{
	ReportRow	row = {0};
	IngestUsage total;

	ingest_meter_total(report->meter, &total);

	put_text(&row, report->target);
	put_text(&row, report->source);
	put_text(&row, report->strategy);
	put_text(&row, report->strategy_used);
	put_text(&row, report->reason);
	put_int4(&row, report->repetition);
	put_int4(&row, report->batch_rows);
	put_int8(&row, report->split_bytes);
	put_text(&row, report->commits_itself && report->commit_rows_used ?
			 commit_rows_text(report->commit_rows) : NULL);
	put_text(&row, report->commits_itself ?
			 ingest_commit_mode_name(report->commit_mode) : NULL);
	put_text(&row, report->index_mode_used ?
			 ingest_index_mode_name(report->index_mode) : NULL);
	put_int4(&row, report->workers);
	put_int4(&row, report->workers_used);

	put_int8(&row, report->rows_read);
	put_int8(&row, report->rows_loaded);
	put_int8(&row, report->rows_read < 0 ? -1 :
			 report->rows_read - report->rows_loaded - report->rows_rejected);
	put_int8(&row, report->rows_rejected);
	put_int8(&row, report->commits);

	put_float8(&row, report->elapsed_us / 1000.0);
	put_float8(&row, report->elapsed_us <= 0 ? -1 :
			   report->rows_loaded * 1000000.0 / report->elapsed_us);
	put_float8(&row, total.cpu_user_us / 1000.0);
	put_float8(&row, total.cpu_system_us / 1000.0);

	put_int8(&row, total.wal.wal_records);
	put_int8(&row, total.wal.wal_fpi);
	put_int8(&row, (int64) total.wal.wal_bytes);
	put_int8(&row, report->wal_io.writes);
	put_int8(&row, report->wal_io.syncs);
	put_float8(&row, report->wal_io.write_ms);
	put_float8(&row, report->wal_io.sync_ms);

	put_int8(&row, total.buffers.shared_blks_hit);
	put_int8(&row, total.buffers.shared_blks_read);
	put_int8(&row, total.buffers.shared_blks_dirtied);
	put_int8(&row, total.buffers.shared_blks_written);
	put_int8(&row, total.buffers.local_blks_hit);
	put_int8(&row, total.buffers.local_blks_read);
	put_int8(&row, total.buffers.local_blks_dirtied);
	put_int8(&row, total.buffers.local_blks_written);
	put_int8(&row, total.buffers.temp_blks_read);
	put_int8(&row, total.buffers.temp_blks_written);
	put_float8(&row, track_io_timing ?
			   ingest_buffer_read_ms(&total.buffers) : -1);
	put_float8(&row, track_io_timing ?
			   ingest_buffer_write_ms(&total.buffers) : -1);

	put_lsn(&row, report->start_lsn);
	put_lsn(&row, report->end_lsn);
	put_phases(&row, report->meter);
	put_relations(&row, report->relations);
	put_waits(&row, report);
	put(&row, BoolGetDatum(report->verified), !report->verified_known);

	Assert(row.n == REPORT_NCOLS);
	ingest_report_check_type(tupdesc);
	return heap_form_tuple(tupdesc, row.values, row.nulls);
}

/*
 * Add a report to ingest_history, whose other columns have defaults.  Each
 * column is a parameter of its own: of a row as a whole the planner would make
 * a copy for each of its columns, and a report of many relations is large.
 */
static void
append_history(Oid nspoid, const char *function, HeapTuple report,
			   TupleDesc tupdesc)
{
	Oid			types[REPORT_NCOLS + 1] = {TEXTOID};
	Datum		values[REPORT_NCOLS + 1] = {CStringGetTextDatum(function)};
	bool		isnull[REPORT_NCOLS + 1] = {false};
	char		nulls[REPORT_NCOLS + 1];
	StringInfoData sql;

	Assert(tupdesc->natts == REPORT_NCOLS);
	heap_deform_tuple(report, tupdesc, &values[1], &isnull[1]);
	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (function",
					 quote_qualified_identifier(get_namespace_name(nspoid),
												"ingest_history"));
	for (int i = 0; i < REPORT_NCOLS; i++)
	{
		types[i + 1] = TupleDescAttr(tupdesc, i)->atttypid;
		appendStringInfo(&sql, ", %s",
						 quote_identifier(NameStr(TupleDescAttr(tupdesc, i)->attname)));
	}
	appendStringInfoString(&sql, ") VALUES ($1");
	for (int i = 0; i <= REPORT_NCOLS; i++)
	{
		nulls[i] = isnull[i] ? 'n' : ' ';
		if (i > 0)
			appendStringInfo(&sql, ", $%d", i + 1);
	}
	appendStringInfoChar(&sql, ')');

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args(sql.data, REPORT_NCOLS + 1, types, values,
							  nulls, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not add to ingest_history");
	SPI_finish();
}

void
ingest_report_remember(Oid nspoid, const char *function, HeapTuple tuple,
					   TupleDesc tupdesc)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	HeapTuple	copy = heap_copytuple(tuple);

	MemoryContextSwitchTo(old);
	if (last_report != NULL)
		heap_freetuple(last_report);
	last_report = copy;

	append_history(nspoid, function, tuple, tupdesc);
}

void
ingest_report_remember_command(const IngestReport *report, const char *command)
{
	Oid			extension = get_extension_oid("ingest_tools", true);
	Oid			nspoid;
	Oid			type;
	TupleDesc	tupdesc;

	if (!OidIsValid(extension) || XactReadOnly)
		return;
	nspoid = get_extension_schema(extension);
	if (object_aclcheck(NamespaceRelationId, nspoid, GetUserId(),
						ACL_USAGE) != ACLCHECK_OK)
		return;
	type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
						   CStringGetDatum("ingest_report"),
						   ObjectIdGetDatum(nspoid));
	if (!OidIsValid(type))
		return;
	tupdesc = lookup_rowtype_tupdesc_copy(type, -1);
	ingest_report_remember(nspoid, command,
						   ingest_report_tuple(report, tupdesc), tupdesc);
}

PG_FUNCTION_INFO_V1(ingest_last_report);

/*
 * ingest_last_report() returns the last report of this session, NULL if there
 * is none.
 */
Datum
ingest_last_report(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (last_report == NULL ||
		HeapTupleHeaderGetNatts(last_report->t_data) != tupdesc->natts)
		PG_RETURN_NULL();

	PG_RETURN_DATUM(heap_copy_tuple_as_datum(last_report,
											 BlessTupleDesc(tupdesc)));
}
