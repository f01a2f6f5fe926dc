/*-------------------------------------------------------------------------
 *
 * parse.h
 *		Records of a source to rows of a table.
 *
 * A parser belongs to one source and one target.  It copies what it needs of
 * the target's definition, holds no relation open, and may live through
 * several transactions.
 *
 * IDENTIFICATION
 *		src/parse.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_PARSE_H
#define INGEST_PARSE_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "options.h"
#include "scan.h"
#include "source.h"

typedef struct IngestParser IngestParser;

/* A field that holds COPY's DEFAULT marker points here (16 and later). */
extern const char ingest_field_default[];

/* in parse.c */
extern IngestParser *ingest_parse_begin(Relation target,
										const IngestOptions *options,
										IngestSource *source);

/*
 * The target's columns that the source supplies, in the source's order, as
 * a list of attribute numbers.  Checks are COPY's: generated columns, unknown
 * and repeated names are refused with its errors.
 */
extern List *ingest_parse_attnums(const IngestParser *parser);

/*
 * Next record as text fields in the order of ingest_parse_attnums(), each
 * NUL-terminated and in the server's encoding, NULL for SQL NULL; valid until
 * the next call.  Returns false at the end.
 */
extern bool ingest_parse_fields(IngestParser *parser, char ***fields);

/*
 * Next record as a virtual tuple of the target, with the input functions
 * called and defaults of the missing columns filled in (evaluated in
 * econtext's per-tuple memory, where by-reference values live too).
 */
extern bool ingest_parse_slot(IngestParser *parser, ExprContext *econtext,
							  TupleTableSlot *slot);

/*
 * Is there no more record?  Reads on where it takes that to know; the record
 * in hand is not valid afterwards.
 */
extern bool ingest_parse_at_end(IngestParser *parser);

/*
 * Whether a default that ingest_parse_slot() evaluates is volatile, nextval()
 * apart: it may look at the target, so rows must not wait in a buffer.
 */
extern bool ingest_parse_volatile_defaults(const IngestParser *parser);

/*
 * For writers that keep rows in a buffer.  The length of the record in hand
 * in bytes of the server's encoding, without its line end; its line number as
 * the error context shows it; and a way to have the error context name
 * another line instead, without its text (0: the record in hand again).
 */
extern int	ingest_parse_record_length(const IngestParser *parser);
extern int64 ingest_parse_line(const IngestParser *parser);
extern void ingest_parse_set_line(IngestParser *parser, int64 line);

/*
 * Error context callback, "COPY t, line 12, column b: ..." as COPY words it;
 * arg is the parser.
 */
extern void ingest_parse_error_callback(void *arg);

/*
 * Pass over the header lines of a source that is scanned from its beginning,
 * and raise the errors a parser of it would raise up to there: about columns,
 * options, and the header itself.  Its bytes are appended to header.
 */
extern void ingest_parse_pass_header(Relation target,
									 const IngestOptions *options,
									 const IngestSourceSpec *spec,
									 IngestScan *scan, StringInfo header);

/*
 * Cut a file or spool into at most n pieces of about equal size, each of
 * whole records, the header (if the options say there is one) left out and
 * checked (HEADER MATCH); not more than max_rows records altogether if
 * max_rows >= 0.  Returns a palloc'd array, its length in *nranges (0 when
 * there are no records).
 */
extern IngestSourceRange *ingest_parse_ranges(Relation target,
											  const IngestOptions *options,
											  const IngestSourceSpec *spec,
											  int n, int64 max_rows,
											  int *nranges);

extern void ingest_parse_finish(IngestParser *parser);

#endif							/* INGEST_PARSE_H */
