/*-------------------------------------------------------------------------
 *
 * clone_hash.c
 *		What rows a clone holds, as one number.
 *
 * IDENTIFICATION
 *		src/clone_hash.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "clone.h"

static Bitmapset *unstable_columns(Relation target, List *supplied);
static char *exact_value(Form_pg_attribute att, const char *column);

/*
 * Write the query that counts and hashes the rows of a clone.
 *
 * The hash is the sum of a 64-bit hash of each row, so the order of the rows
 * does not matter.  It covers what a reader would see of a value and nothing
 * else: how the value is stored (compressed, out of line) does not count, but
 * 1.0 and 1.00 differ.  Hence types for which equal means the same are hashed
 * as they are, which is fast; all others by their text, which also serves
 * those without a hash function (json, xml, point).
 *
 * Columns that are not loaded (supplied is NIL when all are) and take a
 * default that is not immutable would differ from run to run for no fault of
 * the load; they are left out, as are columns generated from them.
 */
char *
ingest_clone_hash_sql(Relation target, const char *name, List *supplied)
{
	TupleDesc	tupdesc = RelationGetDescr(target);
	char	   *schema = get_namespace_name(RelationGetNamespace(target));
	Bitmapset  *unstable = unstable_columns(target, supplied);
	StringInfoData exact;
	StringInfoData others;
	char	   *hash = "0";

	initStringInfo(&exact);
	initStringInfo(&others);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		const char *column = quote_identifier(NameStr(att->attname));
		char	   *value;

		if (att->attisdropped ||
			bms_is_member(att->attnum - FirstLowInvalidHeapAttributeNumber,
						  unstable))
			continue;
		value = exact_value(att, column);
		if (value != NULL)
			appendStringInfo(&exact, "%s%s", exact.len > 0 ? ", " : "", value);
		else
			appendStringInfo(&others, "%s%s", others.len > 0 ? ", " : "",
							 column);
	}

	/* The hash of the one part is the seed of the other's. */
	if (exact.len > 0)
		hash = psprintf("pg_catalog.hash_record_extended(ROW(%s), 0)",
						exact.data);
	if (others.len > 0)
		hash = psprintf("pg_catalog.hashtextextended(ROW(%s)::pg_catalog.text"
						" COLLATE pg_catalog.\"C\", %s)", others.data, hash);

	return psprintf("SELECT pg_catalog.count(*),"
					" COALESCE(pg_catalog.sum(%s), 0)::pg_catalog.numeric"
					" FROM %s",
					hash, quote_qualified_identifier(schema, name));
}

/*
 * Columns that no two loads fill alike, offset as in pull_varattnos().
 * Generated columns do not depend on each other, so one pass finds them.
 */
static Bitmapset *
unstable_columns(Relation target, List *supplied)
{
	TupleDesc	tupdesc = RelationGetDescr(target);
	Bitmapset  *unstable = NULL;
	Bitmapset  *generated = NULL;

	if (supplied == NIL)
		return NULL;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		Node	   *expr;

		if (att->attisdropped || att->attgenerated ||
			list_member_int(supplied, att->attnum))
			continue;
		expr = build_column_default(target, att->attnum);
		if (expr != NULL && contain_mutable_functions(expr))
			unstable = bms_add_member(unstable,
									  att->attnum - FirstLowInvalidHeapAttributeNumber);
	}

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		Bitmapset  *used = NULL;

		if (att->attisdropped || !att->attgenerated)
			continue;
		pull_varattnos(build_column_default(target, att->attnum), 1, &used);
		if (bms_overlap(used, unstable))
			generated = bms_add_member(generated,
									   att->attnum - FirstLowInvalidHeapAttributeNumber);
	}
	return bms_join(unstable, generated);
}

/*
 * SQL of something to hash a column by whose equality is that of what a
 * reader sees, or NULL if only its text is.
 */
static char *
exact_value(Form_pg_attribute att, const char *column)
{
	switch (getBaseType(att->atttypid))
	{
		case BOOLOID:
		case BYTEAOID:
		case DATEOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
			return pstrdup(column);
		case FLOAT4OID:
			/* 0 = -0 */
			return psprintf("pg_catalog.float4send(%s)", column);
		case FLOAT8OID:
			return psprintf("pg_catalog.float8send(%s)", column);
		case TEXTOID:
		case VARCHAROID:
			/* Its own collation may be nondeterministic. */
			return psprintf("%s COLLATE pg_catalog.\"C\"", column);
		default:
			return NULL;
	}
}
