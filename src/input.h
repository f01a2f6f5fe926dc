/*-------------------------------------------------------------------------
 *
 * input.h
 *		From the source a user names to one that a load can read.
 *
 * IDENTIFICATION
 *		src/input.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_INPUT_H
#define INGEST_INPUT_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "options.h"
#include "source.h"

/* Generated rows where the user does not say how many. */
#define INGEST_DEFAULT_GENERATED_ROWS	100000

/* in input.c */

/* Does the user's text mean generated rows? */
extern bool ingest_input_is_generated(const char *text);

/* The query that yields the target's own rows, for the columns given. */
extern char *ingest_input_target_query(Relation target, List *attnums);

/*
 * Understand the user's text (NULL or "generate:..." for generated rows, else
 * as in source.h), check the caller's permission to read it, and give options
 * the dialect the source has.  first and rows say which part of the endless
 * series of generated rows is meant; rows may be -1.
 */
extern IngestSourceSpec *ingest_input_resolve(Relation target,
											  const char *text,
											  IngestOptions *options,
											  int64 first, int64 rows);

/*
 * Make it a source that several processes can read, the same bytes each time:
 * a plain file stays what it is; anything else is read once, at most max_rows
 * rows of it (all if negative), into a spool that lives as long as
 * CurrentMemoryContext, and options become those of the spool.
 */
extern IngestSourceSpec *ingest_input_share(Relation target,
											const IngestSourceSpec *spec,
											IngestOptions *options,
											int64 max_rows);

/*
 * For loads in this process and its parallel workers: what a client, a program
 * or a pipe sends can become a spool that grows while it is read, with about
 * first_bytes to begin with.
 */
extern bool ingest_input_is_stream(const IngestSourceSpec *spec);
extern IngestSourceSpec *ingest_input_stream(Relation target,
											 const IngestSourceSpec *spec,
											 IngestOptions *options,
											 int64 first_bytes);

#endif							/* INGEST_INPUT_H */
