/*-------------------------------------------------------------------------
 *
 * usage_wal.h
 *		What the write-ahead log says about a load.
 *
 * IDENTIFICATION
 *		src/usage_wal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_USAGE_WAL_H
#define INGEST_USAGE_WAL_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

/*
 * WAL writes and syncs of the whole server: a load's WAL is written by
 * whoever needs the space, not only by the loading process.  Filling new
 * segments with zeros is not counted (on every server version).  Times are -1
 * while track_wal_io_timing is off.
 */
typedef struct IngestWalIo
{
	int64		writes;
	int64		syncs;
	double		write_ms;
	double		sync_ms;
} IngestWalIo;

/* in usage_wal.c */

/*
 * A process counts its writes and syncs for itself at first and hands them
 * over when it is idle.  ingest_wal_io_report() does so now, for a background
 * session that has done its work; ingest_wal_io_snapshot() includes it.
 */
extern void ingest_wal_io_report(void);
extern void ingest_wal_io_snapshot(IngestWalIo *io);
extern void ingest_wal_io_diff(IngestWalIo *diff, const IngestWalIo *end,
							   const IngestWalIo *start);

/*
 * Read the WAL from start to end and fill in wal_records, wal_fpi, wal_bytes
 * and page_updates of each IngestRelationUsage in the list that has a file.
 * Returns false, changing nothing, if part of the range is no longer there.
 * Needs a transaction.
 *
 * Counted are the records that begin at start or later and end at end or
 * earlier, whoever wrote them.  A record counts for each relation that its
 * block references name (the records "pg_waldump --relation" shows), a full
 * page image for the relation of the page, and a record's bytes for the
 * relation of its first block reference, so that the relations' bytes never
 * add up to more than was written.  (No record of the server's own names two
 * relations.)  Records without block references, such as commits, belong to
 * no relation.
 *
 * A relation is known by the file it has at the time of the call, and by that
 * of our own transaction: what went into files since replaced (TRUNCATE,
 * REINDEX) is not counted.
 */
extern bool ingest_wal_attribute(XLogRecPtr start, XLogRecPtr end,
								 List *relations);

#endif							/* INGEST_USAGE_WAL_H */
