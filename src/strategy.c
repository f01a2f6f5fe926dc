/*-------------------------------------------------------------------------
 *
 * strategy.c
 *		The table of strategies, and the function that shows it.
 *
 * A strategy is a row of strategy_table[]: a writer and what is true of it.
 * Nothing else in the tree asks which strategy runs, but for choose.c, which
 * picks one where "auto" is asked for.
 *
 * IDENTIFICATION
 *		src/strategy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "strategy.h"

static const IngestStrategy strategy_table[] = {
	{
		.name = "insert",
		.summary = "one INSERT statement per row",
		.writer = &ingest_writer_insert,
		.fallback = "copy",
		.commits_at_rows = true,
		.commits_dynamically = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_END,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock",
	},
	{
		.name = "insert_prepared",
		.summary = "one execution of a prepared INSERT per row",
		.writer = &ingest_writer_insert_prepared,
		.fallback = "copy",
		.commits_at_rows = true,
		.commits_dynamically = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_END,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock",
	},
	{
		.name = "insert_values",
		.summary = "INSERT ... VALUES of batch_rows rows, cut at split_bytes",
		.writer = &ingest_writer_insert_values,
		.fallback = "copy",
		.uses_batch_rows = true,
		.uses_split_bytes = true,
		.commits_at_rows = true,
		.commits_dynamically = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_END,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock",
	},
	{
		.name = "copy",
		.summary = "the server's own COPY",
		.writer = &ingest_writer_copy,
		.commits_at_rows = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_END,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock",
	},
	{
		.name = "online",
		.summary = "rows inserted without SQL, row by row with indexes, triggers and foreign keys",
		.writer = &ingest_writer_rows,
		.fallback = "copy",
		.commits_at_rows = true,
		.commits_dynamically = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_DYNAMIC,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock",
	},
	{
		.name = "direct",
		.summary = "whole pages built in parallel, indexes afterwards from sorted keys",
		.writer = &ingest_writer_direct,
		.fallback = "online",
		.uses_index_mode = true,
		.own_workers = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_END,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock",
	},
	{
		.name = "staged",
		.summary = "rows put into unseen storage in parallel without WAL, checked there, then added, or put in the place of the table's at once",
		.writer = &ingest_writer_staged,
		.fallback = "direct",
		.own_workers = true,
		.replaces = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_END,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock; to replace: ShareUpdateExclusiveLock, AccessExclusiveLock at the end",
	},
	{
		.name = "auto",
		.summary = "direct, copy or online, as table, source and options suggest; the report says why",
		.own_workers = true,
		.default_commit_rows = INGEST_COMMIT_ROWS_END,
		.fires_triggers = true,
		.logged = true,
		.lock = "RowExclusiveLock",
	},
};

int
ingest_strategy_count(void)
{
	return lengthof(strategy_table);
}

const IngestStrategy *
ingest_strategy_get(int i)
{
	Assert(i >= 0 && i < (int) lengthof(strategy_table));
	return &strategy_table[i];
}

/*
 * Position of a strategy in ingest_strategies(), counted from 1.
 */
int
ingest_strategy_number(const IngestStrategy *strategy)
{
	return (int) (strategy - strategy_table) + 1;
}

/*
 * Find a strategy by name; an error lists those there are.
 */
const IngestStrategy *
ingest_strategy_lookup(const char *name)
{
	StringInfoData names;

	for (size_t i = 0; i < lengthof(strategy_table); i++)
	{
		if (pg_strcasecmp(name, strategy_table[i].name) == 0)
			return &strategy_table[i];
	}

	initStringInfo(&names);
	for (size_t i = 0; i < lengthof(strategy_table); i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "",
						 strategy_table[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized strategy \"%s\"", name),
			 errhint("Use one of: %s.", names.data)));
	return NULL;				/* keep compiler quiet */
}

PG_FUNCTION_INFO_V1(ingest_strategies);

/*
 * ingest_strategies() returns the table as a set of rows.
 *
 * "atomic" is about ingest_load() in the caller's transaction; in background
 * sessions each transaction commits by itself whatever the strategy.
 */
Datum
ingest_strategies(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);

	for (size_t i = 0; i < lengthof(strategy_table); i++)
	{
		const IngestStrategy *strategy = &strategy_table[i];
		Datum		values[9];
		bool		nulls[9] = {false};

		values[0] = CStringGetTextDatum(strategy->name);
		values[1] = CStringGetTextDatum(strategy->summary);
		values[2] = BoolGetDatum(true); /* atomic */
		values[3] = BoolGetDatum(strategy->logged); /* crash_safe */
		values[4] = BoolGetDatum(strategy->logged); /* replicated */
		values[5] = BoolGetDatum(strategy->fires_triggers);
		values[6] = CStringGetTextDatum(strategy->lock);
		values[7] = BoolGetDatum(strategy->uses_batch_rows);
		values[8] = CStringGetTextDatum(strategy->default_commit_rows ==
										INGEST_COMMIT_ROWS_DYNAMIC ?
										"dynamic" : "once");
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	return (Datum) 0;
}
