/*-------------------------------------------------------------------------
 *
 * write_insert.c
 *		Writers that say it in SQL: INSERT, prepared INSERT, multi-row INSERT.
 *
 * They do what a client does that has the rows as text: a statement is text
 * with every value as a literal, which the server parses, plans and executes
 * through SPI; a prepared statement gets its values as parameters that went
 * through the types' input functions, as they do in the extended protocol's
 * Bind.  What a client's round trip and the network cost is not in it.
 *
 * INSERT does what COPY does with two exceptions that are bridged here: COPY
 * stores what the source has for GENERATED ALWAYS AS IDENTITY columns, so the
 * statements say OVERRIDING SYSTEM VALUE; and COPY ignores rules, so a target
 * with rules is refused.
 *
 * A statement never grows past MAX_STATEMENT_BYTES: a frontend message is
 * limited to MaxAllocSize (PQ_LARGE_MESSAGE_LIMIT in libpq/libpq.h).
 *
 * IDENTIFICATION
 *		src/write_insert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "write.h"

/* Room is left for the row that makes a statement too long. */
#define MAX_STATEMENT_BYTES		(MaxAllocSize / 4)

/* Statements that are longer are not shown whole with an error. */
#define MAX_SHOWN_BYTES			1000

/* How an input function is called for one parameter. */
typedef struct ParamType
{
	Oid			typid;
	FmgrInfo	input;
	Oid			ioparam;
} ParamType;

/* One transaction's part of a load; in the transaction's context. */
typedef struct InsertState
{
	int			nfields;		/* columns the source supplies */
	StringInfoData statement;	/* INSERT ... VALUES and the rows so far */
	int			prefix_len;		/* length of it up to VALUES */
	int			nrows;			/* rows in the statement */
	int64		first_line;		/* line of the source where it begins */
	MemoryContext batch_context;	/* reset after each statement */

	/* prepared statement */
	SPIPlanPtr	plan;
	ParamType  *params;
	Datum	   *values;
	char	   *nulls;
} InsertState;

static const char *
insert_unusable(Relation rel, const IngestOptions *options,
				const IngestSourceSpec *spec)
{
	if (rel->rd_rel->relhasrules && rel->rd_rules != NULL)
		return gettext_noop("the table has rules, which COPY does not follow and INSERT does");
	return ingest_source_only_copy(spec, options);
}

/* A parameter of a prepared statement cannot say DEFAULT. */
static const char *
prepared_unusable(Relation rel, const IngestOptions *options,
				  const IngestSourceSpec *spec)
{
	if (spec->kind != INGEST_SOURCE_QUERY &&
		ingest_copy_default_marker(&options->copy) != NULL)
		return gettext_noop("the DEFAULT option is used");
	return insert_unusable(rel, options, spec);
}

/*
 * Write "INSERT INTO s.t (columns) OVERRIDING SYSTEM VALUE VALUES ".  A source
 * without columns, as COPY allows for a table that has none, gives rows of
 * defaults.
 */
static void
build_prefix(InsertState *state, Relation rel, List *attnums)
{
	StringInfo	buf = &state->statement;
	ListCell   *lc;

	initStringInfo(buf);
	appendStringInfo(buf, "INSERT INTO %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	if (attnums != NIL)
	{
		appendStringInfoString(buf, " (");
		foreach(lc, attnums)
		{
			Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel),
												  lfirst_int(lc) - 1);

			appendStringInfo(buf, "%s%s", lc == list_head(attnums) ? "" : ", ",
							 quote_identifier(NameStr(att->attname)));
		}
		appendStringInfoString(buf, ") OVERRIDING SYSTEM VALUE VALUES ");
	}
	else
		appendStringInfoString(buf, " DEFAULT VALUES");
	state->prefix_len = buf->len;
}

/*
 * Begin a transaction's part: connect to SPI and write the statement's start.
 * The state is allocated before SPI_connect() changes the context.
 */
static void *
insert_begin(IngestWriteTarget *target)
{
	InsertState *state = palloc0_object(InsertState);
	List	   *attnums = ingest_parse_attnums(target->parser);
	Relation	rel = table_open(target->relid, RowExclusiveLock);

	build_prefix(state, rel, attnums);
	table_close(rel, NoLock);

	state->nfields = list_length(attnums);
	state->batch_context = AllocSetContextCreate(CurrentMemoryContext,
												 "ingest_tools statement",
												 ALLOCSET_DEFAULT_SIZES);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	return state;
}

/*
 * Prepare the INSERT with one parameter per column.
 */
static void *
prepared_begin(IngestWriteTarget *target)
{
	InsertState *state = insert_begin(target);
	List	   *attnums = ingest_parse_attnums(target->parser);
	Relation	rel = table_open(target->relid, NoLock);
	Oid		   *types = palloc_array(Oid, state->nfields + 1);
	ListCell   *lc;

	state->params = palloc_array(ParamType, state->nfields + 1);
	state->values = palloc_array(Datum, state->nfields + 1);
	state->nulls = palloc_array(char, state->nfields + 1);

	foreach(lc, attnums)
	{
		int			i = foreach_current_index(lc);
		ParamType  *param = &state->params[i];
		Oid			input;

		param->typid = TupleDescAttr(RelationGetDescr(rel),
									 lfirst_int(lc) - 1)->atttypid;
		getTypeInputInfo(param->typid, &input, &param->ioparam);
		fmgr_info(input, &param->input);
		types[i] = param->typid;
		appendStringInfo(&state->statement, "%s$%d", i == 0 ? "(" : ", ", i + 1);
	}
	if (attnums != NIL)
		appendStringInfoChar(&state->statement, ')');
	table_close(rel, NoLock);

	state->plan = SPI_prepare(state->statement.data, state->nfields, types);
	if (state->plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return state;
}

/*
 * Errors show the line of the source, as COPY's do.
 */
static void
push_error_context(IngestWriteTarget *target, ErrorContextCallback *callback)
{
	callback->callback = ingest_parse_error_callback;
	callback->arg = target->parser;
	callback->previous = error_context_stack;
	error_context_stack = callback;
}

/*
 * Take the next record; sets target->at_end and returns false if there is
 * none.
 */
static bool
next_fields(IngestWriteTarget *target, char ***fields)
{
	if (!ingest_parse_fields(target->parser, fields))
	{
		target->at_end = true;
		return false;
	}
	target->rows_read++;
	return true;
}

/*
 * The same, with the line shown if it is wrong.
 */
static bool
next_row_fields(IngestWriteTarget *target, char ***fields)
{
	ErrorContextCallback callback;
	bool		found;

	push_error_context(target, &callback);
	found = next_fields(target, fields);
	error_context_stack = callback.previous;
	return found;
}

/*
 * Append a row of literals: ('a', NULL, DEFAULT).
 */
static void
append_row(InsertState *state, char **fields)
{
	StringInfo	buf = &state->statement;

	for (int i = 0; i < state->nfields; i++)
	{
		appendStringInfoString(buf, i == 0 ? "(" : ", ");
		if (fields[i] == NULL)
			appendStringInfoString(buf, "NULL");
		else if (fields[i] == ingest_field_default)
			appendStringInfoString(buf, "DEFAULT");
		else
		{
			char	   *literal = quote_literal_cstr(fields[i]);

			appendStringInfoString(buf, literal);
			pfree(literal);
		}
	}
	if (state->nfields > 0)
		appendStringInfoChar(buf, ')');
	state->nrows++;
}

/*
 * Execute the statement.
 */
static void
execute_insert(IngestWriteTarget *target, InsertState *state)
{
	if (SPI_execute(state->statement.data, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not execute INSERT");
	target->rows_loaded += SPI_processed;
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Make the statement empty again, and forget what its values needed.
 */
static void
reset_statement(InsertState *state)
{
	state->statement.len = state->prefix_len;
	state->statement.data[state->prefix_len] = '\0';
	state->nrows = 0;
	MemoryContextReset(state->batch_context);
}

/*
 * In a PG_CATCH block: raise the error again, with the part of a long
 * statement that it is about, and the lines of the source that were in it.
 */
static void
rethrow_clipped(IngestWriteTarget *target, InsertState *state,
				MemoryContext context)
{
	ErrorData  *edata;

	MemoryContextSwitchTo(context);
	edata = CopyErrorData();
	FlushErrorState();

	if (edata->internalquery && strlen(edata->internalquery) > MAX_SHOWN_BYTES)
	{
		int			start = edata->internalpos > MAX_SHOWN_BYTES / 2 ?
			edata->internalpos - MAX_SHOWN_BYTES / 2 : 0;
		int			skip = pg_mbcharcliplen(edata->internalquery,
											strlen(edata->internalquery), start);
		char	   *shown = edata->internalquery + skip;

		edata->internalquery =
			pnstrdup(shown, pg_mbcliplen(shown, strlen(shown), MAX_SHOWN_BYTES));
		edata->internalpos -= start;
	}
	if (edata->context && strlen(edata->context) > MAX_SHOWN_BYTES)
		edata->context = pnstrdup(edata->context,
								  pg_mbcliplen(edata->context,
											   strlen(edata->context),
											   MAX_SHOWN_BYTES));
	edata->context = psprintf("%s%slines " INT64_FORMAT " to " INT64_FORMAT " of the source",
							  edata->context ? edata->context : "",
							  edata->context ? "\n" : "",
							  state->first_line,
							  ingest_parse_line(target->parser));
	ReThrowError(edata);
}

/*
 * Execute a statement of many rows and make it empty again.
 */
static void
execute_statement(IngestWriteTarget *target, InsertState *state)
{
	MemoryContext context = CurrentMemoryContext;

	if (state->nrows == 0)
		return;

	ingest_meter_phase(target->meter, INGEST_PHASE_WRITE);
	PG_TRY();
	{
		execute_insert(target, state);
	}
	PG_CATCH();
	{
		rethrow_clipped(target, state, context);
	}
	PG_END_TRY();
	reset_statement(state);
	ingest_meter_phase(target->meter, INGEST_PHASE_READ);
}

/*
 * Insert one row by a statement of its own.
 */
static void
insert_row(IngestWriteTarget *target, InsertState *state, char **fields)
{
	append_row(state, fields);
	execute_insert(target, state);
	reset_statement(state);
}

/*
 * Insert one row by an execution of the prepared statement.
 */
static void
insert_prepared_row(IngestWriteTarget *target, InsertState *state,
					char **fields)
{
	for (int i = 0; i < state->nfields; i++)
	{
		ParamType  *param = &state->params[i];

		state->values[i] = InputFunctionCall(&param->input, fields[i],
											 param->ioparam, -1);
		state->nulls[i] = fields[i] == NULL ? 'n' : ' ';
	}
	if (SPI_execute_plan(state->plan, state->values, state->nulls, false,
						 0) != SPI_OK_INSERT)
		elog(ERROR, "could not execute prepared INSERT");
	target->rows_loaded += SPI_processed;
	SPI_freetuptable(SPI_tuptable);
	MemoryContextReset(state->batch_context);
}

/*
 * Insert rows one by one.  The meter stays in one phase for the whole call:
 * looking at the clock twice for every row would cost more than it tells.
 */
static void
write_each(IngestWriteTarget *target, InsertState *state, int64 max_rows,
		   void (*insert) (IngestWriteTarget *, InsertState *, char **))
{
	MemoryContext old = MemoryContextSwitchTo(state->batch_context);
	int64		n = max_rows > 0 ? Min(max_rows, 1000) : 1000;
	ErrorContextCallback callback;
	char	  **fields;

	ingest_meter_phase(target->meter, INGEST_PHASE_WRITE);
	push_error_context(target, &callback);
	while (n-- > 0 && next_fields(target, &fields))
	{
		CHECK_FOR_INTERRUPTS();
		insert(target, state, fields);
	}
	target->at_end = ingest_parse_at_end(target->parser);
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
}

static void
insert_write(IngestWriteTarget *target, void *arg, int64 max_rows)
{
	write_each(target, (InsertState *) arg, max_rows, insert_row);
}

static void
prepared_write(IngestWriteTarget *target, void *arg, int64 max_rows)
{
	write_each(target, (InsertState *) arg, max_rows, insert_prepared_row);
}

/*
 * Statements of batch_rows rows, cut into smaller ones at split_bytes (the
 * split policy of workload W5).
 */
static void
values_write(IngestWriteTarget *target, void *arg, int64 max_rows)
{
	InsertState *state = (InsertState *) arg;
	const IngestOptions *options = target->options;
	int64		limit = options->split_bytes > 0 ?
		Min(options->split_bytes, (int64) MAX_STATEMENT_BYTES) :
		(int64) MAX_STATEMENT_BYTES;
	int64		n = max_rows > 0 ? Min(max_rows, options->batch_rows) :
		options->batch_rows;
	char	  **fields;

	ingest_meter_phase(target->meter, INGEST_PHASE_READ);
	while (n-- > 0 && next_row_fields(target, &fields))
	{
		MemoryContext old = MemoryContextSwitchTo(state->batch_context);

		CHECK_FOR_INTERRUPTS();
		if (state->nrows == 0)
			state->first_line = ingest_parse_line(target->parser);
		else
			appendStringInfoString(&state->statement, ", ");
		append_row(state, fields);
		MemoryContextSwitchTo(old);

		/* DEFAULT VALUES has no multi-row form. */
		if (state->statement.len >= limit || state->nfields == 0)
		{
			if (limit == (int64) MAX_STATEMENT_BYTES && state->nfields > 0)
				ereport(NOTICE,
						(errmsg("statement cut after %d rows", state->nrows),
						 errdetail("A statement may not be larger than %zu bytes.",
								   (size_t) MAX_STATEMENT_BYTES)));
			execute_statement(target, state);
		}
	}
	execute_statement(target, state);
	target->at_end = ingest_parse_at_end(target->parser);
}

static void
insert_finish(IngestWriteTarget *target, void *arg)
{
	InsertState *state = (InsertState *) arg;

	MemoryContextDelete(state->batch_context);
	if (state->plan)
		SPI_freeplan(state->plan);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	ingest_meter_phase(target->meter, INGEST_PHASE_SETUP);
}

const IngestWriter ingest_writer_insert = {
	.name = "insert",
	.needs_parser = true,
	.unusable = insert_unusable,
	.begin = insert_begin,
	.write = insert_write,
	.finish = insert_finish,
};

const IngestWriter ingest_writer_insert_prepared = {
	.name = "insert_prepared",
	.needs_parser = true,
	.unusable = prepared_unusable,
	.begin = prepared_begin,
	.write = prepared_write,
	.finish = insert_finish,
};

const IngestWriter ingest_writer_insert_values = {
	.name = "insert_values",
	.needs_parser = true,
	.unusable = insert_unusable,
	.begin = insert_begin,
	.write = values_write,
	.finish = insert_finish,
};
