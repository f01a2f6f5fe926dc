/*-------------------------------------------------------------------------
 *
 * generate.c
 *		Rows made up for the target's columns.
 *
 * The rows are those of an SQL query over a series of row numbers.  Row i is
 * a function of i, the seed and the target's definition, nothing else: the
 * series has no end, any stretch of it can be made alone, and it is the same
 * on every server (of the same byte order and encoding: randomness is that of
 * hashint8extended(), which the server's hash partitioning relies on to stay
 * as it is, and column names go into it as bytes).
 *
 * Each column makes a number from i and a value from that number:
 *
 *	distinct		i itself; values ascend
 *	correlated		i and some noise; values ascend roughly
 *	random			a 63-bit hash of i
 *	random(k)		1 + (a hash of i) modulo k
 *
 * The values of the first, second and fourth kind come from the "ordered"
 * form of a type, in which different numbers up to a limit give different
 * values in ascending order; the random kind has a form of its own, which
 * takes values from a plausible range.
 *
 * Rows should find a partition.  The values of a partition key are therefore
 * taken from between the bounds of the partitions ("slots"), for up to two
 * levels of range or list partitions by one column each; hash partitions take
 * anything.  Whatever is beyond that is left to luck, and to the server's
 * error message.
 *
 * The query may run under any search_path.  So that the text of it can be
 * read here, it is written in shorthand, see sql().
 *
 * IDENTIFICATION
 *		src/generate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "parser/scansup.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "generate.h"

/* Correlated values are up to this far from their place. */
#define CORRELATED_NOISE	64

/* So many rows go into one partition before the next is taken. */
#define PARTITION_BLOCK		1000

/* Width of a partition without an end, unless values must be distinct. */
#define OPEN_WIDTH			INT64CONST(1000000)

/* Widths are cut here, so that sums of them do not overflow. */
#define MAX_WIDTH			INT64CONST(1000000000000)

/* Length of a text whose type does not tell, and longest of char(n). */
#define TEXT_LENGTH			32
#define BPCHAR_LENGTH		512

/* Digits of the number at the beginning of an ordered text. */
#define TEXT_DIGITS			12

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

/*
 * Part of a partition key's values: the integers from lo to hi - 1 for a
 * range, one value for a list.  Dates are counted in days and timestamps in
 * microseconds, later perhaps in seconds, from 2000-01-01.
 */
typedef struct KeySlot
{
	int64		lo;
	int64		hi;
	bool		open;			/* hi is not a bound but the type's limit */
	char	   *value;			/* list: SQL of the value */
	Oid			partition;
} KeySlot;

typedef struct KeyLevel
{
	AttrNumber	attnum;
	char		strategy;
	Oid			typid;			/* a domain's base type */
	int64		unit;			/* microseconds of a timestamp's number */
	List	   *slots;			/* KeySlot; of a range, ascending */
} KeyLevel;

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

static void add_columns(Generate *gen, List *attnums);
static GenerateKind default_kind(Relation target, AttrNumber attnum);
static void parse_spec(Generate *gen);
static void parse_item(Generate *gen, const char **p);
static char *parse_name(Generate *gen, const char **p, bool *quoted);
static int64 parse_number(Generate *gen, const char **p, const char *what);
static void parse_kind(Generate *gen, const char **p, const char *name);
static void spec_error(Generate *gen);
static GenerateColumn *find_column(Generate *gen, const char *name);
static GenerateColumn *find_attnum(Generate *gen, AttrNumber attnum);
static char *column_sql(Generate *gen, GenerateColumn *column);
static char *plain_value(Generate *gen, GenerateColumn *column);
static void check_distinct(Generate *gen, GenerateColumn *column,
						   int64 limit);
static char *value_sql(Oid typid, int32 typmod, int64 seed,
					   const char *number, bool ordered, int64 *limit);
static char *text_sql(int length, int64 seed, const char *number,
					  bool ordered, int64 *limit);
static char *numeric_sql(int32 typmod, const char *number, bool ordered,
						 int64 *limit);
static char *interval_sql(int32 typmod, const char *number, bool ordered,
						  int64 *limit);
static char *time_sql(Oid typid, int32 typmod, const char *number,
					  bool ordered, int64 *limit);
static char *bit_sql(Oid typid, int32 typmod, const char *number,
					 int64 *limit);
static char *enum_sql(Oid typid, const char *number, int64 *limit);
static char *array_sql(Oid elemtype, int32 typmod, int64 seed,
					   const char *number, bool ordered, int64 *limit);
static void steer(Generate *gen);
static KeyLevel *read_level(Relation rel);
static void add_range_slots(KeyLevel *level, Relation rel, int64 lo, int64 hi,
							bool open);
static void add_range_slot(KeyLevel *level, Oid partition, int64 lo, int64 hi,
						   bool open);
static void add_list_slots(KeyLevel *level, Relation rel);
static bool key_column(Relation rel, AttrNumber *attnum, char *strategy);
static bool bound_number(Oid typid, Datum value, int64 *number);
static bool key_limits(Oid typid, int64 *min, int64 *max);
static void choose_unit(KeyLevel *level);
static char *level_number(GenerateColumn *column);
static void steer_first(Generate *gen, KeyLevel *level,
						GenerateColumn *column);
static void steer_second(Generate *gen, KeyLevel *first);
static bool second_level(Generate *gen, KeyLevel *first, KeyLevel *second,
						 List **starts, List **counts);
static char *slot_value(KeyLevel *level, const char *slot,
						const char *offset);
static char *slot_array(KeyLevel *level, bool widths, bool open_too);
static int64 least_width(KeyLevel *level);
static void put_wide_last(KeyLevel *level);
static int64 slot_width(const KeySlot *slot, bool open_too);
static int64 least_number(List *numbers);
static char *int8_array(List *numbers);
static char *hash_sql(const char *number, int64 seed);
static char *int8_sql(int64 value);
static char *sql(const char *shorthand, const char *arg1, const char *arg2,
				 const char *arg3);

/*
 * Write the query.  Raises 42703 for a column that is not there, 22023 for
 * anything else wrong with spec, 22003 if a column cannot have as many
 * distinct values as there are rows, 0A000 if it can have none.
 */
char *
ingest_generate_sql(Relation target, List *attnums, const char *spec,
					int64 first, int64 rows)
{
	Generate	gen = {0};
	StringInfoData buf;
	const char *sep = "";
	int			save_nestlevel;
	ListCell   *lc;

	Assert(first >= 0 && rows > 0);

	gen.target = target;
	gen.spec = spec;
	if (pg_add_s64_overflow(first, rows - 1, &gen.last))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("row number out of range")));

	add_columns(&gen, attnums);
	parse_spec(&gen);

	/* Bounds of partitions are written so that any session can read them. */
	save_nestlevel = NewGUCNestLevel();
	(void) set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("intervalstyle", "postgres",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("extra_float_digits", "1",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	if (target->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		steer(&gen);
	AtEOXact_GUC(true, save_nestlevel);

	initStringInfo(&buf);
	appendStringInfoString(&buf, "SELECT ");
	foreach(lc, gen.columns)
	{
		GenerateColumn *column = lfirst(lc);

		appendStringInfo(&buf, "%s%s AS %s", sep, column_sql(&gen, column),
						 quote_identifier(column->name));
		sep = ", ";
	}

	/* In a target list, unlike in FROM, the series is not stored first. */
	appendStringInfo(&buf, " FROM (SELECT i, %s AS slot FROM"
					 " (SELECT pg_catalog.generate_series(%s, %s) AS i)"
					 " AS series) AS g",
					 gen.slot ? gen.slot : "NULL",
					 int8_sql(first), int8_sql(gen.last));
	return buf.data;
}

/* Set up the columns with what holds unless spec says otherwise. */
static void
add_columns(Generate *gen, List *attnums)
{
	TupleDesc	tupdesc = RelationGetDescr(gen->target);
	ListCell   *lc;

	foreach(lc, attnums)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, lfirst_int(lc) - 1);
		GenerateColumn *column = palloc0_object(GenerateColumn);

		column->attnum = att->attnum;
		column->name = pstrdup(NameStr(att->attname));
		column->typmod = att->atttypmod;
		column->typid = getBaseTypeAndTypmod(att->atttypid, &column->typmod);
		column->nullable = !att->attnotnull;
		column->kind = default_kind(gen->target, att->attnum);
		gen->columns = lappend(gen->columns, column);
	}
}

/* Distinct if some unique index begins with the column, otherwise random. */
static GenerateKind
default_kind(Relation target, AttrNumber attnum)
{
	GenerateKind kind = GENERATE_RANDOM;
	List	   *indexes = RelationGetIndexList(target);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisunique &&
			index->rd_index->indkey.values[0] == attnum)
			kind = GENERATE_DISTINCT;
		index_close(index, NoLock);
	}
	list_free(indexes);
	return kind;
}

/*
 * Read "seed=42, null=10, column=kind, ...".  A column by the name of seed or
 * null can be told by quoting it.
 */
static void
parse_spec(Generate *gen)
{
	const char *p = gen->spec;
	ListCell   *lc;

	while (scanner_isspace(*p))
		p++;
	while (*p != '\0')
	{
		parse_item(gen, &p);
		if (*p == '\0')
			break;
		if (*p++ != ',')
			spec_error(gen);
	}

	foreach(lc, gen->columns)
	{
		GenerateColumn *column = lfirst(lc);

		column->seed = (int64)
			hash_bytes_extended((const unsigned char *) column->name,
								strlen(column->name), (uint64) gen->seed);
	}
}

/* Read one name=value and the space after it. */
static void
parse_item(Generate *gen, const char **p)
{
	bool		quoted;
	char	   *name = parse_name(gen, p, &quoted);

	if (**p != '=')
		spec_error(gen);
	(*p)++;

	if (!quoted && strcmp(name, "seed") == 0)
		gen->seed = parse_number(gen, p, "seed");
	else if (!quoted && strcmp(name, "null") == 0)
	{
		gen->null_percent = parse_number(gen, p, "percentage of nulls");
		if (gen->null_percent < 0 || gen->null_percent > 100)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("percentage of nulls must be between 0 and 100")));
	}
	else
		parse_kind(gen, p, name);
}

/* Read an identifier and the space around it. */
static char *
parse_name(Generate *gen, const char **p, bool *quoted)
{
	const char *start;
	char	   *name;

	while (scanner_isspace(**p))
		(*p)++;

	*quoted = (**p == '"');
	if (*quoted)
	{
		StringInfoData buf;

		initStringInfo(&buf);
		for ((*p)++; **p != '"' || (*p)[1] == '"'; (*p)++)
		{
			if (**p == '\0')
				spec_error(gen);
			if (**p == '"')
				(*p)++;
			appendStringInfoChar(&buf, **p);
		}
		(*p)++;
		name = buf.data;
	}
	else
	{
		start = *p;
		while (**p != '\0' && strchr("=,()\"", **p) == NULL &&
			   !scanner_isspace(**p))
			(*p)++;
		name = downcase_identifier(start, *p - start, false, false);
	}
	if (name[0] == '\0')
		spec_error(gen);

	while (scanner_isspace(**p))
		(*p)++;
	return name;
}

/* Read an integer and the space around it. */
static int64
parse_number(Generate *gen, const char **p, const char *what)
{
	const char *start;
	char	   *number;
	char	   *end;
	int64		result;

	while (scanner_isspace(**p))
		(*p)++;
	start = *p;
	while (**p != '\0' && **p != ',' && **p != ')')
		(*p)++;
	number = pnstrdup(start, *p - start);

	errno = 0;
	result = strtoi64(number, &end, 10);
	while (scanner_isspace(*end))
		end++;
	if (errno != 0 || end == number || *end != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is not an integer: \"%s\"", what, number),
				 errcontext("generator specification \"%s\"", gen->spec)));
	return result;
}

/* Read what kind of values the column named gets. */
static void
parse_kind(Generate *gen, const char **p, const char *name)
{
	GenerateColumn *column = find_column(gen, name);
	bool		quoted;
	char	   *kind = parse_name(gen, p, &quoted);

	if (strcmp(kind, "distinct") == 0)
		column->kind = GENERATE_DISTINCT;
	else if (strcmp(kind, "correlated") == 0)
		column->kind = GENERATE_CORRELATED;
	else if (strcmp(kind, "random") == 0)
		column->kind = GENERATE_RANDOM;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized kind of generated values: \"%s\"", kind),
				 errhint("Use distinct, correlated, random or random(number of values).")));
	column->kind_given = true;

	if (column->kind == GENERATE_RANDOM && **p == '(')
	{
		(*p)++;
		column->nvalues = parse_number(gen, p, "number of values");
		if (column->nvalues <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("number of values of column \"%s\" must be positive",
							name)));
		if (**p != ')')
			spec_error(gen);
		(*p)++;
		while (scanner_isspace(**p))
			(*p)++;
	}
}

static void
spec_error(Generate *gen)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid generator specification \"%s\"", gen->spec),
			 errhint("Write it as \"seed=42, column=distinct, column=random(1000)\".")));
}

/* The column by that name among those to generate. */
static GenerateColumn *
find_column(Generate *gen, const char *name)
{
	ListCell   *lc;

	foreach(lc, gen->columns)
	{
		GenerateColumn *column = lfirst(lc);

		if (strcmp(column->name, name) == 0)
			return column;
	}

	if (get_attnum(RelationGetRelid(gen->target), name) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" is not among the columns to load",
						name)));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of relation \"%s\" does not exist",
					name, RelationGetRelationName(gen->target))));
}

/* The column by that number, or NULL if it is not to be generated. */
static GenerateColumn *
find_attnum(Generate *gen, AttrNumber attnum)
{
	ListCell   *lc;

	foreach(lc, gen->columns)
	{
		GenerateColumn *column = lfirst(lc);

		if (column->attnum == attnum)
			return column;
	}
	return NULL;
}

/* SQL of a column's value in row i. */
static char *
column_sql(Generate *gen, GenerateColumn *column)
{
	char	   *type = format_type_extended(column->typid, column->typmod,
											FORMAT_TYPE_TYPEMOD_GIVEN |
											FORMAT_TYPE_FORCE_QUALIFY);
	char	   *value = column->key_value;

	if (value == NULL)
		value = plain_value(gen, column);
	if (value == NULL)
	{
		if (!column->nullable || column->kind_given)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot generate values of type %s for column \"%s\"",
							format_type_be(column->typid), column->name),
					 errhint("Use a query as the source instead.")));
		value = "NULL";
	}
	else if (gen->null_percent > 0 && column->nullable &&
			 column->kind != GENERATE_DISTINCT && column->key_value == NULL)
		value = sql("CASE WHEN ($1 {%} 100) {>=} $2 THEN $3 END",
					hash_sql("g.i", column->seed ^ PG_INT32_MAX),
					int8_sql(gen->null_percent), value);

	return psprintf("(%s)::%s", value, type);
}

/* SQL of a value that no partition asks for, NULL if we know no such type. */
static char *
plain_value(Generate *gen, GenerateColumn *column)
{
	bool		ordered = (column->kind != GENERATE_RANDOM ||
						   column->nvalues > 0);
	char	   *number = NULL;
	int64		limit;

	/* The limit is needed to say what the number is. */
	if (value_sql(column->typid, column->typmod, column->seed, "", ordered,
				  &limit) == NULL)
		return NULL;

	switch (column->kind)
	{
		case GENERATE_DISTINCT:
			/* Rows count from 1: 0 is the last number to be used. */
			if (limit < PG_INT64_MAX)
				limit++;
			check_distinct(gen, column, limit);
			number = sql("(g.i {%} $1)", int8_sql(limit), NULL, NULL);
			break;
		case GENERATE_CORRELATED:
			number = sql("((g.i {+} ($1 {%} $2)) {%} $3)",
						 hash_sql("g.i", column->seed),
						 int8_sql(CORRELATED_NOISE),
						 int8_sql(limit < PG_INT64_MAX ? limit + 1 : limit));
			break;
		case GENERATE_RANDOM:
			number = hash_sql("g.i", column->seed);
			if (ordered)
				number = sql("($3 {+} ($1 {%} $2))", number,
							 int8_sql(column->nvalues > limit ?
									  limit + 1 : column->nvalues),
							 column->nvalues > limit ? "0" : "1");
			break;
	}
	return value_sql(column->typid, column->typmod, column->seed, number,
					 ordered, &limit);
}

/* Raise 22003 if the series does not have as many values as asked for. */
static void
check_distinct(Generate *gen, GenerateColumn *column, int64 limit)
{
	if (gen->last > limit)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("cannot generate %lld distinct values for column \"%s\"",
						(long long) gen->last, column->name),
				 errdetail("Its type and the table's partitions allow for %lld.",
						   (long long) limit),
				 errhint("Generate fewer rows or set the column to random.")));
}

/*
 * SQL of the value of a type that belongs to a number.  In the ordered form
 * different numbers from 0 to *limit give different values; in the random
 * form the number is a hash.  Returns NULL for types unknown here.
 */
static char *
value_sql(Oid typid, int32 typmod, int64 seed, const char *number,
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

	for (int i = 0; i < lengthof(generate_types); i++)
	{
		const GenerateType *type = &generate_types[i];

		if (type->typid != typid)
			continue;
		*limit = type->limit;
		return sql(ordered ? type->ordered : type->random, number,
				   hash_sql(number, seed + 1), hash_sql(number, seed + 2));
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
		appendStringInfoString(&buf, sql("@lpad(($1)::@text, $2, '0')",
										 number, psprintf("%d", done), NULL));
		*limit = 1;
		for (int i = 0; i < done; i++)
			*limit *= 10;
		*limit -= 1;
	}
	for (; done < length; done += 16)
		appendStringInfoString(&buf, sql("$1@lpad(@to_hex($2), 16, '0')",
										 buf.len > 0 ? " OPERATOR(pg_catalog.||) " : "",
										 hash_sql(number, seed + ++nhashes),
										 NULL));
	return sql("@substr($1, 1, $2)", buf.data, psprintf("%d", length), NULL);
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
	return sql("($1 {%} $2)::@numeric {*} $3", number, int8_sql(modulus),
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
	return sql("$1::@interval {*} ($2 {%} $3)::@float8", unit, number,
			   int8_sql(modulus));
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
		number = sql("($1 {%} $2)", number, int8_sql(*limit + 1), NULL);
	return sql("$1 {+} ($2 {*} ($3)::@float8)",
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
	return sql("($1)::pg_catalog.bit($2)", number, psprintf("%d", length),
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
	return sql("(ARRAY[$1])[1 {+} ($2 {%} $3)]", labels.data, number,
			   int8_sql(nlabels));
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
			value = value_sql(elemtype, typmod, seed, number, ordered, limit);
		else
			value = value_sql(elemtype, typmod, seed + 16 * i,
							  hash_sql(number, seed + 16 * i), false,
							  &ignored);
		if (value == NULL)
			return NULL;
		elements[i] = psprintf("(%s)::%s", value, type);
	}
	return sql("ARRAY[$1, $2, $3]", elements[0], elements[1], elements[2]);
}

/* Make the values of partition keys such that rows find a partition. */
static void
steer(Generate *gen)
{
	KeyLevel   *first = read_level(gen->target);
	GenerateColumn *column;

	if (first == NULL)
		return;
	column = find_attnum(gen, first->attnum);
	if (column == NULL)
		return;
	steer_first(gen, first, column);
	steer_second(gen, first);
}

/*
 * Read the slots of a partitioned table's key, or of the first level below
 * that is not by hash.  NULL if they are of no use.
 */
static KeyLevel *
read_level(Relation rel)
{
	KeyLevel   *level = palloc0_object(KeyLevel);
	char		strategy;
	int64		min;
	int64		max;

	if (RelationGetPartitionKey(rel)->strategy == PARTITION_STRATEGY_HASH)
	{
		PartitionDesc partdesc = RelationGetPartitionDesc(rel, true);
		Relation	child;
		KeyLevel   *result = NULL;

		if (partdesc->nparts == 0)
			return NULL;
		child = table_open(partdesc->oids[0], AccessShareLock);
		if (child->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
			result = read_level(child);
		if (result != NULL)
			result->attnum = get_attnum(RelationGetRelid(rel),
										get_attname(RelationGetRelid(child),
													result->attnum, false));
		table_close(child, NoLock);
		return result;
	}

	if (!key_column(rel, &level->attnum, &strategy))
		return NULL;
	level->strategy = strategy;
	level->typid = getBaseType(TupleDescAttr(RelationGetDescr(rel),
											 level->attnum - 1)->atttypid);
	if (strategy == PARTITION_STRATEGY_LIST)
		add_list_slots(level, rel);
	else if (key_limits(level->typid, &min, &max))
		add_range_slots(level, rel, min, max, true);
	if (level->slots == NIL)
		return NULL;
	choose_unit(level);
	return level;
}

/*
 * Add the parts of a range partitioned table that are within lo and hi; open
 * says that hi is no bound.  A partition divided by the same column again is
 * replaced by its parts.
 */
static void
add_range_slots(KeyLevel *level, Relation rel, int64 lo, int64 hi, bool open)
{
	PartitionDesc partdesc = RelationGetPartitionDesc(rel, true);
	PartitionBoundInfo bounds = partdesc->boundinfo;
	int64		bottom = PG_INT64_MAX;
	int64		previous = lo;
	bool		previous_known = false;
	bool		top_open = false;

	if (partdesc->nparts == 0)
		return;

	/* indexes[i] is the partition that ends with bound i. */
	for (int i = 0; i < bounds->ndatums; i++)
	{
		PartitionRangeDatumKind kind = bounds->kind[i][0];
		int64		bound = hi;
		bool		known = false;

		if (kind == PARTITION_RANGE_DATUM_VALUE)
		{
			known = bound_number(level->typid, bounds->datums[i][0], &bound);
			if (!known)
				bound = (bound < 0) ? lo : hi;
		}
		else if (kind == PARTITION_RANGE_DATUM_MINVALUE)
			bound = lo;
		if (known)
			bound = Max(Min(bound, hi), lo);

		if (bounds->indexes[i] >= 0 && previous < bound)
		{
			int64		start = previous;

			/* Without a lower bound, stay near the upper one. */
			if (!previous_known && known && bound > lo + OPEN_WIDTH)
				start = bound - OPEN_WIDTH;
			add_range_slot(level, partdesc->oids[bounds->indexes[i]], start,
						   bound, !known && open);
			bottom = Min(bottom, start);
			top_open = !known;
		}
		previous = bound;
		previous_known = known;
	}

	/* The default partition gets what is above all others, or below. */
	if (bounds->default_index >= 0)
	{
		Oid			partition = partdesc->oids[bounds->default_index];

		if (bounds->ndatums == 0)
			add_range_slot(level, partition, Max(lo, 0), hi, open);
		else if (!top_open && previous < hi)
			add_range_slot(level, partition, previous, hi, open);
		else if (bottom > lo + OPEN_WIDTH)
			add_range_slot(level, partition, bottom - OPEN_WIDTH, bottom,
						   false);
	}
}

/* Add one slot, or those of the partition if the same column divides it. */
static void
add_range_slot(KeyLevel *level, Oid partition, int64 lo, int64 hi, bool open)
{
	KeySlot    *slot;

	if (get_rel_relkind(partition) == RELKIND_PARTITIONED_TABLE)
	{
		Relation	rel = table_open(partition, AccessShareLock);
		KeyLevel	below = *level;
		AttrNumber	attnum;
		char		strategy;
		bool		same = false;

		if (key_column(rel, &attnum, &strategy) &&
			strategy == PARTITION_STRATEGY_RANGE)
		{
			Relation	parent = table_open(get_partition_parent(partition, false),
											NoLock);
			AttrNumber	parent_attnum;
			char		parent_strategy;

			if (key_column(parent, &parent_attnum, &parent_strategy))
				same = strcmp(get_attname(partition, attnum, false),
							  get_attname(RelationGetRelid(parent),
										  parent_attnum, false)) == 0;
			table_close(parent, NoLock);
		}
		if (same)
		{
			add_range_slots(&below, rel, lo, hi, open);
			level->slots = below.slots;
		}
		table_close(rel, NoLock);
		if (same)
			return;
	}

	slot = palloc0_object(KeySlot);
	slot->lo = lo;
	slot->hi = hi;
	slot->open = open;
	slot->partition = partition;
	level->slots = lappend(level->slots, slot);
}

/*
 * Add the values of a list partitioned table.  Nulls and the default
 * partition are passed over: nothing says which values would go there.
 */
static void
add_list_slots(KeyLevel *level, Relation rel)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc partdesc = RelationGetPartitionDesc(rel, true);
	PartitionBoundInfo bounds = partdesc->boundinfo;
	Oid			output;
	bool		varlena;
	char	   *type;

	if (partdesc->nparts == 0)
		return;
	getTypeOutputInfo(key->parttypid[0], &output, &varlena);
	type = format_type_extended(key->parttypid[0], key->parttypmod[0],
								FORMAT_TYPE_TYPEMOD_GIVEN |
								FORMAT_TYPE_FORCE_QUALIFY);
	for (int i = 0; i < bounds->ndatums; i++)
	{
		char	   *value = OidOutputFunctionCall(output,
												  bounds->datums[i][0]);
		KeySlot    *slot = palloc0_object(KeySlot);

		slot->value = psprintf("%s::%s", quote_literal_cstr(value), type);
		slot->partition = partdesc->oids[bounds->indexes[i]];
		level->slots = lappend(level->slots, slot);
	}
}

/* Is the table partitioned by range or list of one plain column? */
static bool
key_column(Relation rel, AttrNumber *attnum, char *strategy)
{
	PartitionKey key = RelationGetPartitionKey(rel);

	*strategy = key->strategy;
	*attnum = key->partattrs[0];
	return key->partnatts == 1 && *attnum > 0 &&
		(key->strategy == PARTITION_STRATEGY_RANGE ||
		 key->strategy == PARTITION_STRATEGY_LIST);
}

/* The bound as a number; false if it is infinite. */
static bool
bound_number(Oid typid, Datum value, int64 *number)
{
	switch (typid)
	{
		case INT2OID:
			*number = DatumGetInt16(value);
			return true;
		case INT4OID:
			*number = DatumGetInt32(value);
			return true;
		case INT8OID:
			*number = DatumGetInt64(value);
			return true;
		case DATEOID:
			*number = DatumGetDateADT(value);
			return !DATE_NOT_FINITE(DatumGetDateADT(value));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*number = DatumGetTimestamp(value);
			return !TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value));
		default:
			elog(ERROR, "unexpected type %u of a partition bound", typid);
			return false;		/* keep compiler quiet */
	}
}

/*
 * Numbers that values of the type can have, from min to max - 1; false if
 * they are not numbers.
 */
static bool
key_limits(Oid typid, int64 *min, int64 *max)
{
	switch (typid)
	{
		case INT2OID:
			*min = PG_INT16_MIN;
			*max = PG_INT16_MAX;
			break;
		case INT4OID:
			*min = PG_INT32_MIN;
			*max = PG_INT32_MAX;
			break;
		case INT8OID:
			*min = PG_INT64_MIN;
			*max = PG_INT64_MAX;
			break;
		case DATEOID:
			*min = DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE;
			*max = DATE_END_JULIAN - POSTGRES_EPOCH_JDATE;
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*min = MIN_TIMESTAMP;
			*max = END_TIMESTAMP;
			break;
		default:
			return false;
	}
	return true;
}

/*
 * Count timestamps in seconds where all bounds allow it: values then spread
 * over their partitions, and survive timestamp(0).
 */
static void
choose_unit(KeyLevel *level)
{
	ListCell   *lc;

	level->unit = 1;
	if (level->strategy != PARTITION_STRATEGY_RANGE ||
		(level->typid != TIMESTAMPOID && level->typid != TIMESTAMPTZOID))
		return;

	foreach(lc, level->slots)
	{
		KeySlot    *slot = lfirst(lc);

		if (slot->lo % USECS_PER_SEC != 0 || slot->hi % USECS_PER_SEC != 0)
			return;
	}
	foreach(lc, level->slots)
	{
		KeySlot    *slot = lfirst(lc);

		slot->lo /= USECS_PER_SEC;
		slot->hi /= USECS_PER_SEC;
	}
	level->unit = USECS_PER_SEC;
}

/* The number that slot and place in it are taken from if order is no matter. */
static char *
level_number(GenerateColumn *column)
{
	char	   *number = hash_sql("i", column->seed);

	if (column->nvalues > 0)
		number = sql("($1 {%} $2)", number, int8_sql(column->nvalues), NULL);
	return number;
}

/*
 * Choose slot and value at the first level.
 *
 * Random rows go anywhere.  Distinct and correlated ones fill the partitions
 * in turn by blocks, each block going on where the partition's last one
 * ended, so that a short series, too, meets all partitions, and rows that
 * follow each other are mostly in the same one.  If a partition is smaller
 * than a block, they are filled one after the other, the small ones first.
 */
static void
steer_first(Generate *gen, KeyLevel *level, GenerateColumn *column)
{
	int			nslots = list_length(level->slots);
	char	   *count = int8_sql(nslots);
	bool		distinct = (column->kind == GENERATE_DISTINCT);
	int64		least;
	int64		total = 0;
	List	   *starts = NIL;
	char	   *offset;
	ListCell   *lc;

	least = least_width(level);
	if (least < PARTITION_BLOCK)
		put_wide_last(level);
	foreach(lc, level->slots)
	{
		int64	   *start = palloc_object(int64);

		*start = total;
		starts = lappend(starts, start);
		total += slot_width(lfirst(lc), true);
	}

	if (column->kind == GENERATE_RANDOM)
	{
		char	   *number = level_number(column);

		gen->slot = sql("1 {+} ($1 {%} $2)", number, count, NULL);
		offset = sql("($1 {/} $2)", number, count, NULL);
		offset = sql("($1 {%} ($2)[g.slot])", offset,
					 slot_array(level, true, false), NULL);
	}
	else if (level->strategy == PARTITION_STRATEGY_LIST)
	{
		if (distinct)
			check_distinct(gen, column, nslots);
		gen->slot = sql("1 {+} ((i {/} $1) {%} $2)",
						int8_sql(distinct ? 1 : PARTITION_BLOCK), count, NULL);
		offset = NULL;
	}
	else if (least >= PARTITION_BLOCK)
	{
		if (distinct)
			check_distinct(gen, column,
						   Min(MAX_WIDTH,
							   least / PARTITION_BLOCK * PARTITION_BLOCK * nslots));
		gen->slot = sql("1 {+} ((i {/} $1) {%} $2)",
						int8_sql(PARTITION_BLOCK), count, NULL);
		offset = sql("(((g.i {/} ($1 {*} $2)) {*} $1) {+} (g.i {%} $1))",
					 int8_sql(PARTITION_BLOCK), count, NULL);
		if (!distinct)
			offset = sql("(($1 {+} ($2 {%} 64)) {%} ($3)[g.slot])", offset,
						 hash_sql("g.i", column->seed),
						 slot_array(level, true, true));
	}
	else
	{
		char	   *place = "i";
		char	   *array = int8_array(starts);

		if (distinct)
			check_distinct(gen, column, total);
		else
			place = sql("(i {+} ($1 {%} 64))", hash_sql("i", column->seed),
						NULL, NULL);
		place = sql("($1 {%} $2)", place, int8_sql(total), NULL);
		gen->slot = sql("@width_bucket($1, $2)", place, array, NULL);
		offset = sql("($1 {-} ($2)[g.slot])", place, array, NULL);
	}

	column->key_value = slot_value(level, "g.slot", offset);
}

/*
 * Choose slot and value at the second level, among those within the row's
 * first-level slot.  Blocks go round as at the first level, but the number of
 * slots they go round by differs; distinct values are so at least where every
 * first-level slot is divided alike.
 */
static void
steer_second(Generate *gen, KeyLevel *first)
{
	KeyLevel	second = {0};
	List	   *starts = NIL;
	List	   *counts = NIL;
	GenerateColumn *column;
	char	   *start;
	char	   *count;
	char	   *slot;
	char	   *offset;

	if (!second_level(gen, first, &second, &starts, &counts))
		return;
	column = find_attnum(gen, second.attnum);
	if (column == NULL || column->key_value != NULL)
		return;

	start = psprintf("(%s)[g.slot]", int8_array(starts));
	count = psprintf("(%s)[g.slot]", int8_array(counts));
	if (column->kind == GENERATE_RANDOM)
	{
		char	   *number = level_number(column);

		slot = sql("($1 {+} ($2 {%} $3))", start, number, count);
		offset = sql("($1 {/} $2)", number, count, NULL);
	}
	else
	{
		int64		least = least_width(&second);
		int64		block = (least < PARTITION_BLOCK) ? 1 : PARTITION_BLOCK;

		if (column->kind == GENERATE_DISTINCT)
			check_distinct(gen, column,
						   Min(MAX_WIDTH, least / block * block * least_number(counts)));
		slot = sql("($1 {+} ((g.i {/} $2) {%} $3))", start, int8_sql(block),
				   count);
		offset = sql("(((g.i {/} ($1 {*} $2)) {*} $1) {+} (g.i {%} $1))",
					 int8_sql(block), count, NULL);
	}
	offset = sql("($1 {%} ($2)[$3])", offset,
				 slot_array(&second, true, column->kind != GENERATE_RANDOM),
				 slot);
	column->key_value = slot_value(&second, slot, offset);
}

/*
 * Put the slots of all partitions of the first level into one list, starts
 * and counts saying where each first-level slot's are.  False unless all that
 * are partitioned are so by the same column in the same way.
 */
static bool
second_level(Generate *gen, KeyLevel *first, KeyLevel *second,
			 List **starts, List **counts)
{
	ListCell   *lc;

	foreach(lc, first->slots)
	{
		KeySlot    *slot = lfirst(lc);
		int64	   *start = palloc_object(int64);
		int64	   *count = palloc_object(int64);
		Relation	rel;
		KeyLevel   *below;
		AttrNumber	attnum = InvalidAttrNumber;

		if (get_rel_relkind(slot->partition) != RELKIND_PARTITIONED_TABLE)
			return false;
		rel = table_open(slot->partition, AccessShareLock);
		below = read_level(rel);
		if (below != NULL)
			attnum = get_attnum(RelationGetRelid(gen->target),
								get_attname(RelationGetRelid(rel),
											below->attnum, false));
		table_close(rel, NoLock);
		if (below == NULL ||
			(second->slots != NIL &&
			 (attnum != second->attnum ||
			  below->strategy != second->strategy ||
			  below->unit != second->unit)))
			return false;

		*start = list_length(second->slots) + 1;
		*count = list_length(below->slots);
		*starts = lappend(*starts, start);
		*counts = lappend(*counts, count);
		below->attnum = attnum;
		below->slots = list_concat(second->slots, below->slots);
		*second = *below;
	}
	return second->slots != NIL;
}

/* SQL of the value at an offset within a slot. */
static char *
slot_value(KeyLevel *level, const char *slot, const char *offset)
{
	char	   *array = slot_array(level, false, false);
	char	   *value;

	if (level->strategy == PARTITION_STRATEGY_LIST)
		return sql("($1)[$2]", array, slot, NULL);

	value = sql("(($1)[$2] {+} $3)", array, slot, offset);
	switch (level->typid)
	{
		case DATEOID:
			return sql("'2000-01-01'::@date {+} ($1)::@int4", value, NULL,
					   NULL);
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return sql("$1 {+} ($2 {*} ($3)::@float8)",
					   level->typid == TIMESTAMPOID ?
					   "'2000-01-01'::pg_catalog.timestamp" :
					   "'2000-01-01 00:00:00+00'::pg_catalog.timestamptz",
					   level->unit == 1 ?
					   "'1 microsecond'::pg_catalog.interval" :
					   "'1 second'::pg_catalog.interval",
					   value);
	}
	return value;
}

/* SQL of an array of the slots' values, first numbers, or widths. */
static char *
slot_array(KeyLevel *level, bool widths, bool open_too)
{
	List	   *numbers = NIL;
	StringInfoData values;
	ListCell   *lc;

	initStringInfo(&values);
	foreach(lc, level->slots)
	{
		KeySlot    *slot = lfirst(lc);
		int64	   *number = palloc_object(int64);

		if (slot->value != NULL)
			appendStringInfo(&values, "%s%s", values.len > 0 ? ", " : "",
							 slot->value);
		*number = widths ? slot_width(slot, open_too) : slot->lo;
		numbers = lappend(numbers, number);
	}
	if (level->strategy == PARTITION_STRATEGY_LIST && !widths)
		return psprintf("ARRAY[%s]", values.data);
	return int8_array(numbers);
}

/* Width of the slot that has the fewest values. */
static int64
least_width(KeyLevel *level)
{
	int64		least = MAX_WIDTH;
	ListCell   *lc;

	foreach(lc, level->slots)
		least = Min(least, slot_width(lfirst(lc), true));
	return least;
}

/* Move the slots of a block or more behind the others. */
static void
put_wide_last(KeyLevel *level)
{
	List	   *narrow = NIL;
	List	   *wide = NIL;
	ListCell   *lc;

	foreach(lc, level->slots)
	{
		if (slot_width(lfirst(lc), true) < PARTITION_BLOCK)
			narrow = lappend(narrow, lfirst(lc));
		else
			wide = lappend(wide, lfirst(lc));
	}
	level->slots = list_concat(narrow, wide);
}

/* How many values a slot has; one without an end has few or many. */
static int64
slot_width(const KeySlot *slot, bool open_too)
{
	int64		width;

	if (slot->value != NULL)
		return 1;
	if (pg_sub_s64_overflow(slot->hi, slot->lo, &width))
		width = MAX_WIDTH;
	if (slot->open && !open_too)
		width = Min(width, OPEN_WIDTH);
	return Min(width, MAX_WIDTH);
}

/* The least of a list of int64 pointers. */
static int64
least_number(List *numbers)
{
	int64		least = PG_INT64_MAX;
	ListCell   *lc;

	foreach(lc, numbers)
		least = Min(least, *(int64 *) lfirst(lc));
	return least;
}

/* SQL of an array of a list of int64 pointers. */
static char *
int8_array(List *numbers)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	foreach(lc, numbers)
		appendStringInfo(&buf, "%s" INT64_FORMAT, buf.len > 0 ? "," : "",
						 *(int64 *) lfirst(lc));
	return psprintf("'{%s}'::pg_catalog.int8[]", buf.data);
}

/* SQL of a hash, from 0 to 2^63 - 1. */
static char *
hash_sql(const char *number, int64 seed)
{
	return sql("(@hashint8extended($1, $2) {&} $3)", number, int8_sql(seed),
			   int8_sql(PG_INT64_MAX));
}

/* SQL of a constant; quoted because of a minus. */
static char *
int8_sql(int64 value)
{
	return psprintf("'" INT64_FORMAT "'::pg_catalog.int8", value);
}

/*
 * Write out shorthand: @ is pg_catalog., {op} is OPERATOR(pg_catalog.op), $1
 * to $3 are the arguments, which are SQL already.  All operators written so
 * have the same precedence, hence the parentheses.
 */
static char *
sql(const char *shorthand, const char *arg1, const char *arg2,
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
