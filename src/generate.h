/*-------------------------------------------------------------------------
 *
 * generate.h
 *		Rows made up for the target's columns.
 *
 * IDENTIFICATION
 *		src/generate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_GENERATE_H
#define INGEST_GENERATE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* in generate.c */

/*
 * SQL of a query that yields rows first .. first+rows-1, counted from 0, of
 * an endless series for the columns given (attribute numbers).  spec is what
 * the user wrote after "generate:" ("" for nothing): "seed=42, null=10,
 * id=distinct, v=random, w=random(1000), x=correlated".  A row is the same for
 * the same seed on every server, whatever first and rows are.
 */
extern char *ingest_generate_sql(Relation target, List *attnums,
								 const char *spec, int64 first, int64 rows);

#endif							/* INGEST_GENERATE_H */
