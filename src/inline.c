/*-------------------------------------------------------------------------
 *
 * inline.c
 *		Which values fit into their rows, and what makes them do so:
 *		ingest_est_inline_length() and ingest_inline_profile().
 *
 * The rules are those of heap_toast_insert_or_update() (heaptoast.c).  A row
 * of up to TOAST_TUPLE_THRESHOLD bytes is stored as it is.  In a longer one
 * values are compressed, and those still too long to bring the row down to
 * the table's toast_tuple_target move out of line.  So a value can stay in its
 * row only if the row, with that value compressed, is no longer than the
 * target, and no target makes a value fit that with the row's header needs
 * more than TOAST_TUPLE_TARGET_MAIN bytes.
 *
 * The estimate is for a value alone in its row: what else is there the
 * function cannot know.  The profile does know, and adds to each value the
 * other columns as they are stored; alignment between columns, at most seven
 * bytes for each, is left out.
 *
 * Nothing is written.  The profile holds what a SELECT on the table holds and
 * reads it with a cursor, a batch of rows at a time; a value out of line is
 * read only if its pointer does not tell what it needs.
 *
 * IDENTIFICATION
 *		src/inline.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "compat.h"

/* What ingest_est_inline_length() returns besides a length. */
#define INLINE_CANNOT_FIT		(-1)
#define INLINE_NOT_JUDGED		(-2)

/* Bytes of a row before its first column, without null bitmap. */
#define ROW_HEADER				((int64) MAXALIGN(SizeofHeapTupleHeader))

/* Rows that the profile fetches at a time. */
#define PROFILE_BATCH			100

/*
 * Values of toast_tuple_target that the profile looks at: those by which so
 * many rows fit on a page.  The server's default is the one for four.
 */
static const int profile_rows_per_page[] = {32, 16, 8, 4, 2, 1};

#define PROFILE_STEPS			((int) lengthof(profile_rows_per_page))

/* A profile in progress. */
typedef struct Profile
{
	char		storage;		/* of the column */
	char		compression;
	int64		values;			/* that are not null */
	int64		fits[PROFILE_STEPS];
} Profile;

PG_FUNCTION_INFO_V1(ingest_est_inline_length);
PG_FUNCTION_INFO_V1(ingest_inline_profile);

/*
 * Bytes that a varlena not out of line needs in a row: its header is one byte
 * if it is short, as heap_compute_data_size() has it.
 */
static int64
packed_length(struct varlena *value, char storage)
{
	if (storage != TYPSTORAGE_PLAIN && VARATT_CAN_MAKE_SHORT(value))
		return VARATT_CONVERTED_SHORT_SIZE(value);
	return VARSIZE_ANY(value);
}

/*
 * The same after an attempt to compress.  What does not get shorter stays as
 * it is.
 */
static int64
compressed_length(struct varlena *value, char storage, char compression)
{
	int64		length = packed_length(value, storage);
	struct varlena *compressed;

	if (VARATT_IS_COMPRESSED(value) || VARATT_IS_SHORT(value) ||
		(storage != TYPSTORAGE_EXTENDED && storage != TYPSTORAGE_MAIN))
		return length;

	compressed = (struct varlena *)
		DatumGetPointer(toast_compress_datum(PointerGetDatum(value),
											 compression));
	if (compressed == NULL)
		return length;
	length = VARSIZE(compressed);
	pfree(compressed);
	return length;
}

/*
 * ingest_est_inline_length("any") returns the bytes a value needs in its row,
 * INLINE_CANNOT_FIT, INLINE_NOT_JUDGED for a value that is out of line, or
 * NULL for NULL.
 */
Datum
ingest_est_inline_length(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	struct varlena *value;
	int64		length;
	int16		typlen;

	if (!OidIsValid(type))
		elog(ERROR, "could not determine type of argument");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	typlen = get_typlen(type);
	if (typlen > 0)
		PG_RETURN_INT32(typlen);
	if (typlen == -2)
	{
		/* A literal without a type would be stored as text. */
		value = (struct varlena *) cstring_to_text(PG_GETARG_CSTRING(0));
		type = TEXTOID;
	}
	else
		value = (struct varlena *) PG_GETARG_POINTER(0);

	if (VARATT_IS_EXTERNAL_ONDISK(value))
		PG_RETURN_INT32(INLINE_NOT_JUDGED);
	if (VARATT_IS_EXTERNAL(value))
		value = detoast_external_attr(value);

	length = packed_length(value, get_typstorage(type));
	if (ROW_HEADER + length > (int64) TOAST_TUPLE_THRESHOLD)
		length = compressed_length(value, get_typstorage(type),
								   InvalidCompressionMethod);
	if (ROW_HEADER + length > (int64) TOAST_TUPLE_TARGET_MAIN)
		PG_RETURN_INT32(INLINE_CANNOT_FIT);
	PG_RETURN_INT32((int32) length);
}

/*
 * Bytes that a stored value would need in a long row if its column were
 * compressed.  A pointer tells that of a value that is compressed, and of one
 * that could have been and is not.
 */
static int64
stored_length(const Profile *profile, struct varlena *value)
{
	char		storage = profile->storage;

	if (VARATT_IS_EXTERNAL_ONDISK(value))
	{
		struct varatt_external pointer;
		int64		length;

		VARATT_EXTERNAL_GET_POINTER(pointer, value);
		length = VARATT_EXTERNAL_GET_EXTSIZE(pointer) + VARHDRSZ;

		/* VARATT_EXTERNAL_IS_COMPRESSED() compares signed with unsigned. */
		if (length < pointer.va_rawsize || storage != TYPSTORAGE_EXTERNAL)
			return length;
		value = detoast_external_attr(value);
	}

	/* The command that follows makes the column EXTENDED. */
	if (storage == TYPSTORAGE_EXTERNAL)
		storage = TYPSTORAGE_EXTENDED;
	return compressed_length(value, storage, profile->compression);
}

/* The toast_tuple_target of a step. */
static int
profile_threshold(int step)
{
	return MaximumBytesPerTuple(profile_rows_per_page[step]);
}

/* Count a row: the value, and the bytes of the other columns. */
static void
profile_row(Profile *profile, HeapTuple tuple, TupleDesc tupdesc)
{
	bool		isnull;
	Datum		value = SPI_getbinval(tuple, tupdesc, 1, &isnull);
	int64		others;
	int64		row;

	if (isnull)
		return;
	others = ROW_HEADER + DatumGetInt64(SPI_getbinval(tuple, tupdesc, 2,
													  &isnull));

	/* Nothing happens to a short row, whatever the target. */
	row = others + toast_raw_datum_size(value);
	if (row > (int64) TOAST_TUPLE_THRESHOLD)
		row = others + stored_length(profile,
									 (struct varlena *) DatumGetPointer(value));
	else
		row = 0;

	profile->values++;
	for (int step = 0; step < PROFILE_STEPS; step++)
	{
		if (row <= profile_threshold(step))
			profile->fits[step]++;
	}
}

/*
 * The query: the column as it is stored, and the sizes of the others as they
 * are stored, which pg_column_size() tells without reading those out of line;
 * they will be pointers.
 */
static char *
profile_query(Relation rel, AttrNumber column)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT %s, 0::pg_catalog.int8",
					 quote_identifier(NameStr(TupleDescAttr(tupdesc, column - 1)->attname)));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (i == column - 1 || att->attisdropped)
			continue;
		appendStringInfo(&sql,
						 " OPERATOR(pg_catalog.+) COALESCE(CASE WHEN"
						 " pg_catalog.pg_column_size(%1$s) OPERATOR(pg_catalog.>) %2$d"
						 " THEN %3$d ELSE pg_catalog.pg_column_size(%1$s) END, 0)",
						 quote_identifier(NameStr(att->attname)),
						 (int) TOAST_TUPLE_THRESHOLD, (int) TOAST_POINTER_SIZE);
	}
	appendStringInfo(&sql, " FROM ONLY %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	return sql.data;
}

/* Read the table, with the caller's rights, and count. */
static void
profile_table(Profile *profile, Relation rel, AttrNumber column)
{
	char	   *query = profile_query(rel, column);
	MemoryContext scratch;
	Portal		portal;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	scratch = AllocSetContextCreate(CurrentMemoryContext,
									"ingest_tools profile",
									ALLOCSET_DEFAULT_SIZES);
	portal = SPI_cursor_parse_open(NULL, query, &(SPIParseOpenOptions)
	{
		.read_only = true
	});
	for (;;)
	{
		MemoryContext old;

		SPI_cursor_fetch(portal, true, PROFILE_BATCH);
		if (SPI_processed == 0)
			break;
		old = MemoryContextSwitchTo(scratch);
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			CHECK_FOR_INTERRUPTS();
			profile_row(profile, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
			MemoryContextReset(scratch);
		}
		MemoryContextSwitchTo(old);
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	SPI_finish();
}

/* The command that lets rows be as long as a step says. */
static char *
profile_command(const Profile *profile, Relation rel, const char *column,
				int step)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER TABLE %s SET (toast_tuple_target = %d)",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)),
					 profile_threshold(step));
	if (profile->storage == TYPSTORAGE_EXTERNAL)
		appendStringInfo(&sql, ", ALTER COLUMN %s SET STORAGE EXTENDED",
						 quote_identifier(column));
	return sql.data;
}

/*
 * Look the column up and start a profile; raises an error if its table or its
 * type has nothing to do with TOAST.
 */
static AttrNumber
profile_begin(Profile *profile, Relation rel, const char *column)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), column);
	Form_pg_attribute att;

	if (rel->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an ordinary table",
						RelationGetRelationName(rel)),
				 errdetail("Only a table that holds rows itself has a toast_tuple_target.")));
	if (attnum == InvalidAttrNumber || attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, RelationGetRelationName(rel))));
	att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	if (att->attlen != -1 || att->attstorage == TYPSTORAGE_PLAIN)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("values of column \"%s\" are always in their rows",
						column)));

	memset(profile, 0, sizeof(Profile));
	profile->storage = att->attstorage;
	profile->compression = att->attcompression;
	return attnum;
}

/*
 * ingest_inline_profile(table, column) returns a row for each step.
 */
Datum
ingest_inline_profile(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = table_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	Profile		profile;
	AttrNumber	attnum = profile_begin(&profile, rel, column);

	InitMaterializedSRF(fcinfo, 0);
	profile_table(&profile, rel, attnum);

	for (int step = 0; step < PROFILE_STEPS; step++)
	{
		Datum		values[6];
		bool		nulls[6] = {false};

		values[0] = Int32GetDatum(profile_threshold(step));
		values[1] = Int64GetDatum(profile.values);
		values[2] = Int64GetDatum(profile.fits[step]);
		nulls[3] = (profile.values == 0);
		values[3] = Float8GetDatum(nulls[3] ? 0 :
								   (double) profile.fits[step] / profile.values);
		values[4] = CStringGetTextDatum(profile_command(&profile, rel, column,
														step));
		values[5] = CStringGetTextDatum("Rows that are there move only when they are rewritten: by VACUUM FULL, CLUSTER, or an UPDATE that gives the column a new value.");
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	table_close(rel, NoLock);
	return (Datum) 0;
}
