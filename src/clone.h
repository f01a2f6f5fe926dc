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

#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* in clone.c */

/*
 * SQL that creates a table like the target (columns, partitions, indexes,
 * constraints, storage, reloptions; sequences of its own) under the given
 * name, in the target's schema.  Without with_indexes, only what decides the
 * rows' content is copied, and the table is unlogged.
 *
 * The text is several commands, to be run in one transaction as the caller;
 * it makes settings that last to the end of that transaction.
 */
extern char *ingest_clone_create_sql(Relation target, const char *name,
									 bool with_indexes);

/*
 * What that text reads, as OIDs of relations that this transaction has locked
 * in AccessShareLock mode or more: the target, its partitions, which are
 * locked here, and those of their indexes that happen to be.
 */
extern List *ingest_clone_sources(Relation target);

/* in clone_hash.c */

/*
 * SQL query whose single row is (count bigint, hash numeric) of a table's
 * rows, the same for the same rows in any order.  Columns whose value comes
 * from a default that is not immutable (not in supplied, a list of attribute
 * numbers; NIL means that all are supplied) are left out.
 */
extern char *ingest_clone_hash_sql(Relation target, const char *name,
								   List *supplied);

/* in clone_name.c */

/* A name no other clone of this server has, from pid and a counter. */
extern char *ingest_clone_name(void);

/*
 * The comment by which a clone is known; source is what it is a clone of.  It
 * names this process as the one that had the clone made.
 */
extern char *ingest_clone_comment(const char *source);

/* SQL that drops it, also if it is not there; likewise one transaction. */
extern char *ingest_clone_drop_sql(Relation target, const char *name);

/*
 * Clones in this database whose maker is no longer running and which the
 * caller may drop: a list of qualified, quoted names (char *).
 */
extern List *ingest_clone_leftovers(void);

#endif							/* INGEST_CLONE_H */
