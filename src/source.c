/*-------------------------------------------------------------------------
 *
 * source.c
 *		Bytes in: a server file, the output of a program, the rows of a query,
 *		what the client sends.
 *
 * Each kind of source is a table of three functions; what they share is the
 * IngestSource, which lives in a memory context of its own below the one it
 * was begun in.
 *
 * What is held open, and by whom it is closed when an error takes the context
 * away:
 * - A regular file is a virtual file descriptor, which fd.c may close and
 *	 reopen behind our back and which no end of transaction closes; a reset
 *	 callback of the context does.
 * - Anything else in the file system (a named pipe, a device) cannot be read
 *	 by position as fd.c does, so it is a plain descriptor, closed likewise.
 * - A program's pipe and a query's portal belong to the (sub)transaction; the
 *	 server closes them when it ends, before our context goes, so the callback
 *	 must not touch them.
 * - The connection is the server's, there is nothing to close.
 *
 * Errors, their hints and permission checks are those of COPY (DoCopy(),
 * BeginCopyFrom(), ClosePipeFromProgram() in src/backend/commands).
 *
 * IDENTIFICATION
 *		src/source.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/pg_authid.h"
#include "executor/tuptable.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "client.h"
#include "compat.h"
#include "csv.h"
#include "source.h"

#define PROGRAM_PREFIX		"program:"
#define QUERY_PREFIX		"query:"

/* Bytes of a query's rows to have ready at a time, about. */
#define QUERY_BATCH_BYTES	(64 * 1024)
#define QUERY_BATCH_ROWS	1000

/* One kind of source. */
typedef struct SourceMethods
{
	void		(*open) (IngestSource *source);
	size_t		(*read) (IngestSource *source, char *buf, size_t len);
	void		(*close) (IngestSource *source);	/* may raise errors */
} SourceMethods;

/* Where the server sends a query's rows: into source->rows. */
typedef struct QueryReceiver
{
	DestReceiver pub;
	IngestSource *source;
	FmgrInfo   *output;			/* output function of each column */
	MemoryContext row_context;
} QueryReceiver;

struct IngestSource
{
	IngestSourceSpec spec;
	const SourceMethods *methods;
	MemoryContext context;
	MemoryContextCallback callback;
	int64		bytes_done;
	int64		bytes_total;	/* 0: unknown */

	/* file: one of these, the other is -1 */
	File		file;
	int			fd;

	/* program */
	FILE	   *pipe;
	bool		pipe_eof;

	/* query */
	char	   *portal_name;
	QueryReceiver receiver;
	StringInfoData rows;		/* rendered; rows.cursor is read up to */
	int			ncolumns;
	int64		rows_done;
	bool		query_eof;

	/* client */
	IngestClient *client;
};

static void open_file(IngestSource *source);
static size_t read_file(IngestSource *source, char *buf, size_t len);
static void close_file(IngestSource *source);
static void open_program(IngestSource *source);
static size_t read_program(IngestSource *source, char *buf, size_t len);
static void close_program(IngestSource *source);
static void open_query(IngestSource *source);
static size_t read_query(IngestSource *source, char *buf, size_t len);
static void close_query(IngestSource *source);
static void open_client(IngestSource *source);
static size_t read_client(IngestSource *source, char *buf, size_t len);
static void close_client(IngestSource *source);

static const SourceMethods file_methods = {open_file, read_file, close_file};
static const SourceMethods program_methods = {open_program, read_program, close_program};
static const SourceMethods query_methods = {open_query, read_query, close_query};
static const SourceMethods client_methods = {open_client, read_client, close_client};

static const SourceMethods *const source_methods[] = {
	[INGEST_SOURCE_FILE] = &file_methods,
	[INGEST_SOURCE_PROGRAM] = &program_methods,
	[INGEST_SOURCE_QUERY] = &query_methods,
	[INGEST_SOURCE_SPOOL] = &file_methods,
	[INGEST_SOURCE_CLIENT] = &client_methods,
};

/*
 * Does text begin with a keyword that begins a query, and is it not the
 * beginning of a file name such as table.csv?
 */
static bool
begins_query(const char *text)
{
	static const char *const keywords[] = {"select", "table", "values", "with"};

	for (size_t i = 0; i < lengthof(keywords); i++)
	{
		size_t		len = strlen(keywords[i]);

		if (pg_strncasecmp(text, keywords[i], len) == 0 &&
			(isspace((unsigned char) text[len]) ||
			 (text[len] != '\0' && strchr("(*'\"", text[len]) != NULL)))
			return true;
	}
	return false;
}

IngestSourceSpec *
ingest_source_spec(const char *text)
{
	IngestSourceSpec *spec = palloc0_object(IngestSourceSpec);
	const char *begin = text + strspn(text, " \t\r\n\f\v");

	spec->end = -1;
	spec->first_line = 1;
	if (pg_strncasecmp(begin, PROGRAM_PREFIX, strlen(PROGRAM_PREFIX)) == 0)
	{
		spec->kind = INGEST_SOURCE_PROGRAM;
		text = begin + strlen(PROGRAM_PREFIX);
	}
	else if (pg_strncasecmp(begin, QUERY_PREFIX, strlen(QUERY_PREFIX)) == 0)
	{
		spec->kind = INGEST_SOURCE_QUERY;
		text = begin + strlen(QUERY_PREFIX);
	}
	else if (begins_query(begin))
		spec->kind = INGEST_SOURCE_QUERY;
	else
		spec->kind = INGEST_SOURCE_FILE;
	spec->text = pstrdup(text);
	return spec;
}

void
ingest_source_check_permission(const IngestSourceSpec *spec)
{
	if (spec->kind == INGEST_SOURCE_PROGRAM &&
		!has_privs_of_role(GetUserId(), ROLE_PG_EXECUTE_SERVER_PROGRAM))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 ingest_copy_denied_message("must be superuser or have privileges of the pg_execute_server_program role to COPY to or from an external program",
											"permission denied to COPY to or from an external program",
											"COPY to or from an external program",
											"pg_execute_server_program"),
				 errhint("Anyone can COPY to stdout or from stdin. "
						 "psql's \\copy command also works for anyone.")));

	if (spec->kind == INGEST_SOURCE_FILE &&
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 ingest_copy_denied_message("must be superuser or have privileges of the pg_read_server_files role to COPY from a file",
											"permission denied to COPY from a file",
											"COPY from a file",
											"pg_read_server_files"),
				 errhint("Anyone can COPY to stdout or from stdin. "
						 "psql's \\copy command also works for anyone.")));
}

/*
 * Raise an error for COPY options that only the server's COPY implements.
 */
static void
check_format(const CopyFormatOptions *format)
{
	if (!ingest_copy_is_csv(format))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only the csv format is supported here"),
				 errhint("Use the option FORMAT csv, or load the whole file by strategy copy in one process.")));
	if (ingest_copy_ignores_errors(format))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON_ERROR ignore is not supported here"),
				 errhint("Use the strategy copy.")));
}

const char *
ingest_source_only_copy(const IngestSourceSpec *spec,
						const IngestOptions *options)
{
	if (spec->kind == INGEST_SOURCE_QUERY)
		return NULL;
	if (!ingest_copy_is_csv(&options->copy))
		return gettext_noop("the format is not CSV");
	if (ingest_copy_ignores_errors(&options->copy))
		return gettext_noop("the ON_ERROR option is used");
	return NULL;
}

CopyFormatOptions *
ingest_source_format(const IngestSourceSpec *spec,
					 const IngestOptions *options)
{
	CopyFormatOptions *format = palloc0_object(CopyFormatOptions);

	if (spec->kind == INGEST_SOURCE_QUERY)
	{
		ProcessCopyOptions(NULL, format, true,
						   list_make1(makeDefElem("format",
												  (Node *) makeString("csv"),
												  -1)));
		format->file_encoding = GetDatabaseEncoding();
		return format;
	}

	*format = options->copy;
	check_format(format);
	if (format->file_encoding < 0)
		format->file_encoding = pg_get_client_encoding();
	return format;
}

int
ingest_source_header_lines(const IngestSourceSpec *spec,
						   const CopyFormatOptions *format)
{
	if (spec->kind == INGEST_SOURCE_QUERY ||
		spec->kind == INGEST_SOURCE_SPOOL || spec->start > 0)
		return 0;
	return format->header_line == COPY_HEADER_MATCH ?
		1 : (int) format->header_line;
}

/*
 * The context of a source goes away: close what no one else closes.
 */
static void
release_source(void *arg)
{
	IngestSource *source = (IngestSource *) arg;

	if (source->file >= 0)
		FileClose(source->file);
	source->file = -1;

	if (source->fd >= 0)
	{
		(void) close(source->fd);
		ReleaseExternalFD();
	}
	source->fd = -1;
}

IngestSource *
ingest_source_begin(const IngestSourceSpec *spec, const IngestOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ingest_tools source",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	IngestSource *source = palloc0_object(IngestSource);

	(void) options;				/* the bytes are the same for all options */
	source->context = context;
	source->spec = *spec;
	source->spec.text = pstrdup(spec->text);
	source->methods = source_methods[spec->kind];
	source->file = -1;
	source->fd = -1;
	source->ncolumns = -1;
	source->callback.func = release_source;
	source->callback.arg = source;
	MemoryContextRegisterResetCallback(context, &source->callback);

	source->methods->open(source);

	MemoryContextSwitchTo(old);
	return source;
}

size_t
ingest_source_read(IngestSource *source, char *buf, size_t len)
{
	size_t		got;

	CHECK_FOR_INTERRUPTS();
	got = source->methods->read(source, buf, len);
	source->bytes_done += got;
	return got;
}

int64
ingest_source_bytes_done(const IngestSource *source)
{
	return source->bytes_done;
}

void
ingest_source_read_elsewhere(IngestSource *source, int64 bytes)
{
	source->bytes_done = bytes;
}

int64
ingest_source_bytes_total(const IngestSource *source)
{
	return source->bytes_total;
}

bool
ingest_source_grows(const IngestSourceSpec *spec)
{
	return spec->feed != NULL && !spec->feed->at_end;
}

const IngestSourceSpec *
ingest_source_get_spec(const IngestSource *source)
{
	return &source->spec;
}

int
ingest_source_query_columns(const IngestSource *source)
{
	return source->ncolumns;
}

/*
 * Close the source and free it; raises an error if the program failed.
 */
void
ingest_source_finish(IngestSource *source)
{
	source->methods->close(source);
	MemoryContextDelete(source->context);
}

/*
 * Open what is no regular file.  Its name is given to open(2) once only, as a
 * second reader of a named pipe would take the first one's place.
 */
static int
open_descriptor(IngestSource *source)
{
	int			save_errno;

	if (!AcquireExternalFD())
		return -1;
	source->fd = BasicOpenFile(source->spec.text, O_RDONLY | PG_BINARY);
	if (source->fd < 0)
	{
		save_errno = errno;
		ReleaseExternalFD();
		errno = save_errno;
	}
	return source->fd;
}

static void
open_file(IngestSource *source)
{
	const char *name = source->spec.text;
	struct stat st;
	int			rc;

	/* What cannot be looked at is left to the error of opening it. */
	if (stat(name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		rc = open_descriptor(source);
	else
		rc = source->file = PathNameOpenFile(name, O_RDONLY | PG_BINARY);
	if (rc < 0)
	{
		int			save_errno = errno;

		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", name),
				 (save_errno == ENOENT || save_errno == EACCES) ?
				 errhint("COPY FROM instructs the PostgreSQL server process to read a file. "
						 "You may want a client-side facility such as psql's \\copy.") : 0));
	}

	if (fstat(source->fd >= 0 ? source->fd : FileGetRawDesc(source->file),
			  &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", name)));
	if (S_ISDIR(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a directory", name)));

	if (source->file >= 0 && !ingest_source_grows(&source->spec))
	{
		int64		end = source->spec.end < 0 ? st.st_size : source->spec.end;

		source->bytes_total = Max(end - source->spec.start, 0);
	}
}

/*
 * Have the bytes at a position of the file, if there are any.
 */
static void
feed_up_to(const IngestSourceSpec *spec, int64 position)
{
	while (ingest_source_grows(spec) && spec->feed->end <= position)
		(void) spec->feed->more(spec->feed);
}

static size_t
read_file(IngestSource *source, char *buf, size_t len)
{
	int64		position = source->spec.start + source->bytes_done;
	ssize_t		got;

	if (source->spec.end >= 0)
		len = Min(len, (size_t) Max(source->spec.end - position, 0));

	/* read(2) takes no more than this at a time on Linux. */
	len = Min(len, (size_t) MaxAllocSize);
	if (len == 0)
		return 0;

	feed_up_to(&source->spec, position);
	if (source->file >= 0)
		got = FileRead(source->file, buf, len, position,
					   WAIT_EVENT_COPY_FILE_READ);
	else
	{
		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
		do
		{
			got = read(source->fd, buf, len);
		} while (got < 0 && errno == EINTR);
		pgstat_report_wait_end();
	}
	if (got < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from COPY file: %m")));
	return got;
}

static void
close_file(IngestSource *source)
{
	release_source(source);
}

static void
open_program(IngestSource *source)
{
	source->pipe = OpenPipeStream(source->spec.text, PG_BINARY_R);
	if (source->pipe == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not execute command \"%s\": %m",
						source->spec.text)));
}

static size_t
read_program(IngestSource *source, char *buf, size_t len)
{
	size_t		got;

	pgstat_report_wait_start(PG_WAIT_EXTENSION);
	got = fread(buf, 1, len, source->pipe);
	pgstat_report_wait_end();
	if (ferror(source->pipe))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from COPY file: %m")));
	if (got == 0)
		source->pipe_eof = true;
	return got;
}

/*
 * Wait for the program and look at how it ended.  A program that was still
 * writing when we stopped to read may die of SIGPIPE.
 */
static void
close_program(IngestSource *source)
{
	int			rc = ClosePipeStream(source->pipe);

	source->pipe = NULL;
	if (rc == -1)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close pipe to external command: %m")));
	if (rc == 0 ||
		(!source->pipe_eof && wait_result_is_signal(rc, SIGPIPE)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("program \"%s\" failed", source->spec.text),
			 errdetail_internal("%s", wait_result_to_str(rc))));
}

/*
 * Error context callback while the query is analyzed: a cursor position
 * points into the query's text, not into the command of the client.
 */
static void
query_error_callback(void *arg)
{
	const char *text = (const char *) arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
	errcontext("source query");
}

/*
 * Parse, check and plan a query that must only read.
 */
static PlannedStmt *
plan_query(const char *text)
{
	List	   *statements = pg_parse_query(text);
	RawStmt    *raw;
	SelectStmt *select;
	Query	   *query;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("source query must be a single statement")));
	raw = linitial_node(RawStmt, statements);

	select = IsA(raw->stmt, SelectStmt) ? (SelectStmt *) raw->stmt : NULL;
	if (select == NULL || select->intoClause != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("source query must be a SELECT, VALUES or TABLE statement")));

	query = linitial_node(Query,
						  pg_analyze_and_rewrite_fixedparams(raw, text, NULL,
															 0, NULL));
	if (query->commandType != CMD_SELECT || query->hasModifyingCTE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("source query must not change data")));

	return pg_plan_queryCompat(query, text, CURSOR_OPT_NO_SCROLL, NULL);
}

/*
 * Start executing the query in a portal of its own, as a cursor does
 * (PerformCursorOpen() in portalcmds.c).
 */
static Portal
start_query(const char *text)
{
	ErrorContextCallback callback;
	PlannedStmt *plan;
	Portal		portal;
	MemoryContext old;

	callback.callback = query_error_callback;
	callback.arg = unconstify(char *, text);
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	PushActiveSnapshot(GetTransactionSnapshot());
	plan = plan_query(text);
	PopActiveSnapshot();

	portal = CreateNewPortal();
	portal->visible = false;
	old = MemoryContextSwitchTo(portal->portalContext);
	PortalDefineQuery(portal, NULL, pstrdup(text), CMDTAG_SELECT,
					  list_make1(copyObject(plan)), NULL);
	MemoryContextSwitchTo(old);
	portal->cursorOptions = CURSOR_OPT_NO_SCROLL;
	PortalStart(portal, NULL, 0, InvalidSnapshot);
	Assert(portal->strategy == PORTAL_ONE_SELECT);

	error_context_stack = callback.previous;
	return portal;
}

/*
 * Make values read the same in any session, as postgres_fdw does for those
 * it sends (set_transmission_modes()).  Returns the nesting level to return
 * to, or 0 if the settings are good as they are.
 */
static int
set_portable_output(void)
{
	int			level;

	if (DateStyle == USE_ISO_DATES && IntervalStyle == INTSTYLE_POSTGRES &&
		extra_float_digits > 0)
		return 0;

	level = NewGUCNestLevel();
	(void) set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("intervalstyle", "postgres", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("extra_float_digits", "3", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * DestReceiver: append a row to source->rows.
 */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	QueryReceiver *receiver = (QueryReceiver *) self;
	StringInfo	rows = &receiver->source->rows;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);
	int			level = set_portable_output();

	slot_getallattrs(slot);
	for (int i = 0; i < receiver->source->ncolumns; i++)
	{
		if (i > 0)
			appendStringInfoChar(rows, ',');
		if (!slot->tts_isnull[i])
			ingest_csv_append_field(rows,
									OutputFunctionCall(&receiver->output[i],
													   slot->tts_values[i]));
	}
	appendStringInfoChar(rows, '\n');

	if (level > 0)
		AtEOXact_GUC(true, level);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return true;
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	(void) self;
	(void) operation;
	(void) typeinfo;
}

static void
receiver_shutdown(DestReceiver *self)
{
	(void) self;
}

static void
open_query(IngestSource *source)
{
	QueryReceiver *receiver = &source->receiver;
	Portal		portal = start_query(source->spec.text);
	TupleDesc	tupdesc = portal->tupDesc;

	source->portal_name = pstrdup(portal->name);
	source->ncolumns = tupdesc->natts;
	initStringInfo(&source->rows);

	receiver->pub.receiveSlot = receive_row;
	receiver->pub.rStartup = receiver_startup;
	receiver->pub.rShutdown = receiver_shutdown;
	receiver->pub.rDestroy = receiver_shutdown;
	receiver->pub.mydest = DestNone;
	receiver->source = source;
	receiver->row_context = AllocSetContextCreate(source->context,
												  "ingest_tools row",
												  ALLOCSET_DEFAULT_SIZES);
	receiver->output = palloc_array(FmgrInfo, Max(tupdesc->natts, 1));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(TupleDescAttr(tupdesc, i)->atttypid,
						  &output, &is_varlena);
		fmgr_info(output, &receiver->output[i]);
	}
}

/*
 * Have the portal render more rows, as many as make about QUERY_BATCH_BYTES.
 */
static void
fetch_rows(IngestSource *source)
{
	Portal		portal = GetPortalByName(source->portal_name);
	int64		row_bytes = source->rows_done == 0 ? QUERY_BATCH_BYTES :
		Max(source->bytes_done / source->rows_done, 1);
	int64		count = QUERY_BATCH_BYTES / row_bytes;
	uint64		got;

	if (!PortalIsValid(portal))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("the cursor of the source query was closed")));

	resetStringInfo(&source->rows);
	count = Max(Min(count, QUERY_BATCH_ROWS), 1);
	got = PortalRunFetch(portal, FETCH_FORWARD, count,
						 (DestReceiver *) &source->receiver);
	source->rows_done += got;
	source->query_eof = got == 0;
}

static size_t
read_query(IngestSource *source, char *buf, size_t len)
{
	StringInfo	rows = &source->rows;
	size_t		got;

	if (rows->cursor == rows->len && !source->query_eof)
		fetch_rows(source);

	got = Min(len, (size_t) (rows->len - rows->cursor));
	memcpy(buf, rows->data + rows->cursor, got);
	rows->cursor += got;
	return got;
}

static void
close_query(IngestSource *source)
{
	Portal		portal = GetPortalByName(source->portal_name);

	if (PortalIsValid(portal))
		PortalDrop(portal, false);
}

static void
open_client(IngestSource *source)
{
	source->client = ingest_client_begin(source->spec.client_columns);
}

static size_t
read_client(IngestSource *source, char *buf, size_t len)
{
	return ingest_client_read(source->client, buf, len);
}

static void
close_client(IngestSource *source)
{
	ingest_client_finish(source->client);
}
