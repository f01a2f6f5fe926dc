/*-------------------------------------------------------------------------
 *
 * publish.h
 *		Staging tables: storage that is filled unseen, then put in the place
 *		of a table's own.
 *
 *		staging = ingest_staging_create(relid);
 *		... fill it without WAL ...
 *		ingest_staging_build_toast(staging, meter);
 *		... fill its indexes ...
 *		ingest_staging_complete_indexes(staging, meter);
 *		ingest_staging_make_durable(list_make1(staging), ...);
 *		ingest_staging_analyze(staging);
 *		ingest_staging_swap(staging, meter);
 *
 * Nobody is shut out of the table before the last step.
 *
 * IDENTIFICATION
 *		src/publish.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_PUBLISH_H
#define INGEST_PUBLISH_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "compat.h"
#include "usage.h"

/* An index of a table and its counterpart. */
typedef struct IngestStagingIndex
{
	Oid			index;			/* of the table */
	Oid			staging;		/* of the staging table */
	char	   *name;			/* of the former */
	char	   *staging_name;
} IngestStagingIndex;

/* A table and its staging table. */
typedef struct IngestStaging
{
	Oid			relid;			/* the table */
	Oid			staging;
	char	   *name;			/* of the table */
	char	   *staging_name;
	List	   *indexes;		/* of IngestStagingIndex */
	List	   *rebuilt;		/* the table's other indexes, OIDs */
	bool		analyzed;
} IngestStaging;

/* in publish.c */

/*
 * Make an empty staging table for a table.  If it is to be swapped (replaces)
 * the caller has locked the table with ShareUpdateExclusiveLock at least;
 * otherwise the staging table is good for rows that are transferred to the
 * table, and RowExclusiveLock is enough.  It is locked with
 * AccessExclusiveLock, as its indexes are, which are not even empty: they are
 * to be built, like new indexes.
 */
extern IngestStaging *ingest_staging_create(Oid relid, bool replaces);

/* The staging table's TOAST table, invalid if it has none. */
extern Oid	ingest_staging_toast(const IngestStaging *staging);

/*
 * May rows of a staging table be frozen, so that everybody sees them as soon
 * as they are published?
 */
extern bool ingest_staging_may_freeze(void);

/*
 * All rows are in the staging table: build its TOAST table's index, which
 * nobody has maintained.
 */
extern void ingest_staging_build_toast(const IngestStaging *staging,
									   IngestMeter *meter);

/* Build indexes that have not been built for want of keys. */
extern void ingest_staging_complete_indexes(const IngestStaging *staging,
											IngestMeter *meter);

/*
 * Collect statistics of the staging table, if these are all that the table
 * can have.  Otherwise ingest_staging_analyze_table() does so, when the table
 * has its new rows.
 */
extern void ingest_staging_analyze(IngestStaging *staging);
extern void ingest_staging_analyze_table(const IngestStaging *staging);

/*
 * Replace the table's rows by those of the staging table, which is gone then.
 * The table's index may raise an error for what a constraint does not allow,
 * but only an exclusion constraint's, the others having been checked.
 *
 * Locks the table with AccessExclusiveLock.
 */
extern void ingest_staging_swap(IngestStaging *staging, IngestMeter *meter);

/* The staging table's rows are the table's by now. */
extern void ingest_staging_drop(const IngestStaging *staging,
								IngestMeter *meter);

/*
 * Call in PG_CATCH(): throw the error in hand again, with the tables' and
 * their indexes' names in place of those of the staging tables (a list of
 * IngestStaging).
 */
pg_noreturn extern void ingest_staging_rethrow(List *stagings);

/* in publish_durable.c */

/*
 * Make the pages of staging tables (a list of IngestStaging) last, which
 * nobody has logged, by nprocesses at most.  With frozen all of their pages
 * are frozen.  Outside parallel mode.
 */
extern void ingest_staging_make_durable(List *stagings, bool frozen,
										int nprocesses, IngestMeter *meter);

#endif							/* INGEST_PUBLISH_H */
