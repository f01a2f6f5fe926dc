/*-------------------------------------------------------------------------
 *
 * source.h
 *		Bytes in: a server file, the output of a program, the rows of a query,
 *		what the client sends.
 *
 * Whatever the source, what comes out is bytes of CSV.  A query's rows are
 * written as CSV in COPY's default dialect, NULL as an empty unquoted field
 * and every other value quoted.
 *
 * IDENTIFICATION
 *		src/source.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_SOURCE_H
#define INGEST_SOURCE_H

#include "postgres.h"

#include "options.h"

typedef enum IngestSourceKind
{
	INGEST_SOURCE_FILE,			/* a server file, or a byte range of one */
	INGEST_SOURCE_PROGRAM,		/* standard output of a command */
	INGEST_SOURCE_QUERY,		/* the rows of a SELECT, VALUES, WITH or TABLE */
	INGEST_SOURCE_SPOOL,		/* rows we have put in a temporary file */
	INGEST_SOURCE_CLIENT,		/* COPY ... FROM STDIN, over the wire */
} IngestSourceKind;

/*
 * A file that grows while it is read: its bytes come from another source, which
 * one process, the one that made it, reads on.
 */
typedef struct IngestFeed IngestFeed;

struct IngestFeed
{
	/* Add bytes to the file; returns false, with at_end set, if none come. */
	bool		(*more) (IngestFeed *feed);
	int64		end;			/* of the file, so far */
	bool		at_end;
};

/*
 * Where the bytes are.  A spool is only ever named by our own code: its path
 * needs no permission of the caller's.
 */
typedef struct IngestSourceSpec
{
	IngestSourceKind kind;
	const char *text;			/* file name, command, query, spool path, or
								 * "" for the client */
	int			client_columns; /* columns the client is told of */

	/*
	 * Byte range of a file or spool, both at record boundaries; end < 0 means
	 * to the end of the file.  A range that does not begin at 0 has no header
	 * line in it.
	 */
	int64		start;
	int64		end;
	int64		first_line;		/* line number of the first byte, from 1 */

	IngestFeed *feed;			/* a spool that is not complete yet, or NULL;
								 * for this process alone */
} IngestSourceSpec;

/* A piece of a file that begins and ends at record boundaries. */
typedef struct IngestSourceRange
{
	int64		start;
	int64		end;
	int64		first_line;
	int64		rows;			/* records in it */
} IngestSourceRange;

typedef struct IngestSource IngestSource;

/* in source.c */

/*
 * Read the user's one-string form: 'program:CMD', 'query:SQL' or text that
 * begins with SELECT, VALUES, WITH or TABLE, and anything else is a file.
 */
extern IngestSourceSpec *ingest_source_spec(const char *text);

/* Raise COPY's own error (42501 and its hint) if the caller may not read it. */
extern void ingest_source_check_permission(const IngestSourceSpec *spec);

/*
 * How the bytes read: the format the options say, in COPY's terms, with its
 * encoding resolved; for a query COPY's defaults and the server's encoding.
 * Raises an error for what only COPY itself can read.  The result is palloc'd.
 */
extern CopyFormatOptions *ingest_source_format(const IngestSourceSpec *spec,
											   const IngestOptions *options);

/*
 * Why only the server's COPY can read the bytes, or NULL; untranslated.
 */
extern const char *ingest_source_only_copy(const IngestSourceSpec *spec,
										   const IngestOptions *options);

/* Number of header lines at the beginning of the bytes. */
extern int	ingest_source_header_lines(const IngestSourceSpec *spec,
									   const CopyFormatOptions *format);

/*
 * Open, read, close.  The state is allocated in CurrentMemoryContext and
 * whatever it holds open is closed when that context goes away, so an error
 * needs no special care; a file survives the end of a transaction, the others
 * end with the (sub)transaction that opened them.  A read returns 0 at the end
 * of the bytes, and may return less than asked for before.
 */
extern IngestSource *ingest_source_begin(const IngestSourceSpec *spec,
										 const IngestOptions *options);
extern size_t ingest_source_read(IngestSource *source, char *buf, size_t len);
extern int64 ingest_source_bytes_done(const IngestSource *source);

/* Somebody else has read the source's file, that many bytes of it. */
extern void ingest_source_read_elsewhere(IngestSource *source, int64 bytes);
extern int64 ingest_source_bytes_total(const IngestSource *source); /* 0: unknown */

/* Are there bytes that have not come to the file yet? */
extern bool ingest_source_grows(const IngestSourceSpec *spec);

extern const IngestSourceSpec *ingest_source_get_spec(const IngestSource *source);
extern int	ingest_source_query_columns(const IngestSource *source);	/* -1: no query */
extern void ingest_source_finish(IngestSource *source);

#endif							/* INGEST_SOURCE_H */
