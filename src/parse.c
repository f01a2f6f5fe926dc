/*-------------------------------------------------------------------------
 *
 * parse.c
 *		Records of a source to rows of a table.
 *
 * COPY is the oracle: for any bytes and options this gives the rows that
 * COPY of the same server gives, or fails with the same SQLSTATE at the same
 * line.  What decides which of several errors of a record comes first is
 * therefore kept: the steps below are NextCopyFromRawFields() and
 * NextCopyFrom() of src/backend/commands/copyfromparse.c.
 *
 * - A record's fields are split at once.  A misplaced DEFAULT marker is an
 *	 error then, from left to right; then an unterminated quoted field; then
 *	 fields beyond the last column.
 * - Then column by column its value is converted; a missing field is an error
 *	 only when its turn comes.
 *
 * Fields of a plain record stay where they are in the decoder's window, and
 * the delimiter after each is overwritten by a NUL.  As text holds no NUL, the
 * error context callback can put the delimiters back in the copy it shows.
 *
 * Everything lives in the parser's memory context, so that input functions
 * and defaults keep what they cache across transactions.
 *
 * IDENTIFICATION
 *		src/parse.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "commands/copy.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "csv.h"
#include "decode.h"
#include "parse.h"
#include "scan.h"

/* Bytes of data an error context shows, as COPY does. */
#define MAX_DATA_DISPLAY	100

const char	ingest_field_default[] = "";

/* A column that the source supplies. */
typedef struct ParserColumn
{
	int			attnum;
	const char *name;
	int32		typmod;
	Oid			typioparam;
	FmgrInfo	input;
	bool		force_not_null;
	bool		force_null;
	ExprState  *default_expr;	/* for the DEFAULT marker, or NULL */
} ParserColumn;

/* A column that it does not supply, and whose default is not NULL. */
typedef struct ParserDefault
{
	int			attnum;
	ExprState  *expr;
} ParserDefault;

struct IngestParser
{
	MemoryContext context;

	/* the target */
	char	   *relname;
	TupleDesc	tupdesc;
	List	   *attnums;
	int			ncolumns;
	ParserColumn *columns;
	bool		force;			/* has a column force_null or force_not_null? */
	int			ndefaults;
	ParserDefault *defaults;
	bool		volatile_defaults;

	/* the format */
	CopyFormatOptions *format;
	int			null_len;
	const char *default_marker; /* NULL for none */
	int			default_len;
	int			header_lines;

	/* the record in hand */
	IngestDecoder *decoder;
	IngestCsv  *csv;
	IngestCsvRecord record;
	char	  **fields;			/* as ingest_parse_fields() returns them */
	bool		at_end;

	/* for the error context */
	int64		line;			/* line of the record in hand */
	int64		shown_line;		/* line to show instead, or 0 */
	bool		record_valid;	/* is all of the record in hand there? */
	const ParserColumn *column; /* column being converted, or NULL */
	const char *value;			/* its text, NULL for SQL NULL */
};

/*
 * IngestDecodeRead: from a source.
 */
static size_t
read_source(void *arg, char *buf, size_t len)
{
	return ingest_source_read((IngestSource *) arg, buf, len);
}

/*
 * The columns that FORCE_NULL or FORCE_NOT_NULL names, as attribute numbers;
 * option is its name.  Naming a column that is not loaded is an error.
 */
static List *
force_attnums(const IngestParser *parser, Relation target, List *names,
			  const char *option)
{
	List	   *attnums = names == NIL ? NIL :
		CopyGetAttnums(RelationGetDescr(target), target, names);
	ListCell   *lc;

	foreach(lc, attnums)
	{
		int			attnum = lfirst_int(lc);

		if (!list_member_int(parser->attnums, attnum))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("%s column \"%s\" not referenced by COPY", option,
							NameStr(TupleDescAttr(parser->tupdesc,
												  attnum - 1)->attname))));
	}
	return attnums;
}

/*
 * Prepare a column's default for execution, or return NULL if it has none.
 */
static ExprState *
init_default(IngestParser *parser, Relation target, int attnum)
{
	Expr	   *expr = (Expr *) build_column_default(target, attnum);

	if (expr == NULL)
		return NULL;
	expr = expression_planner(expr);
	if (!parser->volatile_defaults)
		parser->volatile_defaults =
			contain_volatile_functions_not_nextval((Node *) expr);
	return ExecInitExpr(expr, NULL);
}

/*
 * Fill in parser->columns.
 */
static void
init_columns(IngestParser *parser, Relation target)
{
	const CopyFormatOptions *format = parser->format;
	List	   *force_not_null = force_attnums(parser, target,
											   format->force_notnull,
											   "FORCE_NOT_NULL");
	List	   *force_null = force_attnums(parser, target, format->force_null,
										   "FORCE_NULL");
	int			i = 0;
	ListCell   *lc;

	parser->ncolumns = list_length(parser->attnums);
	parser->columns = palloc0_array(ParserColumn, Max(parser->ncolumns, 1));
	parser->fields = palloc0_array(char *, Max(parser->ncolumns, 1));
	foreach(lc, parser->attnums)
	{
		ParserColumn *column = &parser->columns[i++];
		Form_pg_attribute att = TupleDescAttr(parser->tupdesc,
											  lfirst_int(lc) - 1);
		Oid			input;

		column->attnum = att->attnum;
		column->name = NameStr(att->attname);
		column->typmod = att->atttypmod;
		getTypeInputInfo(att->atttypid, &input, &column->typioparam);
		fmgr_info(input, &column->input);
		column->force_not_null = ingest_copy_force_not_null_all(format) ||
			list_member_int(force_not_null, att->attnum);
		column->force_null = ingest_copy_force_null_all(format) ||
			list_member_int(force_null, att->attnum);
		parser->force |= column->force_not_null || column->force_null;
		if (parser->default_marker != NULL)
			column->default_expr = init_default(parser, target, att->attnum);
	}
}

/*
 * Fill in parser->defaults.  Generated columns are computed by the writer.
 */
static void
init_defaults(IngestParser *parser, Relation target)
{
	int			natts = parser->tupdesc->natts;

	parser->defaults = palloc_array(ParserDefault, Max(natts, 1));
	for (int attnum = 1; attnum <= natts; attnum++)
	{
		/* The parser's copy does not say which columns are generated. */
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(target),
											  attnum - 1);
		ExprState  *expr;

		if (att->attisdropped || att->attgenerated ||
			list_member_int(parser->attnums, attnum))
			continue;
		expr = init_default(parser, target, attnum);
		if (expr != NULL)
		{
			parser->defaults[parser->ndefaults].attnum = attnum;
			parser->defaults[parser->ndefaults].expr = expr;
			parser->ndefaults++;
		}
	}
}

/*
 * A parser of the bytes that read returns, whatever they come from.
 */
static IngestParser *
begin_parser(Relation target, List *columns, CopyFormatOptions *format,
			 IngestDecodeRead read, void *read_arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ingest_tools parser",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	IngestParser *parser = palloc0_object(IngestParser);

	parser->context = context;
	parser->relname = pstrdup(RelationGetRelationName(target));
	parser->tupdesc = CreateTupleDescCopy(RelationGetDescr(target));
	parser->attnums = CopyGetAttnums(RelationGetDescr(target), target, columns);

	parser->format = format;
	parser->null_len = strlen(format->null_print);
	parser->default_marker = ingest_copy_default_marker(format);
	if (parser->default_marker)
		parser->default_len = strlen(parser->default_marker);

	init_columns(parser, target);
	init_defaults(parser, target);
	parser->decoder = ingest_decode_begin(format->file_encoding, read,
										  read_arg);
	parser->csv = ingest_csv_begin(format, parser->ncolumns);

	MemoryContextSwitchTo(old);
	return parser;
}

IngestParser *
ingest_parse_begin(Relation target, const IngestOptions *options,
				   IngestSource *source)
{
	const IngestSourceSpec *spec = ingest_source_get_spec(source);
	CopyFormatOptions *format = ingest_source_format(spec, options);
	IngestParser *parser = begin_parser(target, options->columns, format,
										read_source, source);
	int			query_columns = ingest_source_query_columns(source);

	if (query_columns >= 0 && query_columns != parser->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("source query has %d columns, but %d are to be loaded",
						query_columns, parser->ncolumns)));

	parser->header_lines = ingest_source_header_lines(spec, format);
	parser->line = spec->first_line - 1;
	if (spec->start > 0)
		ingest_csv_set_eol(parser->csv, ingest_scan_file_eol(spec, options));
	return parser;
}

List *
ingest_parse_attnums(const IngestParser *parser)
{
	return parser->attnums;
}

/*
 * Find the next record; returns false at the end of the data.
 */
static bool
find_record(IngestParser *parser)
{
	IngestDecoder *decoder = parser->decoder;
	IngestCsvRecord *record = &parser->record;
	int64		line = parser->line + 1;
	IngestCsvStatus status;

	parser->record_valid = false;
	parser->shown_line = 0;
	parser->line = line;
	while ((status = ingest_csv_next(parser->csv, decoder->data, decoder->len,
									 decoder->last, record)) == INGEST_CSV_MORE)
	{
		parser->line = line + record->lines;
		ingest_decode_more(decoder);
	}

	parser->line = line + record->lines;
	if (status == INGEST_CSV_END)
	{
		parser->at_end = true;
		return false;
	}
	if (status != INGEST_CSV_RECORD)
		ingest_csv_report(status);
	if (record->consumed >= MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("out of memory"),
				 errdetail("A record is longer than %zu bytes.",
						   (size_t) MaxAllocSize - 1)));
	decoder->data += record->consumed;
	decoder->len -= record->consumed;
	parser->record_valid = true;
	return true;
}

/*
 * Is this unquoted field the given marker?
 */
static inline bool
field_matches(const IngestCsvField *field, const char *marker, int marker_len)
{
	return field->len == marker_len && !field->quoted &&
		memcmp(field->data, marker, marker_len) == 0;
}

/*
 * The field holds the DEFAULT marker: raise an error if the column has none.
 */
static char *
default_field(const ParserColumn *column)
{
	if (column->default_expr == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("unexpected default marker in COPY data"),
				 errdetail("Column \"%s\" has no default value.",
						   column->name)));
	return unconstify(char *, &ingest_field_default[0]);
}

/*
 * Split the record in hand into parser->fields, NULL and DEFAULT recognized.
 */
static void
split_record(IngestParser *parser)
{
	IngestCsvRecord *record = &parser->record;
	bool		complete = ingest_csv_split(parser->csv, record);
	bool		plain = record->shape == INGEST_CSV_PLAIN;
	int			nfields = Min(record->nfields, parser->ncolumns);

	for (int i = 0; i < nfields; i++)
	{
		const IngestCsvField *field = &record->fields[i];

		if (field_matches(field, parser->format->null_print, parser->null_len))
			parser->fields[i] = NULL;
		else if (parser->default_marker != NULL &&
				 field_matches(field, parser->default_marker,
							   parser->default_len))
			parser->fields[i] = default_field(&parser->columns[i]);
		else
			parser->fields[i] = field->data;
		if (plain)
			field->data[field->len] = '\0';
	}

	if (!complete)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("unterminated CSV quoted field")));
}

/*
 * A record of a table without columns to load: it must be empty.
 */
static void
split_no_columns(IngestParser *parser)
{
	if (parser->record.len != 0)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("extra data after last expected column")));
	parser->record.nfields = 0;
}

/*
 * The record in hand is the header line: compare it with the columns' names.
 */
static void
check_header(IngestParser *parser)
{
	if (parser->ncolumns > 0)
		split_record(parser);
	else
		split_no_columns(parser);

	if (parser->record.nfields != parser->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("wrong number of fields in header line: got %d, expected %d",
						parser->record.nfields, parser->ncolumns)));

	for (int i = 0; i < parser->ncolumns; i++)
	{
		const char *expected = parser->columns[i].name;
		const char *got = parser->fields[i];

		if (got == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got null value (\"%s\"), expected \"%s\"",
							i + 1, parser->format->null_print, expected)));
		if (got == ingest_field_default)
			got = parser->default_marker;
		if (strcmp(got, expected) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got \"%s\", expected \"%s\"",
							i + 1, got, expected)));
	}
}

/*
 * Read the header lines.  Where there is none to compare, COPY compares an
 * empty one.
 */
static void
read_header(IngestParser *parser)
{
	bool		match = parser->format->header_line == COPY_HEADER_MATCH;
	bool		found = true;

	for (; found && parser->header_lines > 0; parser->header_lines--)
		found = find_record(parser);

	if (match && !found)
	{
		static char empty[] = "";

		parser->record.data = empty;
		parser->record.len = 0;
		parser->record.shape = INGEST_CSV_IRREGULAR;
		parser->record_valid = true;
	}
	if (match)
		check_header(parser);
	parser->header_lines = 0;
}

/*
 * Take the next record into parser->fields; returns false at the end.  Fields
 * may be missing.
 */
static bool
next_record(IngestParser *parser)
{
	if (parser->header_lines > 0)
		read_header(parser);
	if (parser->at_end || !find_record(parser))
		return false;

	if (parser->ncolumns == 0)
		split_no_columns(parser);
	else
		split_record(parser);
	if (parser->record.nfields > parser->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("extra data after last expected column")));
	return true;
}

/*
 * The text of field i, which is not missing, after FORCE_NULL and
 * FORCE_NOT_NULL.
 */
static inline char *
field_text(const IngestParser *parser, int i)
{
	const ParserColumn *column = &parser->columns[i];
	char	   *text = parser->fields[i];

	if (text == NULL)
		return column->force_not_null ? parser->format->null_print : NULL;
	if (column->force_null && text != ingest_field_default &&
		strcmp(text, parser->format->null_print) == 0)
		return NULL;
	return text;
}

/*
 * Raise the error for a record that has no field for column i.
 */
static void
report_missing_field(const IngestParser *parser, int i)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("missing data for column \"%s\"",
					parser->columns[i].name)));
}

/*
 * Convert the text of column i, in the current memory context.
 */
static inline Datum
convert_field(IngestParser *parser, int i, char *text)
{
	ParserColumn *column = &parser->columns[i];
	Datum		value;

	parser->column = column;
	parser->value = text;
	value = InputFunctionCall(&column->input, text, column->typioparam,
							  column->typmod);
	parser->column = NULL;
	return value;
}

bool
ingest_parse_fields(IngestParser *parser, char ***fields)
{
	if (!next_record(parser))
		return false;

	/* A bad value before the missing one is COPY's first error. */
	for (int i = 0; parser->record.nfields < parser->ncolumns; i++)
	{
		char	   *text;

		if (i >= parser->record.nfields)
			report_missing_field(parser, i);
		text = field_text(parser, i);
		if (text != ingest_field_default)
			(void) convert_field(parser, i, text);
	}

	for (int i = 0; parser->force && i < parser->ncolumns; i++)
		parser->fields[i] = field_text(parser, i);
	*fields = parser->fields;
	return true;
}

/*
 * Convert the fields of the record in hand.
 */
static void
convert_record(IngestParser *parser, ExprContext *econtext, Datum *values,
			   bool *nulls)
{
	for (int i = 0; i < parser->ncolumns; i++)
	{
		ParserColumn *column = &parser->columns[i];
		int			att = column->attnum - 1;
		char	   *text;

		if (i >= parser->record.nfields)
			report_missing_field(parser, i);

		text = field_text(parser, i);
		if (text == ingest_field_default)
		{
			parser->column = column;
			parser->value = parser->default_marker;
			values[att] = ExecEvalExpr(column->default_expr, econtext,
									   &nulls[att]);
			parser->column = NULL;
		}
		else
		{
			values[att] = convert_field(parser, i, text);
			nulls[att] = text == NULL;
		}
	}
}

bool
ingest_parse_slot(IngestParser *parser, ExprContext *econtext,
				  TupleTableSlot *slot)
{
	Datum	   *values = slot->tts_values;
	bool	   *nulls = slot->tts_isnull;
	int			natts = parser->tupdesc->natts;
	MemoryContext old;

	Assert(slot->tts_tupleDescriptor->natts == natts);
	if (!next_record(parser))
		return false;

	ExecClearTuple(slot);
	memset(values, 0, natts * sizeof(Datum));
	memset(nulls, true, natts * sizeof(bool));

	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	convert_record(parser, econtext, values, nulls);
	for (int i = 0; i < parser->ndefaults; i++)
	{
		int			att = parser->defaults[i].attnum - 1;

		values[att] = ExecEvalExpr(parser->defaults[i].expr, econtext,
								   &nulls[att]);
	}
	MemoryContextSwitchTo(old);

	ExecStoreVirtualTuple(slot);
	return true;
}

bool
ingest_parse_at_end(IngestParser *parser)
{
	IngestDecoder *decoder = parser->decoder;

	if (!parser->at_end && decoder->len == 0)
	{
		/* an error is one of the next record */
		parser->record_valid = false;
		parser->line++;
		ingest_decode_more(decoder);
		parser->line--;
		parser->at_end = decoder->len == 0;
	}
	return parser->at_end;
}

bool
ingest_parse_volatile_defaults(const IngestParser *parser)
{
	return parser->volatile_defaults;
}

int
ingest_parse_record_length(const IngestParser *parser)
{
	return (int) parser->record.len;
}

int64
ingest_parse_line(const IngestParser *parser)
{
	return parser->line;
}

void
ingest_parse_set_line(IngestParser *parser, int64 line)
{
	parser->shown_line = line;
}

/*
 * A palloc'd copy of at most MAX_DATA_DISPLAY bytes of data, with "..." if
 * that is not all.  NULs, which the fields of a plain record end in, become
 * the delimiter again.
 */
static char *
clip_data(const char *data, size_t len, char delim)
{
	int			copy_len = (int) Min(len,
									 MAX_DATA_DISPLAY + MAX_MULTIBYTE_CHAR_LEN);
	char	   *copy = palloc(copy_len + sizeof("..."));

	for (int i = 0; i < copy_len; i++)
		copy[i] = data[i] != '\0' ? data[i] : delim;
	copy[copy_len] = '\0';
	if (len > MAX_DATA_DISPLAY)
		strcpy(copy + pg_mbcliplen(copy, copy_len, MAX_DATA_DISPLAY), "...");
	return copy;
}

void
ingest_parse_error_callback(void *arg)
{
	const IngestParser *parser = (const IngestParser *) arg;
	char		delim = parser->format->delim[0];

	if (parser->shown_line > 0)
		errcontext("COPY %s, line %lld", parser->relname,
				   (long long) parser->shown_line);
	else if (parser->column && parser->value)
		errcontext("COPY %s, line %lld, column %s: \"%s\"", parser->relname,
				   (long long) parser->line, parser->column->name,
				   clip_data(parser->value, strlen(parser->value), delim));
	else if (parser->column)
		errcontext("COPY %s, line %lld, column %s: null input",
				   parser->relname, (long long) parser->line,
				   parser->column->name);
	else if (parser->record_valid)
		errcontext("COPY %s, line %lld: \"%s\"", parser->relname,
				   (long long) parser->line,
				   clip_data(parser->record.data, parser->record.len, delim));
	else
		errcontext("COPY %s, line %lld", parser->relname,
				   (long long) parser->line);
}

void
ingest_parse_finish(IngestParser *parser)
{
	MemoryContextDelete(parser->context);
}

/*
 * IngestDecodeRead: from a StringInfo.
 */
static size_t
read_memory(void *arg, char *buf, size_t len)
{
	StringInfo	bytes = (StringInfo) arg;

	len = Min(len, (size_t) (bytes->len - bytes->cursor));
	memcpy(buf, bytes->data + bytes->cursor, len);
	bytes->cursor += len;
	return len;
}

void
ingest_parse_pass_header(Relation target, const IngestOptions *options,
						 const IngestSourceSpec *spec, IngestScan *scan,
						 StringInfo header)
{
	CopyFormatOptions *format = ingest_source_format(spec, options);
	int			lines = ingest_source_header_lines(spec, format);
	IngestScanPiece piece;
	IngestParser *parser;
	ErrorContextCallback callback;

	parser = begin_parser(target, options->columns, format, read_memory,
						  header);
	parser->header_lines = lines;

	for (; lines > 0 && ingest_scan_next(scan, lines, PG_INT64_MAX, &piece);
		 lines -= piece.records)
		appendBinaryStringInfo(header, piece.data, piece.len);

	callback.callback = ingest_parse_error_callback;
	callback.arg = parser;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	if (parser->header_lines > 0)
		read_header(parser);
	error_context_stack = callback.previous;

	ingest_parse_finish(parser);
}

/*
 * Pass over the records of one range, which ends at or after stop.
 */
static void
scan_range(IngestScan *scan, int64 stop, int64 max_records,
		   IngestSourceRange *range)
{
	IngestScanPiece piece;

	range->start = ingest_scan_position(scan);
	range->first_line = ingest_scan_line(scan);
	range->rows = 0;
	while (ingest_scan_position(scan) < stop &&
		   ingest_scan_next(scan, max_records - range->rows, stop, &piece))
		range->rows += piece.records;
	range->end = ingest_scan_position(scan);
}

/*
 * Where the first max_rows records after the header end.
 */
static int64
find_rows_end(Relation target, const IngestOptions *options,
			  const IngestSourceSpec *spec, int64 max_rows)
{
	IngestScan *scan = ingest_scan_begin(spec, options);
	IngestSourceRange range;
	StringInfoData header;

	initStringInfo(&header);
	ingest_parse_pass_header(target, options, spec, scan, &header);
	scan_range(scan, PG_INT64_MAX, max_rows, &range);
	ingest_scan_finish(scan);
	return range.end;
}

IngestSourceRange *
ingest_parse_ranges(Relation target, const IngestOptions *options,
					const IngestSourceSpec *spec, int n, int64 max_rows,
					int *nranges)
{
	IngestSourceRange *ranges = palloc_array(IngestSourceRange, n);
	IngestScan *scan = ingest_scan_begin(spec, options);
	int64		limit = max_rows >= 0 ? max_rows : PG_INT64_MAX;
	StringInfoData header;
	int64		start;
	int64		end = max_rows >= 0 && n > 1 ?
		find_rows_end(target, options, spec, max_rows) :
		spec->start + ingest_scan_bytes_total(scan);

	initStringInfo(&header);
	ingest_parse_pass_header(target, options, spec, scan, &header);
	start = ingest_scan_position(scan);

	*nranges = 0;
	for (int i = 1; i <= n; i++)
	{
		IngestSourceRange *range = &ranges[*nranges];
		int64		stop = i < n ? start + (end - start) / n * i : PG_INT64_MAX;

		scan_range(scan, stop, limit, range);
		limit -= range->rows;
		if (range->rows > 0)
			(*nranges)++;
	}

	/* Whoever has the last range comes to the error. */
	if (ingest_scan_broken(scan) && limit > 0)
	{
		if (*nranges == 0)
			(*nranges)++;
		ranges[*nranges - 1].end = spec->end;
	}

	ingest_scan_finish(scan);
	return ranges;
}
