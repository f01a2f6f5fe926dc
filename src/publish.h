/*-------------------------------------------------------------------------
 *
 * publish.h
 *		Staging tables: storage that is filled unseen, then put in the place
 *		of a table's own.
 *
 * IDENTIFICATION
 *		src/publish.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_PUBLISH_H
#define INGEST_PUBLISH_H

#include "postgres.h"

/* in publish.c */

/*
 * Make an empty staging table for a table, which the caller has locked with
 * ShareUpdateExclusiveLock at least, and which stays so.  Returns its OID;
 * it is locked with AccessExclusiveLock.  Visible to the next command.
 */
extern Oid	ingest_staging_create(Oid relid);

/*
 * May rows of a staging table be frozen, so that everybody sees them as soon
 * as they are published?
 */
extern bool ingest_staging_may_freeze(void);

/*
 * Replace a table's rows by those of its staging table, whose pages nobody
 * has logged, and build the table's indexes.  With frozen all of its pages
 * are frozen.  The staging table is gone afterwards.  Raises an error for
 * what a constraint's index does not allow.
 *
 * Locks the table with AccessExclusiveLock.
 */
extern void ingest_staging_swap(Oid relid, Oid staging, bool frozen);

/* Collect statistics of a table. */
extern void ingest_staging_analyze(Oid relid);

#endif							/* INGEST_PUBLISH_H */
