/*-------------------------------------------------------------------------
 *
 * choose.c
 *		Which strategy does a load.
 *
 * A writer knows what it cannot do and says why (IngestWriter.unusable).  A
 * strategy that cannot do a load is replaced by its fallback, and that by its
 * own; "copy", at the end of every such chain, can do every load.  The reason
 * that counts is the first one, that of the strategy the user has named.
 *
 * "auto" has no writer.  auto_rules[] says what is taken for it, the first
 * rule that applies; each rule gives the reason that the report shows.  It
 * takes only what locks no more than COPY does, but for mode replace, which
 * the user has asked for.
 *
 * Mode replace is no matter of speed: a strategy that would add rows instead
 * is never taken for one that cannot replace them.
 *
 * IDENTIFICATION
 *		src/choose.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "catalog/pg_inherits.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "choose.h"
#include "compat.h"

/*
 * Rows below which "direct" does not pay.  Page-level loading has a cost per
 * load that row-level loading does not have; the study behind workload W1
 * puts the point where they meet at about 1000 rows.
 */
#define AUTO_DIRECT_ROWS	1000

/*
 * Bytes of a source that keep a process busy for much longer than starting it
 * takes, some milliseconds.
 */
#define AUTO_BYTES_PER_WORKER	(8 * 1024 * 1024)

typedef enum IngestFallback
{
	INGEST_FALLBACK_NOTICE,
	INGEST_FALLBACK_SILENT,
	INGEST_FALLBACK_ERROR,
} IngestFallback;

static const struct config_enum_entry fallback_options[] = {
	{"notice", INGEST_FALLBACK_NOTICE, false},
	{"silent", INGEST_FALLBACK_SILENT, false},
	{"error", INGEST_FALLBACK_ERROR, false},
	{NULL, 0, false}
};

static int	fallback = INGEST_FALLBACK_NOTICE;

/* What the rules of "auto" look at. */
typedef struct AutoFacts
{
	const IngestOptions *options;
	int64		bytes;			/* of the source, -1 if not known */
	int64		rows;			/* about as many are in it, -1 likewise */
	int			tables;			/* that rows may go to */
	const char *not_direct;		/* why not, or NULL */
	const char *not_online;
} AutoFacts;

/* A rule returns the reason for its strategy, NULL if it does not apply. */
typedef struct AutoRule
{
	const char *(*applies) (const AutoFacts *facts);
	const char *strategy;
} AutoRule;

static const char *commits_on_the_way(const AutoFacts *facts);
static const char *cannot_be_direct(const AutoFacts *facts);
static const char *has_few_rows(const AutoFacts *facts);
static const char *has_few_rows_per_table(const AutoFacts *facts);
static const char *is_large(const AutoFacts *facts);

static const AutoRule auto_rules[] = {
	{commits_on_the_way, "online"},
	{cannot_be_direct, "copy"},
	{has_few_rows, "copy"},
	{has_few_rows_per_table, "copy"},
	{is_large, "direct"},
};

void
ingest_choose_define_settings(void)
{
	DefineCustomEnumVariable("ingest_tools.fallback",
							 "Sets what happens when a strategy cannot be used and another one is.",
							 "Valid values are \"notice\", \"silent\" and \"error\", which fails instead.",
							 &fallback,
							 INGEST_FALLBACK_NOTICE, fallback_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
}

/* ------------------------------------------------------------------------
 * auto
 * ------------------------------------------------------------------------
 */

/*
 * Of those that "auto" may take only "online" can commit while others wait
 * for it, which a user who asks for commits is after.
 */
static const char *
commits_on_the_way(const AutoFacts *facts)
{
	if (facts->options->commit_rows == INGEST_COMMIT_ROWS_END ||
		facts->not_online != NULL)
		return NULL;
	return gettext_noop("the load is to commit on the way");
}

static const char *
cannot_be_direct(const AutoFacts *facts)
{
	return facts->not_direct;
}

static const char *
has_few_rows(const AutoFacts *facts)
{
	return facts->rows < AUTO_DIRECT_ROWS ?
		gettext_noop("the source has few rows") : NULL;
}

/*
 * "direct" adds a page to each table it has a row for, while COPY fills up
 * those that are there.
 */
static const char *
has_few_rows_per_table(const AutoFacts *facts)
{
	return facts->bytes / facts->tables < BLCKSZ ?
		gettext_noop("the source has few rows for each partition") : NULL;
}

static const char *
is_large(const AutoFacts *facts pg_attribute_unused())
{
	return gettext_noop("the source has many rows");
}

/*
 * Size of a file or of its part that is to be loaded, "many" if it still
 * grows; -1 if there is none.
 */
static int64
source_bytes(const IngestSourceSpec *spec)
{
	struct stat st;

	if (spec->kind != INGEST_SOURCE_FILE && spec->kind != INGEST_SOURCE_SPOOL)
		return -1;
	if (ingest_source_grows(spec))
		return PG_INT64_MAX;
	if (spec->end >= 0)
		return spec->end - spec->start;
	if (stat(spec->text, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return Max(0, (int64) st.st_size - spec->start);
}

/*
 * Why a strategy cannot do a load, or NULL.
 */
static const char *
get_obstacle(const IngestStrategy *strategy, Relation rel,
			 const IngestOptions *options, const IngestSourceSpec *spec)
{
	return strategy->writer->unusable == NULL ? NULL :
		strategy->writer->unusable(rel, options, spec);
}

static void
find_facts(Relation rel, const IngestOptions *options,
		   const IngestSourceSpec *spec, AutoFacts *facts)
{
	facts->options = options;
	facts->not_direct = get_obstacle(ingest_strategy_lookup("direct"), rel,
									 options, spec);
	facts->not_online = get_obstacle(ingest_strategy_lookup("online"), rel,
									 options, spec);
	facts->bytes = source_bytes(spec);

	/* a row is about as wide in the file as it is in the table */
	facts->rows = facts->bytes < 0 ? -1 :
		facts->bytes / Max(get_rel_data_width(rel, NULL), 1);
	facts->tables = 1;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		facts->tables = list_length(find_all_inheritors(RelationGetRelid(rel),
														NoLock, NULL));
}

/*
 * Processes for a load: as many as have enough to do, within what the server
 * allows a maintenance command.
 */
static int
choose_workers(const AutoFacts *facts)
{
	int64		workers = facts->bytes / AUTO_BYTES_PER_WORKER;

	return 1 + (int) Min(workers, (int64) max_parallel_maintenance_workers);
}

static void
choose_auto(Relation rel, const IngestOptions *options,
			const IngestSourceSpec *spec, IngestChoice *choice)
{
	AutoFacts	facts;

	find_facts(rel, options, spec, &facts);
	choice->reason = NULL;
	for (size_t i = 0; choice->reason == NULL; i++)
	{
		Assert(i < lengthof(auto_rules));
		choice->reason = auto_rules[i].applies(&facts);
		choice->strategy = ingest_strategy_lookup(auto_rules[i].strategy);
	}
	if (choice->strategy->own_workers &&
		!ingest_options_given(options, "workers"))
		choice->workers = choose_workers(&facts);
}

/* ------------------------------------------------------------------------
 * Fallback
 * ------------------------------------------------------------------------
 */

/*
 * Go from the strategy asked for to the first one that can do the load.
 */
static void
choose_asked(const IngestStrategy *asked, Relation rel,
			 const IngestOptions *options, const IngestSourceSpec *spec,
			 IngestChoice *choice)
{
	const char *obstacle;

	choice->strategy = asked;
	choice->reason = NULL;
	while ((obstacle = get_obstacle(choice->strategy, rel, options,
									spec)) != NULL)
	{
		if (choice->reason == NULL)
			choice->reason = obstacle;
		choice->strategy = ingest_strategy_lookup(choice->strategy->fallback);
	}
}

/*
 * Mode replace: take the strategy asked for, for "auto" the one that can, or
 * raise an error.
 */
static void
choose_replacing(const IngestStrategy *asked, Relation rel,
				 const IngestOptions *options, const IngestSourceSpec *spec,
				 IngestChoice *choice)
{
	const IngestStrategy *strategy = asked;
	const char *obstacle;

	if (asked->writer == NULL)
		strategy = ingest_strategy_lookup("staged");
	if (!strategy->replaces)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("strategy \"%s\" cannot replace the rows of a table",
						strategy->name),
				 errhint("Use strategy staged or auto.")));
	obstacle = get_obstacle(strategy, rel, options, spec);
	if (obstacle != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the rows of table \"%s\" cannot be replaced",
						RelationGetRelationName(rel)),
				 errdetail("The reason is that %s.", _(obstacle))));
	choice->strategy = strategy;
	choice->reason = asked == strategy ? NULL :
		gettext_noop("the rows are to be replaced");
}

void
ingest_choose(const IngestStrategy *asked, Relation rel,
			  const IngestOptions *options, const IngestSourceSpec *spec,
			  IngestChoice *choice)
{
	choice->workers = options->workers;
	if (options->mode == INGEST_MODE_REPLACE)
		choose_replacing(asked, rel, options, spec, choice);
	else if (asked->writer == NULL)
		choose_auto(rel, options, spec, choice);
	else
		choose_asked(asked, rel, options, spec, choice);

	/* whose workers share a transaction does not get several instead */
	if (asked->own_workers && !choice->strategy->own_workers &&
		options->commit_rows == INGEST_COMMIT_ROWS_END)
		choice->workers = 1;
}

/*
 * The names of the strategies that can do a load, for a hint.
 */
static char *
list_usable(Relation rel, const IngestOptions *options,
			const IngestSourceSpec *spec)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < ingest_strategy_count(); i++)
	{
		const IngestStrategy *strategy = ingest_strategy_get(i);

		if (strategy->writer == NULL ||
			get_obstacle(strategy, rel, options, spec) != NULL)
			continue;
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
						 strategy->name);
	}
	return names.data;
}

void
ingest_choose_tell(const IngestStrategy *asked, Relation rel,
				   const IngestOptions *options, const IngestSourceSpec *spec,
				   const IngestChoice *choice)
{
	if (asked->writer == NULL || choice->strategy == asked)
		return;

	if (fallback == INGEST_FALLBACK_ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("strategy \"%s\" cannot be used for table \"%s\"",
						asked->name, RelationGetRelationName(rel)),
				 errdetail("The reason is that %s.", _(choice->reason)),
				 spec == NULL ? 0 :
				 errhint("Use one of: %s.", list_usable(rel, options, spec))));
	if (fallback == INGEST_FALLBACK_NOTICE)
		ereport(NOTICE,
				(errmsg("strategy \"%s\" is used for table \"%s\" instead of \"%s\"",
						choice->strategy->name, RelationGetRelationName(rel),
						asked->name),
				 errdetail("The reason is that %s.", _(choice->reason))));
}

void
ingest_choose_recheck(const IngestStrategy *strategy, Relation rel,
					  const IngestOptions *options,
					  const IngestSourceSpec *spec)
{
	const char *obstacle = get_obstacle(strategy, rel, options, spec);

	if (obstacle != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has changed since the load began",
						RelationGetRelationName(rel)),
				 errdetail("Now strategy \"%s\" cannot be used because %s.",
						   strategy->name, _(obstacle))));
}
