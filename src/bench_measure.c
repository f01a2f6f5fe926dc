/*-------------------------------------------------------------------------
 *
 * bench_measure.c
 *		Looking at a clone after a run.
 *
 * It is done in the session that will drop the clone, for a lock on the clone
 * in the caller's own transaction would be in the way of that.  Nobody but
 * the run has written to the clone, so what the WAL has about its relations
 * is the run's.
 *
 * IDENTIFICATION
 *		src/bench_measure.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "bench_measure.h"
#include "load.h"
#include "message.h"
#include "usage_wal.h"

#define MEASURE_JOB		"ingest_bench_measure_job"

/*
 * Run the query and append its row: count and hash.
 */
static void
put_hash(StringInfo reply, const char *sql)
{
	int			nest = NewGUCNestLevel();
	int64		count;
	bool		isnull;
	char	   *hash;

	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(sql, true, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not count the rows of a clone");
	count = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
										SPI_tuptable->tupdesc, 1, &isnull));
	hash = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
	ingest_message_put(reply, &count, sizeof(count));
	ingest_message_put_string(reply, hash ? hash : "");
	SPI_finish();
	AtEOXact_GUC(true, nest);
}

/*
 * Session handler: the reply is count, hash, number of relations, and of each
 * its name, size and usage.
 */
void
ingest_bench_measure_job(StringInfo request, StringInfo reply)
{
	MemoryContext context = CurrentMemoryContext;
	XLogRecPtr	start_lsn,
				end_lsn;
	List	   *relations = NIL;
	ListCell   *lc;
	char	   *hash_sql;
	int32		n;

	hash_sql = ingest_message_get_string(request);
	ingest_message_get(request, &start_lsn, sizeof(start_lsn));
	ingest_message_get(request, &end_lsn, sizeof(end_lsn));
	ingest_message_get(request, &n, sizeof(n));
	for (int i = 0; i < n; i++)
	{
		IngestRelationUsage *usage = palloc_object(IngestRelationUsage);

		ingest_message_get(request, usage, sizeof(*usage));
		relations = lappend(relations, usage);
	}

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	put_hash(reply, hash_sql);
	if (n > 0)
		ingest_wal_attribute(start_lsn, end_lsn, relations);

	relations = ingest_load_name_relations(relations);
	n = list_length(relations);
	ingest_message_put(reply, &n, sizeof(n));
	foreach(lc, relations)
	{
		IngestReportRelation *relation = (IngestReportRelation *) lfirst(lc);

		ingest_message_put_string(reply, relation->name);
		ingest_message_put(reply, &relation->bytes, sizeof(relation->bytes));
		ingest_message_put(reply, &relation->usage, sizeof(relation->usage));
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
}

/*
 * Read the relations of a reply.
 */
static List *
get_relations(StringInfo reply)
{
	List	   *result = NIL;
	int32		n;

	ingest_message_get(reply, &n, sizeof(n));
	for (int i = 0; i < n; i++)
	{
		IngestReportRelation *relation = palloc_object(IngestReportRelation);

		relation->name = ingest_message_get_string(reply);
		ingest_message_get(reply, &relation->bytes, sizeof(relation->bytes));
		ingest_message_get(reply, &relation->usage, sizeof(relation->usage));
		result = lappend(result, relation);
	}
	return result;
}

IngestMeasurement *
ingest_bench_measure(IngestSession *session, const char *hash_sql,
					 const IngestReport *report)
{
	IngestMeasurement *result = palloc_object(IngestMeasurement);
	List	   *relations = report->meter ?
		ingest_meter_relations(report->meter) : NIL;
	StringInfo	request = makeStringInfo();
	StringInfo	reply = makeStringInfo();
	int32		n = list_length(relations);
	ListCell   *lc;

	ingest_message_put_string(request, hash_sql);
	ingest_message_put(request, &report->start_lsn, sizeof(XLogRecPtr));
	ingest_message_put(request, &report->end_lsn, sizeof(XLogRecPtr));
	ingest_message_put(request, &n, sizeof(n));
	foreach(lc, relations)
		ingest_message_put(request, lfirst(lc), sizeof(IngestRelationUsage));

	ingest_session_send(session, MEASURE_JOB, request);
	ingest_session_wait(&session, 1, &reply, 1000, NULL, NULL);

	ingest_message_get(reply, &result->count, sizeof(result->count));
	result->hash = ingest_message_get_string(reply);
	result->relations = get_relations(reply);
	return result;
}
