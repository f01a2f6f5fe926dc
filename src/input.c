/*-------------------------------------------------------------------------
 *
 * input.c
 *		From the source a user names to one that a load can read.
 *
 * Rows to be loaded several times, or by several processes, must be the same
 * each time, while a program or a volatile query need not repeat itself.
 * Such sources are read once, in the caller's own transaction, into a
 * temporary file; what producing them costs is then no part of what is
 * measured either.
 *
 * IDENTIFICATION
 *		src/input.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "commands/copy.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "generate.h"
#include "input.h"
#include "spool.h"

#define GENERATE_PREFIX		"generate:"

/*
 * What the user wrote after "generate:", or NULL if these are not generated
 * rows.
 */
static const char *
generate_spec(const char *text)
{
	if (text == NULL || pg_strcasecmp(text, "generate") == 0)
		return "";
	if (pg_strncasecmp(text, GENERATE_PREFIX, strlen(GENERATE_PREFIX)) == 0)
		return text + strlen(GENERATE_PREFIX);
	return NULL;
}

bool
ingest_input_is_generated(const char *text)
{
	return generate_spec(text) != NULL;
}

char *
ingest_input_target_query(Relation target, List *attnums)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "SELECT ");
	foreach(lc, attnums)
		appendStringInfo(&buf, "%s%s", lc == list_head(attnums) ? "" : ", ",
						 quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(target),
																lfirst_int(lc) - 1)->attname)));
	appendStringInfo(&buf, " FROM %s%s",
					 target->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
					 "" : "ONLY ",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(target)),
												RelationGetRelationName(target)));
	return buf.data;
}

/*
 * The query whose rows are the generated ones.
 */
static IngestSourceSpec *
generated_source(Relation target, const char *generate,
				 const IngestOptions *options, int64 first, int64 rows)
{
	IngestSourceSpec *spec = palloc0_object(IngestSourceSpec);
	List	   *attnums = CopyGetAttnums(RelationGetDescr(target), target,
										 options->columns);

	spec->kind = INGEST_SOURCE_QUERY;
	spec->text = ingest_generate_sql(target, attnums, generate, first,
									 rows >= 0 ? rows :
									 INGEST_DEFAULT_GENERATED_ROWS);
	spec->end = -1;
	spec->first_line = 1;
	return spec;
}

IngestSourceSpec *
ingest_input_resolve(Relation target, const char *text,
					 IngestOptions *options, int64 first, int64 rows)
{
	const char *generate = generate_spec(text);
	IngestSourceSpec *spec;

	if (generate != NULL)
		spec = generated_source(target, generate, options, first, rows);
	else
		spec = ingest_source_spec(text);
	ingest_source_check_permission(spec);

	/* The rows of a query are CSV of our own making. */
	if (spec->kind == INGEST_SOURCE_QUERY)
		ingest_options_use_dialect(options,
								   psprintf("format csv, encoding '%s'",
											GetDatabaseEncodingName()));
	return spec;
}

/*
 * Can other processes read it as it is, and as often as they like?  A file
 * that is not there is left to the reader, whose error is COPY's.
 */
static bool
is_plain_file(const IngestSourceSpec *spec)
{
	struct stat st;

	if (spec->kind == INGEST_SOURCE_SPOOL)
		return true;
	return spec->kind == INGEST_SOURCE_FILE &&
		(stat(spec->text, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

IngestSourceSpec *
ingest_input_share(Relation target, const IngestSourceSpec *spec,
				   IngestOptions *options, int64 max_rows)
{
	IngestSourceSpec *shared;

	if (is_plain_file(spec))
	{
		shared = palloc_object(IngestSourceSpec);
		*shared = *spec;
		return shared;
	}

	shared = ingest_spool_source(target, spec, options, max_rows);
	ingest_options_remove_header(options);
	return shared;
}

bool
ingest_input_is_stream(const IngestSourceSpec *spec)
{
	return spec->kind != INGEST_SOURCE_QUERY && !is_plain_file(spec);
}

IngestSourceSpec *
ingest_input_stream(Relation target, const IngestSourceSpec *spec,
					IngestOptions *options, int64 first_bytes)
{
	IngestSourceSpec *stream = ingest_spool_begin(target, spec, options,
												  first_bytes);

	ingest_options_remove_header(options);
	return stream;
}
