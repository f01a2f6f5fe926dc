/*-------------------------------------------------------------------------
 *
 * options.c
 *		Reading and checking of options, and the settings of the extension.
 *
 * The text of options is wrapped into a COPY command and given to the
 * server's raw parser, so that the grammar is COPY's and stays COPY's in
 * every version.  The DefElems that come back are ours if they stand in
 * option_table[]; the rest go to ProcessCopyOptions(), which knows what the
 * server of this version allows and words the errors.
 *
 * All errors about options are raised here, before anything is touched.
 *
 * IDENTIFICATION
 *		src/options.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "options.h"

/* One of our options: its name and the function that reads its value. */
typedef struct OptionDef
{
	const char *name;
	void		(*read) (IngestOptions *options, DefElem *def);
} OptionDef;

static void read_analyze(IngestOptions *options, DefElem *def);
static void read_batch_rows(IngestOptions *options, DefElem *def);
static void read_columns(IngestOptions *options, DefElem *def);
static void read_commit_mode(IngestOptions *options, DefElem *def);
static void read_commit_rows(IngestOptions *options, DefElem *def);
static void read_index_mode(IngestOptions *options, DefElem *def);
static void read_mode(IngestOptions *options, DefElem *def);
static void read_split_bytes(IngestOptions *options, DefElem *def);
static void read_strategy(IngestOptions *options, DefElem *def);
static void read_workers(IngestOptions *options, DefElem *def);

static const OptionDef option_table[] = {
	{"analyze", read_analyze},
	{"batch_rows", read_batch_rows},
	{"columns", read_columns},
	{"commit_mode", read_commit_mode},
	{"commit_rows", read_commit_rows},
	{"index_mode", read_index_mode},
	{"mode", read_mode},
	{"split_bytes", read_split_bytes},
	{"strategy", read_strategy},
	{"workers", read_workers},
};

/* The settings; each is the default of the option of its name in COPY. */
static bool analyze_setting = true;
static int	batch_rows_setting = INGEST_DEFAULT_BATCH_ROWS;
static int	commit_mode_setting = INGEST_COMMIT_IMMEDIATE_WAIT;
static int	commit_rows_setting = INGEST_COMMIT_ROWS_END;
static int	index_mode_setting = INGEST_INDEX_AUTO;
static int	split_bytes_setting = INGEST_DEFAULT_SPLIT_BYTES;
static int	workers_setting = 0;

/* Names of the modes, in the order of their values. */
static const struct config_enum_entry commit_mode_values[] = {
	{"immediate_wait", INGEST_COMMIT_IMMEDIATE_WAIT, false},
	{"batch_wait", INGEST_COMMIT_BATCH_WAIT, false},
	{"immediate_nowait", INGEST_COMMIT_IMMEDIATE_NOWAIT, false},
	{"batch_nowait", INGEST_COMMIT_BATCH_NOWAIT, false},
	{NULL, 0, false}
};

static const struct config_enum_entry index_mode_values[] = {
	{"auto", INGEST_INDEX_AUTO, false},
	{"row", INGEST_INDEX_ROW, false},
	{"sorted", INGEST_INDEX_SORTED, false},
	{"rebuild", INGEST_INDEX_REBUILD, false},
	{NULL, 0, false}
};

static const struct config_enum_entry mode_values[] = {
	{"append", INGEST_MODE_APPEND, false},
	{"replace", INGEST_MODE_REPLACE, false},
	{NULL, 0, false}
};

/* Text put before the user's options to make a command of them. */
#define COMMAND_PREFIX "COPY t FROM STDIN WITH ("

int			ingest_wait_sample_interval = 10;

/*
 * Define a setting for each option that makes sense for many tables.  "mode"
 * has none: what takes rows away is to be said by the command itself.
 */
static void
define_option_settings(void)
{
	DefineCustomBoolVariable("ingest_tools.analyze",
							 "Collects statistics of a table whose rows COPY has replaced.",
							 NULL,
							 &analyze_setting,
							 true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("ingest_tools.batch_rows",
							"Sets the number of rows of one INSERT statement where COPY is to use strategy insert_values.",
							NULL,
							&batch_rows_setting,
							INGEST_DEFAULT_BATCH_ROWS, 1, INGEST_MAX_BATCH_ROWS,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("ingest_tools.commit_mode",
							 "Sets how commits wait for their WAL where COPY is to commit on the way.",
							 NULL,
							 &commit_mode_setting,
							 INGEST_COMMIT_IMMEDIATE_WAIT, commit_mode_values,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("ingest_tools.commit_rows",
							"Sets the number of rows between commits of a COPY.",
							"0 leaves the commit to the transaction COPY is in, -1 commits at a dynamic interval.",
							&commit_rows_setting,
							INGEST_COMMIT_ROWS_END, INGEST_COMMIT_ROWS_DYNAMIC, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("ingest_tools.index_mode",
							 "Sets how COPY puts the entries of new rows into indexes.",
							 NULL,
							 &index_mode_setting,
							 INGEST_INDEX_AUTO, index_mode_values,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("ingest_tools.split_bytes",
							"Sets the length at which an INSERT statement of strategy insert_values is cut.",
							"0 means never.",
							&split_bytes_setting,
							INGEST_DEFAULT_SPLIT_BYTES, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_BYTE, NULL, NULL, NULL);
	DefineCustomIntVariable("ingest_tools.workers",
							"Sets the number of processes of a COPY.",
							"0 leaves it to strategy auto, and means one process for the others.",
							&workers_setting,
							0, 0, INGEST_MAX_WORKERS,
							PGC_USERSET, 0, NULL, NULL, NULL);
}

/*
 * Define the settings; called once, from _PG_init().
 */
void
ingest_options_define_settings(void)
{
	DefineCustomIntVariable("ingest_tools.wait_sample_interval",
							"Sets the time between two looks at the wait events of working processes.",
							NULL,
							&ingest_wait_sample_interval,
							10, 1, 10000,
							PGC_USERSET,
							GUC_UNIT_MS,
							NULL, NULL, NULL);

	define_option_settings();
	MarkGUCPrefixReserved("ingest_tools");
}

/*
 * Find a name in a list of names; an error names the allowed ones.
 */
static int
lookup_name(const char *what, const char *name,
			const struct config_enum_entry *values)
{
	StringInfoData allowed;

	for (int i = 0; values[i].name != NULL; i++)
	{
		if (pg_strcasecmp(name, values[i].name) == 0)
			return values[i].val;
	}

	initStringInfo(&allowed);
	for (int i = 0; values[i].name != NULL; i++)
		appendStringInfo(&allowed, "%s%s", i > 0 ? ", " : "", values[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized %s \"%s\"", what, name),
			 errhint("Use one of: %s.", allowed.data)));
	return -1;					/* keep compiler quiet */
}

const char *
ingest_commit_mode_name(IngestCommitMode mode)
{
	return commit_mode_values[mode].name;
}

IngestCommitMode
ingest_commit_mode_lookup(const char *name)
{
	return lookup_name("commit mode", name, commit_mode_values);
}

const char *
ingest_index_mode_name(IngestIndexMode mode)
{
	return index_mode_values[mode].name;
}

IngestIndexMode
ingest_index_mode_lookup(const char *name)
{
	return lookup_name("index mode", name, index_mode_values);
}

/*
 * Read an integer option and check its range.
 */
static int
read_int(DefElem *def, int min, int max)
{
	int64		value = defGetInt64(def);

	if (value < min || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%lld is outside the valid range of option \"%s\"",
						(long long) value, def->defname),
				 errdetail("Valid values are from %d to %d.", min, max)));
	return (int) value;
}

static void
read_batch_rows(IngestOptions *options, DefElem *def)
{
	options->batch_rows = read_int(def, 1, INGEST_MAX_BATCH_ROWS);
}

/*
 * columns (a, b): what COPY writes after the table's name.
 */
static void
read_columns(IngestOptions *options, DefElem *def)
{
	if (def->arg == NULL || !IsA(def->arg, List))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument to option \"%s\" must be a list of column names",
						def->defname)));
	options->columns = (List *) def->arg;
}

static void
read_commit_mode(IngestOptions *options, DefElem *def)
{
	options->commit_mode = ingest_commit_mode_lookup(defGetString(def));
}

/*
 * commit_rows: a number of rows, "once" or "dynamic".
 */
static void
read_commit_rows(IngestOptions *options, DefElem *def)
{
	const char *text = defGetString(def);

	if (pg_strcasecmp(text, "once") == 0)
		options->commit_rows = INGEST_COMMIT_ROWS_END;
	else if (pg_strcasecmp(text, "dynamic") == 0)
		options->commit_rows = INGEST_COMMIT_ROWS_DYNAMIC;
	else
		options->commit_rows = read_int(def, 1, INT_MAX);
}

static void
read_index_mode(IngestOptions *options, DefElem *def)
{
	options->index_mode = ingest_index_mode_lookup(defGetString(def));
}

static void
read_analyze(IngestOptions *options, DefElem *def)
{
	options->analyze = defGetBoolean(def);
}

static void
read_mode(IngestOptions *options, DefElem *def)
{
	options->mode = lookup_name("mode", defGetString(def), mode_values);
}

/*
 * split_bytes: a size with an optional unit, or "none".
 */
static void
read_split_bytes(IngestOptions *options, DefElem *def)
{
	const char *text = defGetString(def);
	const char *hint = NULL;
	int			value;

	if (pg_strcasecmp(text, "none") == 0)
	{
		options->split_bytes = 0;
		return;
	}
	if (!parse_int(text, &value, GUC_UNIT_BYTE, &hint) || value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						def->defname, text),
				 hint ? errhint("%s", hint) :
				 errhint("Use a size such as 256kB, or none.")));
	options->split_bytes = value;
}

static void
read_strategy(IngestOptions *options, DefElem *def)
{
	options->strategy = defGetString(def);
}

static void
read_workers(IngestOptions *options, DefElem *def)
{
	options->workers = read_int(def, 1, INGEST_MAX_WORKERS);
}

/*
 * Error context callback while the raw parser runs: make a cursor position
 * point into the text the user wrote, not into our command.
 */
static void
options_error_callback(void *arg)
{
	const char *text = (const char *) arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(Max(position - (int) strlen(COMMAND_PREFIX), 1));
		internalerrquery(text);
	}
	errcontext("ingest_tools options");
}

/*
 * Parse text as the inside of COPY's WITH (...); returns its DefElems.
 */
static List *
parse_option_list(const char *text)
{
	ErrorContextCallback callback;
	List	   *statements;
	CopyStmt   *copy;

	if (text[strspn(text, " \t\r\n\f\v")] == '\0')
		return NIL;

	callback.callback = options_error_callback;
	callback.arg = unconstify(char *, text);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	/* The newline ends a comment in the text. */
	statements = raw_parser(psprintf("%s%s\n)", COMMAND_PREFIX, text),
							RAW_PARSE_DEFAULT);
	error_context_stack = callback.previous;

	copy = list_length(statements) == 1 ?
		(CopyStmt *) linitial_node(RawStmt, statements)->stmt : NULL;
	if (copy == NULL || !IsA(copy, CopyStmt) || copy->whereClause != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("options must be what stands between the parentheses of COPY's WITH"),
				 errdetail("Options are \"%s\".", text)));
	return copy->options;
}

/*
 * Position of an option of ours in option_table, -1 if it is none.  In a
 * command the columns follow the table's name, so "columns" is none there.
 */
static int
find_own_option(const char *name, bool in_command)
{
	for (size_t i = 0; i < lengthof(option_table); i++)
	{
		if (strcmp(name, option_table[i].name) == 0)
			return in_command && option_table[i].read == read_columns ?
				-1 : (int) i;
	}
	return -1;
}

/*
 * Read the options of ours in a list, and put the others into copy_list.
 */
static void
read_option_list(IngestOptions *options, List *defs, bool in_command)
{
	bool		seen[lengthof(option_table)] = {false};
	ListCell   *lc;

	foreach(lc, defs)
	{
		DefElem    *def = lfirst_node(DefElem, lc);
		int			i = find_own_option(def->defname, in_command);

		if (i < 0)
		{
			options->copy_list = lappend(options->copy_list, def);
			continue;
		}
		if (seen[i])
			errorConflictingDefElem(def, NULL);
		seen[i] = true;
		option_table[i].read(options, def);
		options->own_given = lappend(options->own_given,
									 unconstify(char *, option_table[i].name));
	}
}

/*
 * Let the server check COPY's options and remember what it made of them.
 */
void
ingest_options_process_copy(IngestOptions *options, ParseState *pstate)
{
	memset(&options->copy, 0, sizeof(options->copy));
	ProcessCopyOptions(pstate, &options->copy, true, options->copy_list);
}

/*
 * Read and check the text of options; the result is palloc'd.  Names of
 * strategies are checked by who knows them (strategy.c).
 */
IngestOptions *
ingest_options_parse(const char *text)
{
	IngestOptions *options = palloc0_object(IngestOptions);

	options->strategy = "copy";
	options->workers = 1;
	options->batch_rows = INGEST_DEFAULT_BATCH_ROWS;
	options->split_bytes = INGEST_DEFAULT_SPLIT_BYTES;
	options->commit_rows = INGEST_COMMIT_ROWS_END;
	options->analyze = true;

	read_option_list(options, parse_option_list(text), false);
	ingest_options_process_copy(options, NULL);

	return options;
}

/*
 * Options of ours as the settings have them.
 */
static IngestOptions *
options_of_settings(void)
{
	IngestOptions *options = palloc0_object(IngestOptions);

	options->workers = Max(workers_setting, 1);
	if (workers_setting > 0)
		options->own_given = lappend(options->own_given, pstrdup("workers"));
	options->batch_rows = batch_rows_setting;
	options->split_bytes = split_bytes_setting;
	options->commit_rows = commit_rows_setting;
	options->commit_mode = commit_mode_setting;
	options->index_mode = index_mode_setting;
	options->mode = INGEST_MODE_APPEND;
	options->analyze = analyze_setting;
	return options;
}

IngestOptions *
ingest_options_read_command(const CopyStmt *stmt)
{
	IngestOptions *options = options_of_settings();

	read_option_list(options, stmt->options, true);
	options->columns = stmt->attlist;
	return options;
}

bool
ingest_options_any_own(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		if (find_own_option(lfirst_node(DefElem, lc)->defname, true) >= 0)
			return true;
	}
	return false;
}

bool
ingest_options_given(const IngestOptions *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options->own_given)
		if (strcmp((const char *) lfirst(lc), name) == 0)
			return true;
	return false;
}

/*
 * Replace COPY's options by those of copy_text, and keep ours.
 */
void
ingest_options_use_dialect(IngestOptions *options, const char *copy_text)
{
	options->copy_list = parse_option_list(copy_text);
	ingest_options_process_copy(options, NULL);
}

/*
 * Make the options those of a source whose header line is already taken off.
 */
void
ingest_options_remove_header(IngestOptions *options)
{
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, options->copy_list)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "header") != 0)
			rest = lappend(rest, def);
	}
	options->copy_list = rest;
	ingest_options_process_copy(options, NULL);
}

/*
 * Append the value of an option as the grammar reads it.
 */
static void
append_option_value(StringInfo buf, Node *arg)
{
	ListCell   *lc;

	if (arg == NULL)
		return;

	switch (nodeTag(arg))
	{
		case T_A_Star:
			appendStringInfoString(buf, " *");
			break;
		case T_List:
			appendStringInfoString(buf, " (");
			foreach(lc, (List *) arg)
				appendStringInfo(buf, "%s%s",
								 lc == list_head((List *) arg) ? "" : ", ",
								 quote_identifier(strVal(lfirst(lc))));
			appendStringInfoChar(buf, ')');
			break;
		case T_Integer:
			appendStringInfo(buf, " %d", intVal(arg));
			break;
		case T_Float:
			appendStringInfo(buf, " %s", castNode(Float, arg)->fval);
			break;
		case T_String:
			appendStringInfo(buf, " %s", quote_literal_cstr(strVal(arg)));
			break;
		default:
			elog(ERROR, "unexpected node type in option: %d",
				 (int) nodeTag(arg));
	}
}

/*
 * The options as text that ingest_options_parse() reads back.
 */
char *
ingest_options_text(const IngestOptions *options)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	appendStringInfo(&buf, "strategy %s, workers %d, batch_rows %d, commit_mode %s, index_mode %s, mode %s, analyze %s",
					 quote_literal_cstr(options->strategy), options->workers,
					 options->batch_rows,
					 ingest_commit_mode_name(options->commit_mode),
					 ingest_index_mode_name(options->index_mode),
					 mode_values[options->mode].name,
					 options->analyze ? "true" : "false");

	if (options->split_bytes == 0)
		appendStringInfoString(&buf, ", split_bytes none");
	else
		appendStringInfo(&buf, ", split_bytes " INT64_FORMAT,
						 options->split_bytes);

	if (options->commit_rows == INGEST_COMMIT_ROWS_END)
		appendStringInfoString(&buf, ", commit_rows once");
	else if (options->commit_rows == INGEST_COMMIT_ROWS_DYNAMIC)
		appendStringInfoString(&buf, ", commit_rows dynamic");
	else
		appendStringInfo(&buf, ", commit_rows %d", options->commit_rows);

	if (options->columns != NIL)
	{
		appendStringInfoString(&buf, ", columns");
		append_option_value(&buf, (Node *) options->columns);
	}

	foreach(lc, options->copy_list)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		appendStringInfo(&buf, ", %s", quote_identifier(def->defname));
		append_option_value(&buf, def->arg);
	}

	return buf.data;
}
