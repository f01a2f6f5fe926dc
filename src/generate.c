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
 * Values of partition keys are different, see generate_key.c.
 *
 * The query may run under any search_path.  So that its text can be read here
 * nevertheless, it is written in shorthand, see ingest_sql().
 *
 * IDENTIFICATION
 *		src/generate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "generate.h"
#include "generate_internal.h"

static void add_columns(Generate *gen, List *attnums);
static GenerateKind default_kind(Relation target, AttrNumber attnum);
static void parse_spec(Generate *gen);
static void parse_item(Generate *gen, const char **p);
static char *parse_name(Generate *gen, const char **p, bool *quoted);
static int64 parse_number(Generate *gen, const char **p, const char *what);
static void parse_kind(Generate *gen, const char **p, const char *name);
static void spec_error(Generate *gen);
static GenerateColumn *find_column(Generate *gen, const char *name);
static char *column_sql(Generate *gen, GenerateColumn *column);
static char *plain_value(Generate *gen, GenerateColumn *column);

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
	ListCell   *lc;

	Assert(first >= 0 && rows >= 0);

	gen.target = target;
	gen.spec = spec;
	if (pg_add_s64_overflow(first, rows, &gen.last))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("row number out of range")));

	add_columns(&gen, attnums);
	parse_spec(&gen);

	if (target->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ingest_generate_keys(&gen);

	initStringInfo(&buf);
	appendStringInfoString(&buf, "SELECT ");
	foreach(lc, gen.columns)
	{
		GenerateColumn *column = lfirst(lc);

		appendStringInfo(&buf, "%s%s AS %s", sep, column_sql(&gen, column),
						 quote_identifier(column->name));
		sep = ", ";
	}

	/*
	 * Row numbers begin at 1, as identifiers mostly do.  In a target list,
	 * unlike in FROM, the series is not stored first.
	 */
	appendStringInfo(&buf, " FROM (SELECT i, %s AS slot FROM"
					 " (SELECT pg_catalog.generate_series(%s, %s) AS i)"
					 " AS series) AS g",
					 gen.slot ? gen.slot : "NULL",
					 ingest_sql_int8(first + 1), ingest_sql_int8(gen.last));
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
		value = ingest_sql("CASE WHEN ($1 {%} 100) {>=} $2 THEN $3 END",
						   ingest_sql_hash("g.i", column->seed ^ PG_INT32_MAX),
						   ingest_sql_int8(gen->null_percent), value);

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
	if (ingest_generate_value(column->typid, column->typmod, column->seed, "", ordered,
							  &limit) == NULL)
		return NULL;

	switch (column->kind)
	{
		case GENERATE_DISTINCT:
			/* Row numbers begin at 1: 0 is the last number to be used. */
			if (limit < PG_INT64_MAX)
				limit++;
			ingest_generate_check_distinct(gen, column, limit);
			number = ingest_sql("(g.i {%} $1)", ingest_sql_int8(limit), NULL, NULL);
			break;
		case GENERATE_CORRELATED:
			number = ingest_sql("((g.i {+} ($1 {%} $2)) {%} $3)",
								ingest_sql_hash("g.i", column->seed),
								ingest_sql_int8(GENERATE_NOISE),
								ingest_sql_int8(limit < PG_INT64_MAX ? limit + 1 : limit));
			break;
		case GENERATE_RANDOM:
			number = ingest_sql_hash("g.i", column->seed);
			if (ordered)
				number = ingest_sql("($3 {+} ($1 {%} $2))", number,
									ingest_sql_int8(column->nvalues > limit ?
													limit + 1 : column->nvalues),
									column->nvalues > limit ? "0" : "1");
			break;
	}
	return ingest_generate_value(column->typid, column->typmod, column->seed, number,
								 ordered, &limit);
}
