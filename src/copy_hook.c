/*-------------------------------------------------------------------------
 *
 * copy_hook.c
 *		COPY ... FROM, done by a strategy of ours.
 *
 * A ProcessUtility hook takes a COPY ... FROM that names one of our options,
 * and every one where the setting ingest_tools.strategy is not "off", but in
 * SECURITY DEFINER functions.  All other commands go down the chain of hooks
 * as they came, and so does a COPY that only the server's own COPY can do,
 * without our options; it comes back as whatever COPY makes of it, error or
 * rows.  A COPY that was taken is not seen by hooks further down.
 *
 * Checks that are not ours are the server's or come in its order (DoCopy() in
 * commands/copy.c), so that a command that fails does so as it would there.
 * Our options are read first, before anything is opened.
 *
 * A strategy named in the command that cannot be used is replaced with a
 * notice, as in ingest_load(); where the setting names it, silently: it is
 * meant for commands whose text, and what they print, nobody looks at.
 *
 * IDENTIFICATION
 *		src/copy_hook.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/cmdtag.h"
#include "tcop/dest.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "choose.h"
#include "compat.h"
#include "copy_hook.h"
#include "load.h"

/* Value of the setting that leaves COPY alone; others are those of strategies. */
#define STRATEGY_OFF	0

static int	strategy_setting = STRATEGY_OFF;
static ProcessUtility_hook_type next_hook = NULL;

/* A COPY ... FROM that has been taken. */
typedef struct CopyCommand
{
	CopyStmt   *stmt;
	IngestOptions *options;
	const IngestStrategy *strategy;
	bool		named;			/* the command names the strategy */
	Relation	rel;
	IngestSourceSpec *spec;
} CopyCommand;

/* ------------------------------------------------------------------------
 * What is ours
 * ------------------------------------------------------------------------
 */

/*
 * May the command be one for us?
 *
 * A SECURITY DEFINER function is not to do something else than it says because
 * of its caller's settings: a load in sessions of its own would stay when the
 * function undoes what it has done.
 */
static bool
is_taken(const PlannedStmt *pstmt)
{
	const CopyStmt *stmt = (const CopyStmt *) pstmt->utilityStmt;

	return IsA(stmt, CopyStmt) && stmt->is_from && stmt->relation != NULL &&
		((strategy_setting != STRATEGY_OFF && !InLocalUserIdChange()) ||
		 ingest_options_any_own(stmt->options));
}

/*
 * The strategy asked for: by the command, else by the setting.  A command that
 * has options of ours and names no strategy leaves the choice to us.
 */
static const IngestStrategy *
asked_strategy(CopyCommand *command)
{
	command->named = command->options->strategy != NULL;
	if (!command->named)
		command->options->strategy = strategy_setting == STRATEGY_OFF ? "auto" :
			ingest_strategy_get(strategy_setting - 1)->name;
	return ingest_strategy_lookup(command->options->strategy);
}

/*
 * Why the server's COPY has to do it whatever the strategy, or NULL.
 */
static const char *
only_server(const CopyStmt *stmt, Relation rel)
{
	if (stmt->whereClause != NULL)
		return gettext_noop("the command has a WHERE clause");
	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return gettext_noop("the target is not a table");
	if (IsCatalogRelation(rel))
		return gettext_noop("the target is a system catalog");
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		return gettext_noop("row-level security applies to the table");
	if (XactReadOnly && !rel->rd_islocaltemp)
		return gettext_noop("the transaction is read only");
	if (stmt->filename == NULL && whereToSendOutput != DestRemote)
		return gettext_noop("there is no client to send the data");
	return NULL;
}

/* ------------------------------------------------------------------------
 * Source
 * ------------------------------------------------------------------------
 */

static IngestSourceSpec *
make_spec(const CopyStmt *stmt)
{
	IngestSourceSpec *spec = palloc0_object(IngestSourceSpec);

	if (stmt->filename == NULL)
		spec->kind = INGEST_SOURCE_CLIENT;
	else if (stmt->is_program)
		spec->kind = INGEST_SOURCE_PROGRAM;
	else
		spec->kind = INGEST_SOURCE_FILE;
	spec->text = stmt->filename != NULL ? stmt->filename : "";
	spec->end = -1;
	spec->first_line = 1;
	return spec;
}

/* ------------------------------------------------------------------------
 * The command
 * ------------------------------------------------------------------------
 */

/*
 * The command as the server's COPY takes it.
 */
static PlannedStmt *
without_own_options(const PlannedStmt *pstmt, const IngestOptions *options)
{
	PlannedStmt *result = copyObject(unconstify(PlannedStmt *, pstmt));

	((CopyStmt *) result->utilityStmt)->options =
		copyObject(options->copy_list);
	return result;
}

/*
 * Is the server's COPY to do it, because it must, or because that is what was
 * asked for or chosen?
 */
static bool
leave_to_server(CopyCommand *command, ParseState *pstate)
{
	IngestOptions *options = command->options;
	const IngestStrategy *copy = ingest_strategy_lookup("copy");
	IngestChoice choice;

	choice.strategy = copy;
	choice.reason = only_server(command->stmt, command->rel);
	if (choice.reason != NULL)
	{
		if (command->named)
			ingest_choose_tell(command->strategy, command->rel, options, NULL,
							   &choice);
		return true;
	}

	ingest_options_process_copy(options, pstate);
	if (ingest_load_needs_sessions(options, command->strategy))
		return false;
	if (ingest_load_goes_by_file(command->strategy, command->rel, options,
								 command->spec))
		return false;
	ingest_choose(command->strategy, command->rel, options, command->spec,
				  &choice);
	if (choice.strategy != copy)
		return false;
	if (command->named)
		ingest_choose_tell(command->strategy, command->rel, options,
						   command->spec, &choice);
	return true;
}

/*
 * Load; returns the number of rows.
 */
static uint64
load(CopyCommand *command)
{
	IngestOptions *options = command->options;
	IngestLoad	load;
	IngestReport report;

	command->spec->client_columns =
		list_length(CopyGetAttnums(RelationGetDescr(command->rel),
								   command->rel, options->columns));
	table_close(ingest_load_open_target(RelationGetRelid(command->rel),
										RowExclusiveLock, options->columns),
				NoLock);

	options->strategy = command->strategy->name;
	load.relid = RelationGetRelid(command->rel);
	load.options = options;
	load.strategy = command->strategy;
	load.spec = command->spec;
	ingest_load_run(&load, options, command->rel, command->named, &report);
	report.source = command->stmt->filename;
	ingest_report_remember_command(&report, "COPY");
	return report.rows_loaded;
}

/*
 * Mode replace: the server's COPY cannot do it, so whatever would leave the
 * command to the server is an error.
 */
static void
check_replace(const CopyCommand *command)
{
	const char *obstacle = only_server(command->stmt, command->rel);

	if (obstacle != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the rows of \"%s\" cannot be replaced",
						RelationGetRelationName(command->rel)),
				 errdetail("The reason is that %s.", _(obstacle))));
	ingest_load_check_replace(command->rel);
}

/*
 * Do the command; returns false, and the command without our options, if the
 * server's COPY is to do it.
 */
static bool
take_copy(PlannedStmt *pstmt, const char *query_string,
		  PlannedStmt **for_server, uint64 *processed)
{
	CopyCommand command;
	ParseState *pstate = make_parsestate(NULL);
	bool		taken;

	pstate->p_sourcetext = query_string;
	command.stmt = (CopyStmt *) pstmt->utilityStmt;
	command.options = ingest_options_read_command(command.stmt);
	command.strategy = asked_strategy(&command);
	command.spec = make_spec(command.stmt);

	ingest_source_check_permission(command.spec);
	if (command.options->mode == INGEST_MODE_REPLACE)
		ingest_load_lock_replaced(RangeVarGetRelid(command.stmt->relation,
												   NoLock, true));
	command.rel = table_openrv(command.stmt->relation, RowExclusiveLock);
	if (command.options->mode == INGEST_MODE_REPLACE)
		check_replace(&command);
	taken = !leave_to_server(&command, pstate);
	if (taken)
		*processed = load(&command);
	else
		*for_server = without_own_options(pstmt, command.options);
	table_close(command.rel, NoLock);
	free_parsestate(pstate);
	return taken;
}

static void
copy_hook(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
		  ProcessUtilityContext context, ParamListInfo params,
		  QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	uint64		processed;

	if (is_taken(pstmt) && !IsInParallelMode() && !RecoveryInProgress())
	{
		if (take_copy(pstmt, query_string, &pstmt, &processed))
		{
			if (qc)
				SetQueryCompletion(qc, CMDTAG_COPY, processed);
			return;
		}
	}
	if (next_hook)
		next_hook(pstmt, query_string, read_only_tree, context, params,
				  query_env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query_string, read_only_tree, context,
								params, query_env, dest, qc);
}

/*
 * The values of the setting: "off" and the strategies.
 */
static const struct config_enum_entry *
strategy_values(void)
{
	int			n = ingest_strategy_count();
	struct config_enum_entry *values =
		MemoryContextAllocZero(TopMemoryContext, (n + 2) * sizeof(*values));

	values[0].name = "off";
	values[0].val = STRATEGY_OFF;
	for (int i = 0; i < n; i++)
	{
		values[i + 1].name = ingest_strategy_get(i)->name;
		values[i + 1].val = i + 1;
	}
	return values;
}

void
ingest_copy_hook_install(void)
{
	DefineCustomEnumVariable("ingest_tools.strategy",
							 "Sets the strategy by which COPY FROM loads.",
							 "With \"off\" COPY is the server's own unless a command has an option of ingest_tools.",
							 &strategy_setting,
							 STRATEGY_OFF, strategy_values(),
							 PGC_USERSET, 0, NULL, NULL, NULL);
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = copy_hook;
}
