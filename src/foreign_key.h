/*-------------------------------------------------------------------------
 *
 * foreign_key.h
 *		Foreign keys of many new rows, checked together.
 *
 * IDENTIFICATION
 *		src/foreign_key.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_FOREIGN_KEY_H
#define INGEST_FOREIGN_KEY_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "storage/block.h"

/* The rows that a command has put into a table. */
typedef struct IngestNewRows
{
	TransactionId xid;
	CommandId	cid;
	BlockNumber first_block;	/* they are here and behind */
} IngestNewRows;

/* in foreign_key.c */

/*
 * Do what ExecARInsertTriggers() would do for each of the new rows of a table
 * whose AFTER ROW triggers for INSERT are all the server's own.  Foreign keys
 * that are not deferrable have been checked on return; the triggers of the
 * others are queued.  estate must know the table (ExecGetTriggerResultRel());
 * the caller is between AfterTriggerBeginQuery() and AfterTriggerEndQuery().
 */
extern void ingest_foreign_key_check(EState *estate, ResultRelInfo *table,
									 const IngestNewRows *rows);

#endif							/* INGEST_FOREIGN_KEY_H */
