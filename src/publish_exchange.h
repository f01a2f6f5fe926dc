/*-------------------------------------------------------------------------
 *
 * publish_exchange.h
 *		Storage of two relations, exchanged.
 *
 * IDENTIFICATION
 *		src/publish_exchange.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_PUBLISH_EXCHANGE_H
#define INGEST_PUBLISH_EXCHANGE_H

#include "postgres.h"

/* in publish_exchange.c */

/*
 * Exchange the storage of a table, with its TOAST table, or of an index and
 * another one, which is then to be dropped.  Both are locked with
 * AccessExclusiveLock, the TOAST tables too.  To be seen by the next command.
 */
extern void ingest_exchange_storage(Oid relid, Oid other);

/* Name a table's TOAST table after the table. */
extern void ingest_exchange_name_toast(Oid relid);

#endif							/* INGEST_PUBLISH_EXCHANGE_H */
