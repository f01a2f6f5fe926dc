/*-------------------------------------------------------------------------
 *
 * generate_value.c
 *		SQL of values of a type, made from a number.
 *
 * The "ordered" form of a type turns different numbers, up to a limit, into
 * different values in ascending order; the random form turns a hash into a
 * value from a plausible range.  Where the form uses more than the number,
 * that is hashes of it, so equal numbers give equal values.
 *
 * The text does not cast to the column's type: its user does, which also cuts
 * or rounds to the type modifier.
 *
 * IDENTIFICATION
 *		src/generate_value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "generate_internal.h"

/* Length of a text whose type does not tell, and longest of char(n). */
#define TEXT_LENGTH			32
#define BPCHAR_LENGTH		512

/* Digits of the number at the beginning of an ordered text. */
#define TEXT_DIGITS			12

/*
 * Types whose values need no more than the number.  In the SQL, $1 is the
 * number, $2 and $3 are hashes of it (in the random form $1 is a hash, too).
 */
typedef struct GenerateType
{
	Oid			typid;
	int64		limit;			/* ordered numbers go up to here */
	const char *ordered;
	const char *random;
} GenerateType;

static const GenerateType generate_types[] =
{
	{BOOLOID, 1, "($1 {%} 2) {=} 1", "($1 {%} 2) {=} 1"},
	{BYTEAOID, PG_INT64_MAX,
		"@int8send($1) {||} @int8send($2)",
	"@int8send($2) {||} @int8send($3)"},
	{CIDROID, INT64CONST(0xFFFFFFFF),
		"'0.0.0.0'::@inet {+} $1",
	"'10.0.0.0'::@inet {+} ($1 {%} 16777216)"},
	{DATEOID, INT64CONST(2000000000),
		"'2000-01-01'::@date {+} ($1)::@int4",
	"'2000-01-01'::@date {+} ($1 {%} 7305)::@int4"},
	{FLOAT4OID, INT64CONST(1) << 24,
		"$1",
	"($1 {%} 16777216)::@float8 {/} 16777216"},
	{FLOAT8OID, INT64CONST(1) << 53,
		"$1",
	"($1 {%} 4503599627370496)::@float8 {/} 4503599627370496"},
	{INETOID, INT64CONST(0xFFFFFFFF),
		"'0.0.0.0'::@inet {+} $1",
	"'10.0.0.0'::@inet {+} ($1 {%} 16777216)"},
	{INT2OID, PG_INT16_MAX, "$1", "$1 {%} 32768"},
	{INT4OID, PG_INT32_MAX, "$1", "$1 {%} 2147483648"},
	{INT8OID, PG_INT64_MAX, "$1", "$1"},
	{JSONOID, PG_INT64_MAX,
		"@json_build_object('id'::@text, $1, 'v'::@text, @to_hex($2))",
	"@json_build_object('id'::@text, $1 {%} 1000000, 'v'::@text, @to_hex($2))"},
	{JSONBOID, PG_INT64_MAX,
		"@jsonb_build_object('id'::@text, $1, 'v'::@text, @to_hex($2))",
	"@jsonb_build_object('id'::@text, $1 {%} 1000000, 'v'::@text, @to_hex($2))"},
	{MACADDROID, INT64CONST(0xFFFFFFFFFFFF),
		"@lpad(@to_hex($1), 12, '0')",
	"@lpad(@to_hex($1 {%} 281474976710656), 12, '0')"},
	{MACADDR8OID, PG_INT64_MAX,
		"@lpad(@to_hex($1), 16, '0')",
	"@lpad(@to_hex($1), 16, '0')"},
	{MONEYOID, INT64CONST(900000000000000),
		"$1",
	"($1 {%} 100000000)::@numeric {/} 100"},
	{OIDOID, INT64CONST(0xFFFFFFFF), "$1", "$1 {%} 4294967296"},
	{TIMESTAMPOID, INT64CONST(9000000000),
		"'2000-01-01'::@timestamp"
		" {+} ('1 second'::@interval {*} ($1)::@float8)",
		"'2000-01-01'::@timestamp"
	" {+} ('1 microsecond'::@interval {*} ($1 {%} 631152000000000)::@float8)"},
	{TIMESTAMPTZOID, INT64CONST(9000000000),
		"'2000-01-01 00:00:00+00'::@timestamptz"
		" {+} ('1 second'::@interval {*} ($1)::@float8)",
		"'2000-01-01 00:00:00+00'::@timestamptz"
	" {+} ('1 microsecond'::@interval {*} ($1 {%} 631152000000000)::@float8)"},
	{UUIDOID, PG_INT64_MAX,
		"@lpad(@to_hex($1), 16, '0') {||} @lpad(@to_hex($2), 16, '0')",
	"@lpad(@to_hex($2), 16, '0') {||} @lpad(@to_hex($3), 16, '0')"}
};

static char *text_sql(int length, int64 seed, const char *number, bool ordered, int64 *limit);
static char *numeric_sql(int32 typmod, const char *number, bool ordered, int64 *limit);
static char *interval_sql(int32 typmod, const char *number, bool ordered, int64 *limit);
static char *time_sql(Oid typid, int32 typmod, const char *number, bool ordered, int64 *limit);
static char *bit_sql(Oid typid, int32 typmod, const char *number, int64 *limit);
static char *enum_sql(Oid typid, const char *number, int64 *limit);
static char *array_sql(Oid elemtype, int32 typmod, int64 seed, const char *number, bool ordered, int64 *limit);

char *
ingest_generate_value(Oid typid, int32 typmod, int64 seed, const char *number,
					  bool ordered, int64 *limit)
{
	Oid			elemtype = get_element_type(typid);

	*limit = PG_INT64_MAX;
	switch (typid)
	{
		case TEXTOID:
		case NAMEOID:
			return text_sql(TEXT_LENGTH, seed, number, ordered, limit);
		case VARCHAROID:
			return text_sql(typmod < 0 ? TEXT_LENGTH :
							Min(typmod - VARHDRSZ, TEXT_LENGTH),
							seed, number, ordered, limit);
		case BPCHAROID:
			return text_sql(typmod < 0 ? TEXT_LENGTH :
							Min(typmod - VARHDRSZ, BPCHAR_LENGTH),
							seed, number, ordered, limit);
		case NUMERICOID:
			return numeric_sql(typmod, number, ordered, limit);
		case INTERVALOID:
			return interval_sql(typmod, number, ordered, limit);
		case TIMEOID:
		case TIMETZOID:
			return time_sql(typid, typmod, number, ordered, limit);
		case BITOID:
		case VARBITOID:
			return bit_sql(typid, typmod, number, limit);
	}

	for (size_t i = 0; i < lengthof(generate_types); i++)
	{
		const GenerateType *type = &generate_types[i];

		if (type->typid != typid)
			continue;
		*limit = type->limit;
		return ingest_sql(ordered ? type->ordered : type->random, number,
						  ingest_sql_hash(number, seed + 1), ingest_sql_hash(number, seed + 2));
	}

	if (get_typtype(typid) == TYPTYPE_ENUM)
		return enum_sql(typid, number, limit);
	if (OidIsValid(elemtype))
		return array_sql(elemtype, typmod, seed, number, ordered, limit);
	return NULL;
}

/*
 * Hexadecimal digits of as many hashes as it takes; the ordered form begins
 * with the number in decimal.
 */
static char *
text_sql(int length, int64 seed, const char *number, bool ordered,
		 int64 *limit)
{
	StringInfoData buf;
	int			done = 0;
	int			nhashes = 0;

	initStringInfo(&buf);
	if (ordered)
	{
		done = Min(length, TEXT_DIGITS);
		appendStringInfoString(&buf, ingest_sql("@lpad(($1)::@text, $2, '0')",
												number, psprintf("%d", done), NULL));
		*limit = 1;
		for (int i = 0; i < done; i++)
			*limit *= 10;
		*limit -= 1;
	}
	for (; done < length; done += 16)
		appendStringInfoString(&buf, ingest_sql("$1@lpad(@to_hex($2), 16, '0')",
												buf.len > 0 ? " OPERATOR(pg_catalog.||) " : "",
												ingest_sql_hash(number, seed + ++nhashes),
												NULL));
	return ingest_sql("@substr($1, 1, $2)", buf.data, psprintf("%d", length), NULL);
}

/*
 * The number in units of the last digit that the type keeps.  (Its typmod is
 * read as numeric.c does.)
 */
static char *
numeric_sql(int32 typmod, const char *number, bool ordered, int64 *limit)
{
	int			digits = 12;
	int			scale = ordered ? 0 : 2;
	int64		modulus = 1;

	if (typmod >= (int32) VARHDRSZ)
	{
		digits = Min(((typmod - VARHDRSZ) >> 16) & 0xffff, 18);
		scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	}
	else if (ordered)
		digits = 18;

	for (int i = 0; i < digits; i++)
		modulus *= 10;
	*limit = modulus - 1;
	return ingest_sql("($1 {%} $2)::@numeric {*} $3", number, ingest_sql_int8(modulus),
					  psprintf("'1e%d'::pg_catalog.numeric", -scale));
}

/*
 * Seconds, or microseconds of up to 100 days.  "interval month" and the like
 * cut off what is below that field, so there the number counts all of them.
 */
static char *
interval_sql(int32 typmod, const char *number, bool ordered, int64 *limit)
{
	const char *unit = ordered ? "'1 second'" : "'1 microsecond'";
	int64		modulus = INT64CONST(8640000000000);

	if (typmod >= 0 && INTERVAL_RANGE(typmod) != INTERVAL_FULL_RANGE)
	{
		unit = "'1 year 1 month 1 day 01:01:01'";
		modulus = 10000;
	}
	*limit = modulus - 1;
	return ingest_sql("$1::@interval {*} ($2 {%} $3)::@float8", unit, number,
					  ingest_sql_int8(modulus));
}

/* The number in units of the fraction of a second that the type keeps. */
static char *
time_sql(Oid typid, int32 typmod, const char *number, bool ordered,
		 int64 *limit)
{
	int64		unit = 1;

	for (int i = typmod; i >= 0 && i < MAX_TIME_PRECISION; i++)
		unit *= 10;
	*limit = USECS_PER_DAY / unit - 1;

	if (!ordered)
		number = ingest_sql("($1 {%} $2)", number, ingest_sql_int8(*limit + 1), NULL);
	return ingest_sql("$1 {+} ($2 {*} ($3)::@float8)",
					  typid == TIMEOID ? "'00:00'::pg_catalog.time" :
					  "'00:00+00'::pg_catalog.timetz",
					  psprintf("'" INT64_FORMAT " microseconds'::pg_catalog.interval",
							   unit),
					  number);
}

/* The last bits of the number. */
static char *
bit_sql(Oid typid, int32 typmod, const char *number, int64 *limit)
{
	int			length = typmod;

	if (typmod <= 0)
		length = (typid == BITOID ? 1 : 32);
	if (typid == VARBITOID)
		length = Min(length, 64);
	if (length < 63)
		*limit = (INT64CONST(1) << length) - 1;
	return ingest_sql("($1)::pg_catalog.bit($2)", number, psprintf("%d", length),
					  NULL);
}

/* Labels in their order. */
static char *
enum_sql(Oid typid, const char *number, int64 *limit)
{
	char	   *type = format_type_extended(typid, -1,
											FORMAT_TYPE_FORCE_QUALIFY);
	StringInfoData labels;
	Relation	pg_enum = table_open(EnumRelationId, AccessShareLock);
	Relation	index = index_open(EnumTypIdSortOrderIndexId,
								   AccessShareLock);
	int			nlabels = 0;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	initStringInfo(&labels);
	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(typid));
	scan = systable_beginscan_ordered(pg_enum, index, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan,
															 ForwardScanDirection)))
	{
		Form_pg_enum form = (Form_pg_enum) GETSTRUCT(tuple);

		appendStringInfo(&labels, "%s%s::%s", nlabels++ > 0 ? ", " : "",
						 quote_literal_cstr(NameStr(form->enumlabel)), type);
	}
	systable_endscan_ordered(scan);
	index_close(index, AccessShareLock);
	table_close(pg_enum, AccessShareLock);

	if (nlabels == 0)
		return NULL;
	*limit = nlabels - 1;
	return ingest_sql("(ARRAY[$1])[1 {+} ($2 {%} $3)]", labels.data, number,
					  ingest_sql_int8(nlabels));
}

/* Three elements: the first decides, the others are random. */
static char *
array_sql(Oid elemtype, int32 typmod, int64 seed, const char *number,
		  bool ordered, int64 *limit)
{
	char	   *type;
	char	   *elements[3];
	int64		ignored;

	elemtype = getBaseTypeAndTypmod(elemtype, &typmod);
	type = format_type_extended(elemtype, typmod,
								FORMAT_TYPE_TYPEMOD_GIVEN |
								FORMAT_TYPE_FORCE_QUALIFY);
	for (int i = 0; i < 3; i++)
	{
		char	   *value;

		if (i == 0)
			value = ingest_generate_value(elemtype, typmod, seed, number, ordered, limit);
		else
			value = ingest_generate_value(elemtype, typmod, seed + 16 * i,
										  ingest_sql_hash(number, seed + 16 * i), false,
										  &ignored);
		if (value == NULL)
			return NULL;
		elements[i] = psprintf("(%s)::%s", value, type);
	}
	return ingest_sql("ARRAY[$1, $2, $3]", elements[0], elements[1], elements[2]);
}

void
ingest_generate_check_distinct(const Generate *gen,
							   const GenerateColumn *column, int64 nvalues)
{
	if (gen->last > nvalues)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("cannot generate %lld distinct values for column \"%s\"",
						(long long) gen->last, column->name),
				 errdetail("Its type and the table's partitions allow for %lld.",
						   (long long) nvalues),
				 errhint("Generate fewer rows or set the column to random.")));
}

char *
ingest_sql_hash(const char *number, int64 seed)
{
	return ingest_sql("(@hashint8extended($1, $2) {&} $3)", number, ingest_sql_int8(seed),
					  ingest_sql_int8(PG_INT64_MAX));
}

char *
ingest_sql_int8(int64 value)
{
	return psprintf("'" INT64_FORMAT "'::pg_catalog.int8", value);
}

char *
ingest_sql(const char *shorthand, const char *arg1, const char *arg2,
		   const char *arg3)
{
	const char *args[] = {arg1, arg2, arg3};
	StringInfoData buf;

	initStringInfo(&buf);
	for (const char *p = shorthand; *p != '\0'; p++)
	{
		if (*p == '@')
			appendStringInfoString(&buf, "pg_catalog.");
		else if (*p == '{')
			appendStringInfoString(&buf, "OPERATOR(pg_catalog.");
		else if (*p == '}')
			appendStringInfoChar(&buf, ')');
		else if (*p == '$')
			appendStringInfoString(&buf, args[*++p - '1']);
		else
			appendStringInfoChar(&buf, *p);
	}
	return buf.data;
}
