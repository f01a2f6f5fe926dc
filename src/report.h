/*-------------------------------------------------------------------------
 *
 * report.h
 *		What is told of a load: one row.
 *
 * IDENTIFICATION
 *		src/report.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_REPORT_H
#define INGEST_REPORT_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "access/xlogdefs.h"

#include "options.h"
#include "usage.h"
#include "usage_wal.h"

/* A relation's figures under the name to show, and its size after the load. */
typedef struct IngestReportRelation
{
	const char *name;
	int64		bytes;
	IngestRelationUsage usage;
} IngestReportRelation;

/*
 * The figures of one load.  Numbers that are not known are -1 (times too),
 * strings NULL; both become NULL in the row.
 */
typedef struct IngestReport
{
	/* what was asked and what ran */
	const char *target;
	const char *source;
	const char *strategy;
	const char *strategy_used;
	const char *reason;			/* why it is not what was asked for, or why
								 * "auto" took it */
	int			repetition;
	int			batch_rows;
	int64		split_bytes;
	bool		commits_itself; /* else the caller's transaction commits */
	bool		commit_rows_used;	/* else it makes no difference */
	int			commit_rows;
	IngestCommitMode commit_mode;
	bool		index_mode_used;	/* likewise */
	IngestIndexMode index_mode;
	int			workers;
	int			workers_used;

	/* rows; read = loaded + filtered + rejected */
	int64		rows_read;
	int64		rows_loaded;
	int64		rows_rejected;
	int64		commits;

	/* time by the wall clock, and the counters of all processes */
	int64		elapsed_us;
	IngestMeter *meter;
	IngestWalIo wal_io;
	XLogRecPtr	start_lsn;
	XLogRecPtr	end_lsn;

	List	   *relations;		/* of IngestReportRelation */
	List	   *waits;			/* of IngestWait */
	bool		waits_known;

	/* does the table hold what the server's COPY leaves? */
	bool		verified_known;
	bool		verified;
} IngestReport;

/* in report.c */
extern void ingest_report_init(IngestReport *report);

/* Raise an error, before any work, if the row type is another version's. */
extern void ingest_report_check_type(TupleDesc tupdesc);

extern HeapTuple ingest_report_tuple(const IngestReport *report,
									 TupleDesc tupdesc);

/*
 * Keep the row for ingest_last_report() and add it to ingest_history in the
 * caller's transaction.  nspoid is the extension's schema.
 */
extern void ingest_report_remember(Oid nspoid, const char *function,
								   HeapTuple tuple, TupleDesc tupdesc);

/*
 * The same of a load that no function has been called for.  Nothing is kept
 * where the caller could not call one: the extension is not in the database,
 * its schema is not for him, or nothing may be written.
 */
extern void ingest_report_remember_command(const IngestReport *report,
										   const char *command);

#endif							/* INGEST_REPORT_H */
