/*-------------------------------------------------------------------------
 *
 * spool.h
 *		The rows of a source in a temporary file.
 *
 * IDENTIFICATION
 *		src/spool.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_SPOOL_H
#define INGEST_SPOOL_H

#include "postgres.h"

#include "utils/relcache.h"

#include "options.h"
#include "source.h"

/* in spool.c */

/*
 * Read a source, at most max_rows rows of it (all if negative), into a
 * temporary file that other processes of the server can open by its path.
 * Returns a spec of those rows; the bytes are the source's own, and the spec
 * begins after its header lines, which have been checked as the options say.
 * The file goes away with CurrentMemoryContext.
 */
extern IngestSourceSpec *ingest_spool_source(Relation target,
											 const IngestSourceSpec *spec,
											 const IngestOptions *options,
											 int64 max_rows);

/*
 * The same for all rows, but return as soon as there are that many bytes: the
 * spec has a feed for the others.
 */
extern IngestSourceSpec *ingest_spool_begin(Relation target,
											const IngestSourceSpec *spec,
											const IngestOptions *options,
											int64 first_bytes);

#endif							/* INGEST_SPOOL_H */
