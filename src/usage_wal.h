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
 * whoever needs the space, not only by the loading process.  Times are -1
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
extern void ingest_wal_io_snapshot(IngestWalIo *io);
extern void ingest_wal_io_diff(IngestWalIo *diff, const IngestWalIo *end,
							   const IngestWalIo *start);

/*
 * Read the WAL from start to end and fill in wal_records, wal_fpi, wal_bytes
 * and page_updates of each IngestRelationUsage in the list whose relation the
 * records name.  Returns false, leaving -1 in them, if part of the range is
 * no longer there.
 */
extern bool ingest_wal_attribute(XLogRecPtr start, XLogRecPtr end,
								 List *relations);

#endif							/* INGEST_USAGE_WAL_H */
