/*-------------------------------------------------------------------------
 *
 * staged_transfer.h
 *		Rows of staging tables, added to the tables they are for.
 *
 * IDENTIFICATION
 *		src/staged_transfer.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_STAGED_TRANSFER_H
#define INGEST_STAGED_TRANSFER_H

#include "postgres.h"

#include "direct.h"

/* in staged_check.c */

/*
 * Raise the error of a duplicate key if a row of the staging table has a key
 * that a row of the table has.
 */
extern void ingest_staged_check_keys(const IngestStaging *staging);

/* in staged_transfer.c */

/*
 * Add the rows of all staging tables (IngestStaging, in the order of the
 * load's leaves) to their tables, by as many processes as have staged them.
 * Sets first_block of each leaf to where the rows begin.  Outside parallel
 * mode, between AfterTriggerBeginQuery() and AfterTriggerEndQuery().
 */
extern void ingest_staged_transfer(IngestWriteTarget *target, List *stagings,
								   IngestDirectShared *load, EState *estate);

#endif							/* INGEST_STAGED_TRANSFER_H */
