/*-------------------------------------------------------------------------
 *
 * write.h
 *		Writers: ways to get the rows of a source into a table.
 *
 * IDENTIFICATION
 *		src/write.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_WRITE_H
#define INGEST_WRITE_H

#include "postgres.h"

#include "options.h"
#include "parse.h"
#include "source.h"
#include "usage.h"

/*
 * What a writer works on.  The driver (load.c) owns it and everything in it;
 * all of it lives through the whole load, transactions included.
 */
typedef struct IngestWriteTarget
{
	Oid			relid;
	const IngestOptions *options;
	const IngestSourceSpec *spec;
	IngestMeter *meter;

	/* open source and parser; NULL for a writer that has no rows callback */
	IngestSource *source;
	IngestParser *parser;

	MemoryContext context;		/* lives as long as the load */

	/* kept by the writer */
	int64		rows_read;
	int64		rows_loaded;
	bool		rows_read_unknown;	/* rows_read is only a lower bound */
	bool		at_end;			/* the source has no more rows */
	bool		begun;			/* begin has been called before */
	const char *reason;			/* why it was not done as asked, or NULL */
	int			workers_used;	/* processes, 0: this one */
	void	   *writer_private; /* in context */
} IngestWriteTarget;

/*
 * begin, write ... write, finish is one transaction's part of a load; the
 * driver starts and commits the transactions, if they are its own, around
 * them.  State returned by begin is allocated in CurrentMemoryContext, which
 * ends with the transaction.
 *
 * write takes at most max_rows rows (0: as many as the writer likes before it
 * lets the driver look at the time) and sets target->at_end at the end of the
 * source.  After finish every row taken is in the table, indexed, and its
 * triggers fired or queued.
 */
typedef struct IngestWriter
{
	const char *name;
	bool		needs_parser;

	/*
	 * Why it cannot do a load, or NULL, as the end of "because ...",
	 * untranslated.  NULL for a writer that can do every load.  rel is the
	 * target, locked with RowExclusiveLock; locks taken on its partitions are
	 * kept, so that what has been found out stays true.
	 */
	const char *(*unusable) (Relation rel, const IngestOptions *options,
							 const IngestSourceSpec *spec);

	void	   *(*begin) (IngestWriteTarget *target);
	void		(*write) (IngestWriteTarget *target, void *state, int64 max_rows);
	void		(*finish) (IngestWriteTarget *target, void *state);
} IngestWriter;

/* in write_copy.c: the server's own COPY */
extern const IngestWriter ingest_writer_copy;

/* in write_insert.c: SQL statements */
extern const IngestWriter ingest_writer_insert;
extern const IngestWriter ingest_writer_insert_prepared;
extern const IngestWriter ingest_writer_insert_values;

/* in direct.c: whole pages, in parallel */
extern const IngestWriter ingest_writer_direct;

/* in staged.c: storage of its own, added to the table's or swapped for it */
extern const IngestWriter ingest_writer_staged;

/* in write_rows.c: our own row path */
extern const IngestWriter ingest_writer_rows;

#endif							/* INGEST_WRITE_H */
