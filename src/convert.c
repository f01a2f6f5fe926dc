/*-------------------------------------------------------------------------
 *
 * convert.c
 *		Fields to the bytes of a heap tuple.
 *
 * Most fields of most files are plain numbers, words and ISO dates.  For the
 * common types there are readers that recognise these (convert_internal.h);
 * every other field goes through its type's input function.
 *
 * The values are laid out as heap_fill_tuple() (heaptuple.c) lays them out,
 * see row.c.
 *
 * Memory: there is always room in the row for whatever the readers may make
 * of the rest of the record, so that they need not look.
 *
 * IDENTIFICATION
 *		src/convert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "convert.h"
#include "convert_internal.h"

typedef struct ConvertColumn
{
	ConvertReader read;			/* NULL: always the input function */
	ConvertFormat format;
	Size		align;			/* in bytes, 1 for a varlena with a reader */
	bool		varwidth;

	Form_pg_attribute att;
	FmgrInfo	input;
	Oid			typioparam;
} ConvertColumn;

struct IngestConverter
{
	Size		fixed_size;		/* bound of a row without its fields' bytes */
	Size		reserve;		/* what the record in hand may take, at most */
	int			current;		/* column whose input function runs, or 0 */
	const char *current_value;
	ConvertColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

/* Readers by type; typmods are in ConvertFormat. */
static const struct
{
	Oid			type;
	ConvertReader read;
}			readers[] = {
	{INT2OID, ingest_read_int2},
	{INT4OID, ingest_read_int4},
	{INT8OID, ingest_read_int8},
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
	{FLOAT4OID, ingest_read_float4},
	{FLOAT8OID, ingest_read_float8},
#endif
	{NUMERICOID, ingest_read_numeric},
	{TEXTOID, ingest_read_text},
	{VARCHAROID, ingest_read_text},
	{BPCHAROID, ingest_read_bpchar},
	{BOOLOID, ingest_read_bool},
	{DATEOID, ingest_read_date},
	{TIMEOID, ingest_read_time},
	{TIMESTAMPOID, ingest_read_timestamp},
	{TIMESTAMPTZOID, ingest_read_timestamptz},
	{UUIDOID, ingest_read_uuid},
};

/* Choose the reader for a column, by its type. */
static void
init_reader(ConvertColumn *column)
{
	Form_pg_attribute att = column->att;
	ConvertFormat *format = &column->format;

	format->packable = att->attlen == -1 &&
		att->attstorage != TYPSTORAGE_PLAIN;
	format->whole_seconds = att->atttypmod >= 0 &&
		att->atttypmod < MAX_TIMESTAMP_PRECISION;
	format->max_chars = -1;
	format->scale = -1;
	if ((att->atttypid == VARCHAROID || att->atttypid == BPCHAROID) &&
		att->atttypmod >= (int32) VARHDRSZ)
		format->max_chars = att->atttypmod - VARHDRSZ;
	if (att->atttypid == NUMERICOID &&
		!ingest_format_numeric(format, att->atttypmod))
		return;

	for (size_t i = 0; i < lengthof(readers); i++)
		if (readers[i].type == att->atttypid)
			column->read = readers[i].read;
}

IngestConverter *
ingest_convert_begin(TupleDesc desc)
{
	IngestConverter *converter;

	converter = palloc0(offsetof(IngestConverter, columns) +
						desc->natts * sizeof(ConvertColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		ConvertColumn *column = &converter->columns[i];
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid			input;

		column->att = att;
		converter->fixed_size += CONVERT_SLACK;
		if (att->attisdropped)
			continue;
		getTypeInputInfo(att->atttypid, &input, &column->typioparam);
		fmgr_info(input, &column->input);
		init_reader(column);
		column->varwidth = att->attlen < 0;
		column->align = column->varwidth ? 1 : ingest_row_alignment(att);
		if (att->atttypid == BPCHAROID && column->format.max_chars > 0)
			converter->fixed_size += column->format.max_chars;
	}
	return converter;
}

/*
 * Whether a worker may call the column's input function: it is marked so, and
 * the type is not a domain with constraints, which may be any expression.
 */
bool
ingest_convert_parallel_safe(TupleDesc desc, int attnum)
{
	Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
	Oid			input;
	Oid			typioparam;

	if (att->attisdropped)
		return true;
	getTypeInputInfo(att->atttypid, &input, &typioparam);
	if (get_typtype(att->atttypid) == TYPTYPE_DOMAIN)
	{
		if (DomainHasConstraintsCompat(att->atttypid))
			return false;
		getTypeInputInfo(getBaseType(att->atttypid), &input, &typioparam);
	}
	return func_parallel(input) == PROPARALLEL_SAFE;
}

void
ingest_convert_start(IngestConverter *converter, IngestRow *row,
					 size_t record_len)
{
	ingest_row_empty(row);
	converter->reserve = converter->fixed_size + record_len;
}

/*
 * Append a field the readers do not have, and make room again.
 */
static void
append_by_input(IngestConverter *converter, IngestRow *row, int attnum,
				const IngestCsvField *field)
{
	ConvertColumn *column = &converter->columns[attnum - 1];
	char	   *string = NULL;
	Datum		value = (Datum) 0;

	if (field->data != NULL)
		string = pnstrdup(field->data, field->len);

	/* a domain may object to NULL */
	if (string != NULL || !column->input.fn_strict)
	{
		converter->current = attnum;
		converter->current_value = string;
		value = InputFunctionCall(&column->input, string, column->typioparam,
								  column->att->atttypmod);
		converter->current = 0;
	}
	ingest_row_append(row, column->att, value, string == NULL);
	ingest_row_reserve(row, row->len + converter->reserve);
}

/*
 * Append a field by its reader; false if it does not recognise it.
 */
static inline bool
append_by_reader(const ConvertColumn *column, IngestRow *row,
				 const IngestCsvField *field)
{
	char	   *start = row->data + row->len;
	char	   *end;

	/* the row begins maximally aligned */
	memset(start, 0, MAXIMUM_ALIGNOF);
	start = (char *) TYPEALIGN(column->align, start);
	end = column->read(&column->format, field->data, field->len, start);
	if (unlikely(end == NULL))
		return false;

	if (column->varwidth)
	{
		/* a four-byte header begins past its padding, which is zero */
		if (*start == 0)
			start = (char *) TYPEALIGN(ALIGNOF_INT, start);
		row->infomask |= HEAP_HASVARWIDTH;
	}
	row->isnull[row->natts] = false;
	row->offset[row->natts++] = start - row->data;
	row->len = end - row->data;
	return true;
}

void
ingest_convert_fields(IngestConverter *converter, IngestRow *row, int attnum,
					  const IngestCsvField *fields, int n)
{
	const ConvertColumn *column = &converter->columns[attnum - 1];

	ingest_row_reserve(row, row->len + converter->reserve);
	for (; n > 0; n--, attnum++, column++, fields++)
	{
		if (unlikely(fields->data == NULL || column->read == NULL) ||
			!append_by_reader(column, row, fields))
			append_by_input(converter, row, attnum, fields);
	}
}

int
ingest_convert_current(const IngestConverter *converter, const char **field)
{
	*field = converter->current_value;
	return converter->current;
}
