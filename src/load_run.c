/*-------------------------------------------------------------------------
 *
 * load_run.c
 *		A load that a user has asked for, by a function or by COPY.
 *
 * The load belongs to the caller's transaction unless the options ask for
 * what one transaction cannot give: several processes that write, commits on
 * the way, or a commit mode.  Then background sessions do it and commit.
 *
 * IDENTIFICATION
 *		src/load_run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "input.h"
#include "load.h"

bool
ingest_load_needs_sessions(const IngestOptions *options,
						   const IngestStrategy *strategy)
{
	return (options->workers > 1 && !strategy->own_workers) ||
		options->commit_rows != INGEST_COMMIT_ROWS_END ||
		options->commit_mode != INGEST_COMMIT_IMMEDIATE_WAIT;
}

/*
 * Load by background sessions.
 */
static void
load_by_sessions(IngestLoad *load, IngestOptions *options, Relation target,
				 bool tell, IngestReport *report)
{
	if (options->mode == INGEST_MODE_REPLACE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rows can be replaced only in the transaction of the command"),
				 errhint("Leave out the options about commits, and workers where the strategy is neither staged nor auto.")));
	ingest_load_check_shared(target);
	load->spec = ingest_input_share(target, load->spec, options, -1);
	ingest_load_choose(load, target, tell, report);
	ingest_load_sessions(load, target, -1, report);
	report->relations =
		ingest_load_name_relations(ingest_meter_relations(report->meter));
}

void
ingest_load_run(IngestLoad *load, IngestOptions *options, Relation target,
				bool tell, IngestReport *report)
{
	ingest_report_init(report);
	ingest_load_describe(load, report);
	report->target =
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(target)),
								   RelationGetRelationName(target));
	if (ingest_load_needs_sessions(options, load->strategy))
		load_by_sessions(load, options, target, tell, report);
	else
		ingest_load_here(load, tell, report);
}
