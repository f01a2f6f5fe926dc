/*-------------------------------------------------------------------------
 *
 * options.h
 *		What the user asked for, whichever way it was said.
 *
 * Options arrive as the text that stands between the parentheses of COPY's
 * WITH.  The server's own parser and ProcessCopyOptions() read it, so that
 * there is one grammar and COPY's options mean what they mean in COPY.
 *
 * IDENTIFICATION
 *		src/options.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_OPTIONS_H
#define INGEST_OPTIONS_H

#include "postgres.h"

#include "commands/copy.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "parser/parse_node.h"

/* How a commit waits for its WAL; the names are those of workload W4. */
typedef enum IngestCommitMode
{
	INGEST_COMMIT_IMMEDIATE_WAIT,	/* synchronous_commit on */
	INGEST_COMMIT_BATCH_WAIT,	/* on, with commit_delay */
	INGEST_COMMIT_IMMEDIATE_NOWAIT, /* synchronous_commit off */
	INGEST_COMMIT_BATCH_NOWAIT, /* off, with commit_delay */
} IngestCommitMode;

typedef enum IngestIndexMode
{
	INGEST_INDEX_AUTO,
	INGEST_INDEX_ROW,
	INGEST_INDEX_SORTED,
	INGEST_INDEX_REBUILD,
} IngestIndexMode;

/* What becomes of the rows that are there. */
typedef enum IngestLoadMode
{
	INGEST_MODE_APPEND,
	INGEST_MODE_REPLACE,
} IngestLoadMode;

/* Values of IngestOptions.commit_rows that are not a number of rows. */
#define INGEST_COMMIT_ROWS_END		0	/* once, at the end */
#define INGEST_COMMIT_ROWS_DYNAMIC	(-1)	/* at a dynamic interval */

#define INGEST_DEFAULT_BATCH_ROWS	1000

/* Largest batch_rows: past it no published curve still rises. */
#define INGEST_MAX_BATCH_ROWS		1000000

/* Bytes at which INSERT ... VALUES is split unless told otherwise (W5). */
#define INGEST_DEFAULT_SPLIT_BYTES	(256 * 1024)

/* Largest number of processes one load may ask for. */
#define INGEST_MAX_WORKERS			1024

typedef struct IngestOptions
{
	/* COPY's own options */
	CopyFormatOptions copy;		/* as ProcessCopyOptions() understood them */
	List	   *copy_list;		/* the same as DefElems, without ours */

	/* ours */
	List	   *own_given;		/* names (char *) of those that were given */
	List	   *columns;		/* column names (String); NIL means all */
	const char *strategy;		/* name asked for */
	int			workers;		/* processes that load, the leader included */
	int			batch_rows;		/* rows of one INSERT ... VALUES */
	int64		split_bytes;	/* a statement is cut here; 0 means never */
	int			commit_rows;	/* rows between commits, or the values above */
	IngestCommitMode commit_mode;
	IngestIndexMode index_mode;
	IngestLoadMode mode;
	bool		analyze;		/* statistics of what has been replaced */
} IngestOptions;

/* in options.c */
extern void ingest_options_define_settings(void);
extern IngestOptions *ingest_options_parse(const char *text);

/*
 * The same for a COPY command's own list of options, for which the settings
 * give the defaults of ours; the strategy is NULL if none is named.  Those of
 * the server are not looked at before ingest_options_process_copy().
 */
extern IngestOptions *ingest_options_read_command(const CopyStmt *stmt);
extern void ingest_options_process_copy(IngestOptions *options,
										ParseState *pstate);

/* Is one of ours among a COPY command's options? */
extern bool ingest_options_any_own(List *options);

extern void ingest_options_use_dialect(IngestOptions *options,
									   const char *copy_text);
extern void ingest_options_remove_header(IngestOptions *options);

/* Has the user given this option of ours? */
extern bool ingest_options_given(const IngestOptions *options,
								 const char *name);
extern char *ingest_options_text(const IngestOptions *options);
extern const char *ingest_commit_mode_name(IngestCommitMode mode);
extern IngestCommitMode ingest_commit_mode_lookup(const char *name);
extern const char *ingest_index_mode_name(IngestIndexMode mode);
extern IngestIndexMode ingest_index_mode_lookup(const char *name);

/* settings, in options.c */
extern int	ingest_wait_sample_interval;	/* milliseconds */

#endif							/* INGEST_OPTIONS_H */
