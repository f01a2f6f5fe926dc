/*-------------------------------------------------------------------------
 *
 * clone.h
 *		An empty table like the target, to load into.
 *
 * IDENTIFICATION
 *		src/clone.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_CLONE_H
#define INGEST_CLONE_H

#include "postgres.h"

#include "utils/relcache.h"

/* in clone.c */

/*
 * SQL that creates a table like the target (columns, partitions, indexes,
 * constraints, storage, reloptions; sequences of its own) under the given
 * name, in the target's schema.  Without with_indexes, only what decides the
 * rows' content is copied.
 */
extern char *ingest_clone_create_sql(Relation target, const char *name,
									 bool with_indexes);

/* SQL that drops it, also if it is not there. */
extern char *ingest_clone_drop_sql(Relation target, const char *name);

/* A name no other clone of this server has, from pid and a counter. */
extern char *ingest_clone_name(void);

/*
 * SQL query whose single row is (count bigint, hash numeric) of a table's
 * rows, the same for the same rows in any order.  Columns whose value comes
 * from a volatile default (not in supplied, a list of attribute numbers) are
 * left out.
 */
extern char *ingest_clone_hash_sql(Relation target, const char *name,
								   List *supplied);

#endif							/* INGEST_CLONE_H */
