/*-------------------------------------------------------------------------
 *
 * generate_internal.h
 *		What the parts of the generator share.
 *
 * generate.c reads the specification and writes the query, generate_value.c
 * knows the types, generate_key.c the partitions.
 *
 * IDENTIFICATION
 *		src/generate_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_GENERATE_INTERNAL_H
#define INGEST_GENERATE_INTERNAL_H

#include "postgres.h"

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* Correlated values are less than this away from their place. */
#define GENERATE_NOISE		64

typedef enum GenerateKind
{
	GENERATE_DISTINCT,
	GENERATE_CORRELATED,
	GENERATE_RANDOM,
} GenerateKind;

typedef struct GenerateColumn
{
	AttrNumber	attnum;
	const char *name;
	Oid			typid;			/* a domain's base type */
	int32		typmod;
	bool		nullable;
	GenerateKind kind;
	bool		kind_given;
	int64		nvalues;		/* of random(nvalues); 0 means no limit */
	int64		seed;			/* the user's, mixed with the column's name */
	char	   *key_value;		/* SQL, if it is a partition key */
} GenerateColumn;

typedef struct Generate
{
	Relation	target;
	const char *spec;
	List	   *columns;		/* GenerateColumn */
	int64		seed;
	int64		null_percent;
	int64		last;			/* last row number */
	char	   *slot;			/* SQL of the row's first-level slot, or NULL */
} Generate;

/* in generate_key.c */

/*
 * Set key_value of the columns whose values decide the partition, and slot,
 * which these refer to as g.slot.
 */
extern void ingest_generate_keys(Generate *gen);

/* in generate_value.c */

/*
 * SQL of the value of a type that belongs to a number.  In the ordered form
 * different numbers from 0 to *limit give different values, ascending; in the
 * random form the number is a hash.  Returns NULL for types unknown here.
 */
extern char *ingest_generate_value(Oid typid, int32 typmod, int64 seed,
								   const char *number, bool ordered,
								   int64 *limit);

/* Raise 22003 if a distinct column cannot have a value for every row. */
extern void ingest_generate_check_distinct(const Generate *gen,
										   const GenerateColumn *column,
										   int64 nvalues);

/*
 * Write out shorthand: @ is pg_catalog., {op} is OPERATOR(pg_catalog.op), $1
 * to $3 are the arguments, which are SQL already.  All operators written so
 * have the same precedence, so every operation needs its parentheses.
 */
extern char *ingest_sql(const char *shorthand, const char *arg1,
						const char *arg2, const char *arg3);

/* SQL of a hash of a number, from 0 to 2^63 - 1. */
extern char *ingest_sql_hash(const char *number, int64 seed);

/* SQL of a constant. */
extern char *ingest_sql_int8(int64 value);

#endif							/* INGEST_GENERATE_INTERNAL_H */
