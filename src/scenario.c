/*-------------------------------------------------------------------------
 *
 * scenario.c
 *		ingest_scenario(): the whole of a published study beside what it comes
 *		to on this server.
 *
 * A scenario is a table of cases (scenario_*.c).  Its schema and data are made
 * by a keeper session, which drops them whatever becomes of the caller, and
 * every case is a run of ingest_bench().
 *
 * Each run is in a subtransaction that is rolled back, which gives back the
 * locks of ingest_bench(): the keeper could not drop what is locked here.
 *
 * Whether a conclusion of a study holds is decided by what was measured alone:
 * the study says which of two cases takes less time, and so do we, or that it
 * cannot be told because they are too close.
 *
 * IDENTIFICATION
 *		src/scenario.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "load.h"
#include "scenario.h"
#include "session.h"

/* Cases are not told apart if they differ by less than that. */
#define CLOSE_PERCENT		5

/* Fewer rows say nothing. */
#define MIN_ROWS			100

enum
{
	COLUMN_SCENARIO,
	COLUMN_NUMBER,
	COLUMN_DESCRIPTION,
	COLUMN_ELAPSED,
	COLUMN_RATE,
	COLUMN_RATIO,
	COLUMN_PUBLISHED,
	COLUMN_UNIT,
	COLUMN_PUBLISHED_RATIO,
	COLUMN_HOLDS,
	COLUMN_NOTE,
	COLUMN_REPORT,
	NUM_COLUMNS,
};

/* A scenario in progress. */
typedef struct ScenarioState
{
	const IngestScenario *scenario;
	const char *extension;		/* schema, quoted */
	const char *schema;			/* of the scenario, quoted */
	int64		rows;
	IngestSession *keeper;
	bool		in_run;			/* in the subtransaction of a run */
	double	   *elapsed;		/* milliseconds, by case */
} ScenarioState;

static const IngestScenario *const scenarios[] = {
	&ingest_scenario_blob_inline,
	&ingest_scenario_commit_write,
	&ingest_scenario_db2_load,
	&ingest_scenario_polardbx_batch,
	&ingest_scenario_psql_30k,
};

PG_FUNCTION_INFO_V1(ingest_scenario);

static const IngestScenario *
lookup_scenario(const char *name)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < (int) lengthof(scenarios); i++)
	{
		if (strcmp(scenarios[i]->name, name) == 0)
			return scenarios[i];
		appendStringInfo(&names, "%s\"%s\"", i > 0 ? ", " : "",
						 scenarios[i]->name);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized scenario \"%s\"", name),
			 errhint("Scenarios are %s.", names.data)));
}

static int64
scaled_rows(const IngestScenario *scenario, double scale)
{
	double		rows = rint(scenario->rows * scale);

	if (!(scale > 0 && scale <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("scale must be greater than 0 and at most 100")));

	/* the tables of some are divided by twenty */
	return (int64) Max(rows, MIN_ROWS) / 20 * 20;
}

/* The text with $s and $n replaced. */
static char *
expand(const ScenarioState *state, const char *text)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (const char *p = text; *p != '\0'; p++)
	{
		if (p[0] == '$' && p[1] == 's')
			appendStringInfoString(&buf, state->schema);
		else if (p[0] == '$' && p[1] == 'n')
			appendStringInfo(&buf, INT64_FORMAT, state->rows);
		else
		{
			appendStringInfoChar(&buf, *p);
			continue;
		}
		p++;
	}
	return buf.data;
}

/*
 * Make the schema.  It is ours among the running processes by its name, and
 * the command fails should an earlier process of the same ID have left it.
 */
static void
begin_scenario(ScenarioState *state)
{
	state->schema = psprintf("ingest_scenario_%d", MyProcPid);
	state->elapsed = palloc0(state->scenario->ncases * sizeof(double));
	state->keeper = ingest_session_begin("keeper", true);
	if (state->keeper == NULL)
		ingest_load_no_slot_error();
	ingest_session_execute(state->keeper,
						   psprintf("CREATE SCHEMA %s", state->schema));
	ingest_session_set_farewell(state->keeper,
								psprintf("SET LOCAL client_min_messages = warning;"
										 "DROP SCHEMA IF EXISTS %s CASCADE",
										 state->schema));
	ingest_session_execute(state->keeper,
						   expand(state, state->scenario->setup));
}

static void
finish_scenario(ScenarioState *state)
{
	ingest_session_execute(state->keeper,
						   psprintf("SET LOCAL client_min_messages = warning;"
									"DROP SCHEMA IF EXISTS %s CASCADE",
									state->schema));
	ingest_session_set_farewell(state->keeper, NULL);
	ingest_session_finish(state->keeper);
	state->keeper = NULL;
}

/* Does what the study says of the case hold?  Sets note if it cannot be told. */
static void
judge(const ScenarioState *state, int i, Datum *values, bool *isnull)
{
	const IngestScenarioCase *this = &state->scenario->cases[i];
	const IngestScenarioCase *than;
	double		ratio;
	char	   *note = NULL;

	if (this->than > 0)
	{
		than = &state->scenario->cases[this->than - 1];
		ratio = state->elapsed[i] / state->elapsed[this->than - 1];
		values[COLUMN_RATIO] = Float8GetDatum(ratio);
		values[COLUMN_PUBLISHED_RATIO] = Float8GetDatum(this->published /
														than->published);
		isnull[COLUMN_RATIO] = isnull[COLUMN_PUBLISHED_RATIO] = false;
		if (fabs(ratio - 1) * 100 >= CLOSE_PERCENT)
		{
			values[COLUMN_HOLDS] = BoolGetDatum((ratio < 1) ==
												(this->published < than->published));
			isnull[COLUMN_HOLDS] = false;
		}
		else
			note = psprintf("less than %d %% from \"%s\"", CLOSE_PERCENT,
							than->description);
	}
	if (this->note != NULL)
		note = note ? psprintf("%s; %s", note, this->note) :
			pstrdup(this->note);
	if (note != NULL)
	{
		values[COLUMN_NOTE] = CStringGetTextDatum(note);
		isnull[COLUMN_NOTE] = false;
	}
}

/* Put the row of a case, whose run SPI has the report of. */
static void
put_case(ScenarioState *state, int i, ReturnSetInfo *rsinfo)
{
	const IngestScenarioCase *this = &state->scenario->cases[i];
	HeapTuple	tuple;
	Datum		values[NUM_COLUMNS];
	bool		isnull[NUM_COLUMNS];

	if (SPI_processed != 1)
		elog(ERROR, "case \"%s\" of scenario \"%s\" has " UINT64_FORMAT " runs",
			 this->description, state->scenario->name, SPI_processed);
	tuple = SPI_tuptable->vals[0];
	memset(isnull, true, sizeof(isnull));
	values[COLUMN_ELAPSED] = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1,
										   &isnull[COLUMN_ELAPSED]);
	values[COLUMN_RATE] = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2,
										&isnull[COLUMN_RATE]);
	values[COLUMN_REPORT] = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 3,
										  &isnull[COLUMN_REPORT]);
	state->elapsed[i] = DatumGetFloat8(values[COLUMN_ELAPSED]);

	values[COLUMN_SCENARIO] = CStringGetTextDatum(state->scenario->name);
	values[COLUMN_NUMBER] = Int32GetDatum(i + 1);
	values[COLUMN_DESCRIPTION] = CStringGetTextDatum(this->description);
	values[COLUMN_UNIT] = CStringGetTextDatum(state->scenario->unit);
	values[COLUMN_PUBLISHED] = Float8GetDatum(this->published);
	isnull[COLUMN_SCENARIO] = isnull[COLUMN_NUMBER] = false;
	isnull[COLUMN_DESCRIPTION] = false;
	isnull[COLUMN_PUBLISHED] = isnull[COLUMN_UNIT] = this->published == 0;
	judge(state, i, values, isnull);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
}

static void
run_case(ScenarioState *state, int i, ReturnSetInfo *rsinfo)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char	   *bench = expand(state, state->scenario->cases[i].bench);

	BeginInternalSubTransaction(NULL);
	state->in_run = true;
	SPI_connect();
	if (SPI_execute(psprintf("SELECT r.elapsed_ms, r.rows_per_second, r"
							 " FROM %s.ingest_bench(%s) r",
							 state->extension, bench),
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run ingest_bench()");
	put_case(state, i, rsinfo);
	SPI_finish();
	state->in_run = false;
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

/*
 * In a PG_CATCH block: give back the locks of the run, let the keeper clean up,
 * and throw the error again.
 */
static void
rethrow(ScenarioState *state, MemoryContext context, ResourceOwner owner)
{
	ErrorData  *edata;

	MemoryContextSwitchTo(context);
	edata = CopyErrorData();
	FlushErrorState();
	if (state->in_run)
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (state->keeper)
		ingest_session_abandon(&state->keeper, 1);
	ReThrowError(edata);
}

static void
check_context(void)
{
	PreventCommandIfReadOnly("ingest_scenario()");
	PreventCommandIfParallelMode("ingest_scenario()");
	PreventCommandDuringRecovery("ingest_scenario()");

	/* what the keeper makes would not be visible */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ingest_scenario() needs isolation level READ COMMITTED")));
}

/*
 * ingest_scenario(name, scale) returns a row for each case.
 */
Datum
ingest_scenario(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ScenarioState *state = palloc0_object(ScenarioState);

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name must not be null")));
	state->scenario = lookup_scenario(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	state->rows = scaled_rows(state->scenario, PG_ARGISNULL(1) ?
							  state->scenario->scale : PG_GETARG_FLOAT8(1));
	check_context();
	InitMaterializedSRF(fcinfo, 0);
	state->extension = quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));

	PG_TRY();
	{
		begin_scenario(state);
		for (int i = 0; i < state->scenario->ncases; i++)
			run_case(state, i, rsinfo);
		finish_scenario(state);
	}
	PG_CATCH();
	{
		rethrow(state, context, owner);
	}
	PG_END_TRY();

	return (Datum) 0;
}
