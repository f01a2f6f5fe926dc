/*-------------------------------------------------------------------------
 *
 * bench_plan.c
 *		Arguments of ingest_bench() to a list of runs.
 *
 * The runs are the product of the array arguments, without those that would
 * differ only in something that makes no difference to their strategy.
 * Everything that can be wrong with the arguments is found here, before any
 * process is started.
 *
 * IDENTIFICATION
 *		src/bench_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "bench_plan.h"

/* More runs than this in one call are taken for a mistake. */
#define MAX_RUNS		10000

/* The arguments, in the order of the SQL function. */
enum
{
	ARG_TARGET,
	ARG_SOURCE,
	ARG_OPTIONS,
	ARG_ROWS,
	ARG_STRATEGIES,
	ARG_BATCH_ROWS,
	ARG_WORKERS,
	ARG_COMMIT_MODES,
	ARG_INDEX_MODES,
	ARG_COMMIT_ROWS,
	ARG_PRELOAD,
	ARG_REPEAT,
	ARG_CHECKPOINT,
};

static const char *const argument_names[] = {
	"target", "source", "options", "rows", "strategies", "batch_rows",
	"workers", "commit_modes", "index_modes", "commit_rows", "preload",
	"repeat", "checkpoint",
};

/* An array argument; a NULL array has n = 0. */
typedef struct ArrayArg
{
	int			n;
	Datum	   *values;
	bool	   *nulls;
} ArrayArg;

static void
null_argument_error(int arg)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("argument \"%s\" must not be null", argument_names[arg])));
}

static void
range_error(int arg, int64 value, int64 min, int64 max)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%lld is outside the valid range of argument \"%s\"",
					(long long) value, argument_names[arg]),
			 errdetail("Valid values are from %lld to %lld.",
					   (long long) min, (long long) max)));
}

/*
 * An integer argument within its range, or the value for NULL.
 */
static int64
get_number(FunctionCallInfo fcinfo, int arg, bool is_bigint,
		   int64 if_null, int64 min, int64 max)
{
	int64		value;

	if (PG_ARGISNULL(arg))
		return if_null;
	value = is_bigint ? PG_GETARG_INT64(arg) : PG_GETARG_INT32(arg);
	if (value < min || value > max)
		range_error(arg, value, min, max);
	return value;
}

static ArrayArg
get_array(FunctionCallInfo fcinfo, int arg, Oid type)
{
	ArrayArg	result = {0};
	int16		len;
	bool		byval;
	char		align;

	if (PG_ARGISNULL(arg))
		return result;

	get_typlenbyvalalign(type, &len, &byval, &align);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(arg), type, len, byval, align,
					  &result.values, &result.nulls, &result.n);
	if (result.n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be an empty array",
						argument_names[arg])));
	return result;
}

/*
 * An array of integers within a range; a NULL array is one with if_null in
 * it, and so is a NULL element.
 */
static int *
get_int_array(FunctionCallInfo fcinfo, int arg, int if_null, int min, int max,
			  int *n)
{
	ArrayArg	array = get_array(fcinfo, arg, INT4OID);
	int		   *result = palloc_array(int, Max(array.n, 1));

	*n = Max(array.n, 1);
	result[0] = if_null;
	for (int i = 0; i < array.n; i++)
	{
		result[i] = array.nulls[i] ? if_null : DatumGetInt32(array.values[i]);
		if (!array.nulls[i] && (result[i] < min || result[i] > max))
			range_error(arg, result[i], min, max);
	}
	return result;
}

/*
 * An array of names, each through a function that knows them.
 */
static int *
get_name_array(FunctionCallInfo fcinfo, int arg, int (*lookup) (const char *),
			   int if_null, int *n)
{
	ArrayArg	array = get_array(fcinfo, arg, TEXTOID);
	int		   *result = palloc_array(int, Max(array.n, 1));

	*n = Max(array.n, 1);
	result[0] = if_null;
	for (int i = 0; i < array.n; i++)
	{
		if (array.nulls[i])
			null_argument_error(arg);
		result[i] = lookup(TextDatumGetCString(array.values[i]));
	}
	return result;
}

static int
lookup_commit_mode(const char *name)
{
	return (int) ingest_commit_mode_lookup(name);
}

static int
lookup_index_mode(const char *name)
{
	return (int) ingest_index_mode_lookup(name);
}

/*
 * The strategies asked for; by default all that can do what the option "mode"
 * says, but for "auto", which would be one of the others once more.
 */
static const IngestStrategy **
get_strategies(FunctionCallInfo fcinfo, const IngestOptions *options, int *n)
{
	ArrayArg	array = get_array(fcinfo, ARG_STRATEGIES, TEXTOID);
	const IngestStrategy **result;

	result = palloc_array(const IngestStrategy *,
						  Max(array.n, ingest_strategy_count()));
	*n = 0;
	for (int i = 0; array.n == 0 && i < ingest_strategy_count(); i++)
	{
		const IngestStrategy *strategy = ingest_strategy_get(i);

		if (strategy->writer != NULL &&
			strategy->replaces == (options->mode == INGEST_MODE_REPLACE))
			result[(*n)++] = strategy;
	}
	for (int i = 0; i < array.n; i++)
	{
		if (array.nulls[i])
			null_argument_error(ARG_STRATEGIES);
		result[(*n)++] =
			ingest_strategy_lookup(TextDatumGetCString(array.values[i]));
	}
	return result;
}

/*
 * Add a run unless it is there already.
 */
static void
add_run(IngestBenchPlan *plan, const IngestBenchRun *run)
{
	for (int i = 0; i < plan->nruns; i++)
	{
		const IngestBenchRun *other = &plan->runs[i];

		if (other->strategy == run->strategy &&
			other->batch_rows == run->batch_rows &&
			other->workers == run->workers &&
			other->commit_mode == run->commit_mode &&
			other->index_mode == run->index_mode &&
			other->commit_rows == run->commit_rows)
			return;
	}
	plan->runs[plan->nruns++] = *run;
}

/*
 * Multiply the array arguments out.
 */
static void
build_runs(FunctionCallInfo fcinfo, IngestBenchPlan *plan)
{
	const IngestOptions *options = plan->options;
	int			nstrategies,
				nbatches,
				nworkers,
				nmodes,
				nindexes,
				ncommits;
	const IngestStrategy **strategies = get_strategies(fcinfo, options,
															   &nstrategies);
	int		   *batches = get_int_array(fcinfo, ARG_BATCH_ROWS,
										options->batch_rows, 1,
										INGEST_MAX_BATCH_ROWS, &nbatches);
	int		   *workers = get_int_array(fcinfo, ARG_WORKERS, options->workers,
										1, INGEST_MAX_WORKERS, &nworkers);
	int		   *modes = get_name_array(fcinfo, ARG_COMMIT_MODES,
									   lookup_commit_mode,
									   options->commit_mode, &nmodes);
	int		   *indexes = get_name_array(fcinfo, ARG_INDEX_MODES,
										 lookup_index_mode,
										 options->index_mode, &nindexes);
	int		   *commits = get_int_array(fcinfo, ARG_COMMIT_ROWS, INT_MIN, 1,
										INT_MAX, &ncommits);
	double		product = (double) nstrategies * nbatches * nworkers *
		nmodes * nindexes * ncommits;

	if (product * plan->repeat > MAX_RUNS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the arguments ask for %.0f runs", product * plan->repeat),
				 errdetail("At most %d are done in one call.", MAX_RUNS)));

	plan->runs = palloc_array(IngestBenchRun, (int) product);
	for (int i = 0; i < (int) product; i++)
	{
		IngestBenchRun run = {0};
		int			rest = i;

		/* the last argument changes fastest */
		run.commit_rows = commits[rest % ncommits];
		rest /= ncommits;
		run.index_mode = indexes[rest % nindexes];
		rest /= nindexes;
		run.commit_mode = modes[rest % nmodes];
		rest /= nmodes;
		run.workers = workers[rest % nworkers];
		rest /= nworkers;
		run.batch_rows = batches[rest % nbatches];
		rest /= nbatches;
		run.strategy = strategies[rest];

		if (run.commit_rows == INT_MIN)
			run.commit_rows = run.strategy->default_commit_rows;
		if (!run.strategy->uses_batch_rows)
			run.batch_rows = options->batch_rows;
		if (run.commit_rows > 0 && !run.strategy->commits_at_rows)
			run.commit_rows = INGEST_COMMIT_ROWS_END;
		if (!run.strategy->uses_index_mode)
			run.index_mode = options->index_mode;
		add_run(plan, &run);
	}
}

/*
 * What differs between runs is said by the arguments alone; the same in the
 * options would have no effect.
 */
static void
check_options(const IngestOptions *options)
{
	static const char *const replaced[][2] = {
		{"batch_rows", "batch_rows"},
		{"commit_mode", "commit_modes"},
		{"commit_rows", "commit_rows"},
		{"index_mode", "index_modes"},
		{"strategy", "strategies"},
		{"workers", "workers"},
	};
	ListCell   *lc;

	foreach(lc, options->own_given)
	{
		const char *name = (const char *) lfirst(lc);

		for (size_t i = 0; i < lengthof(replaced); i++)
		{
			if (strcmp(name, replaced[i][0]) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("option \"%s\" is not for ingest_bench()", name),
						 errhint("Use the argument \"%s\".", replaced[i][1])));
		}
	}
}

/*
 * Read and check the arguments; the result is in CurrentMemoryContext.
 */
IngestBenchPlan *
ingest_bench_plan(FunctionCallInfo fcinfo)
{
	IngestBenchPlan *plan = palloc0_object(IngestBenchPlan);

	if (PG_ARGISNULL(ARG_TARGET))
		null_argument_error(ARG_TARGET);
	plan->relid = PG_GETARG_OID(ARG_TARGET);
	if (!PG_ARGISNULL(ARG_SOURCE))
		plan->source = text_to_cstring(PG_GETARG_TEXT_PP(ARG_SOURCE));
	plan->options = ingest_options_parse(PG_ARGISNULL(ARG_OPTIONS) ? "" :
										 text_to_cstring(PG_GETARG_TEXT_PP(ARG_OPTIONS)));
	check_options(plan->options);
	plan->rows = get_number(fcinfo, ARG_ROWS, true, -1, 1, PG_INT64_MAX);
	plan->preload = get_number(fcinfo, ARG_PRELOAD, true, 0, 0, PG_INT64_MAX / 2);
	plan->repeat = (int) get_number(fcinfo, ARG_REPEAT, false, 1, 1, 1000);
	plan->checkpoint = PG_ARGISNULL(ARG_CHECKPOINT) ||
		PG_GETARG_BOOL(ARG_CHECKPOINT);
	build_runs(fcinfo, plan);

	return plan;
}

const IngestBenchRun *
ingest_bench_run(const IngestBenchPlan *plan, int n, int *repetition)
{
	int			r = n / plan->nruns;

	*repetition = r + 1;
	return &plan->runs[(n % plan->nruns + r) % plan->nruns];
}
