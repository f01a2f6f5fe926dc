/*-------------------------------------------------------------------------
 *
 * csv.c
 *		Bytes to records and fields, by the rules of COPY's CSV format.
 *
 * COPY reads CSV in two steps: it looks for the end of the record, where
 * every quote outside or inside a field toggles one state, and then splits
 * the record (CopyReadLineText() and CopyReadAttributesCSV() in
 * src/backend/commands/copyfromparse.c).  The result here is the same for
 * every input and dialect, but the work is cut in three by the record:
 *
 * - Plain: no quote in it.  One pass, 16 bytes at a time where SSE2 is to be
 *	 had, finds delimiters and line end; fields point into the caller's bytes.
 *	 Nearly all records of most files are plain, and libcsv, which looks at
 *	 every byte and copies it, takes about four times as long.
 * - Regular: each quoted field begins right after a delimiter and ends right
 *	 before one, and quote and escape are the same character, as RFC 4180 has
 *	 it.  There libcsv and COPY agree, and libcsv splits the record.
 * - Irregular: a quote in mid-field, text after a closing quote, an escape
 *	 character of its own, a field without an end.  COPY's rules and libcsv's
 *	 differ here (libcsv keeps such quotes as data), so split_irregular()
 *	 follows COPY's.
 *
 * A record's end is looked for from its beginning each time, also when the
 * caller comes again after INGEST_CSV_MORE; a caller that doubles its buffer
 * when a record does not fit has every byte looked at twice at most.
 *
 * Memory: libcsv's buffer comes from the scanner's memory context.  libcsv
 * wants a failed allocation reported by NULL, and its callbacks must not
 * raise errors, as they would leave its state behind in the middle of a
 * record; its status is looked at after each call instead.
 *
 * This is the only file that knows libcsv.
 *
 * IDENTIFICATION
 *		src/csv.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <csv.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "compat.h"
#include "csv.h"

/* Least number of bytes libcsv's buffer grows by. */
#define LIBRARY_BLOCK_SIZE	8192

struct IngestCsv
{
	MemoryContext context;

	/* dialect */
	char		delim;
	char		quote;
	char		escape;
	bool		rfc4180;		/* quotes may be libcsv's */
	IngestCsvEol eol;

	/* fields of the record in hand */
	IngestCsvField *fields;
	int			max_fields;
	int			nfields;

	/* unescaped text of a record with quotes, as long as the record */
	char	   *text;
	size_t		text_size;
	char	   *text_end;

	/* where in the record libcsv's callback is */
	const char *raw;
	const char *raw_end;

	struct csv_parser library;
};

/* Context of the buffer of the libcsv parser at work. */
static MemoryContext library_context = NULL;

/* Precedes libcsv's buffer. */
typedef struct LibraryChunk
{
	size_t		size;
} LibraryChunk;

/*
 * libcsv's realloc: NULL when there is no memory.
 */
static void *
library_realloc(void *old, size_t size)
{
	size_t		header = MAXALIGN(sizeof(LibraryChunk));
	char	   *chunk;

	if (size > MaxAllocHugeSize - header)
		return NULL;
	chunk = MemoryContextAllocExtended(library_context, header + size,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (chunk == NULL)
		return NULL;
	((LibraryChunk *) chunk)->size = size;

	if (old != NULL)
	{
		char	   *old_chunk = (char *) old - header;

		memcpy(chunk + header, old,
			   Min(size, ((LibraryChunk *) old_chunk)->size));
		pfree(old_chunk);
	}
	return chunk + header;
}

/*
 * libcsv's free.
 */
static void
library_free(void *old)
{
	if (old != NULL)
		pfree((char *) old - MAXALIGN(sizeof(LibraryChunk)));
}

/*
 * libcsv's test for bytes to trim around a field: COPY trims none.
 */
static int
library_is_space(unsigned char c)
{
	(void) c;
	return 0;
}

IngestCsv *
ingest_csv_begin(const CopyFormatOptions *format, int max_fields)
{
	IngestCsv  *csv = palloc0(sizeof(IngestCsv));

	csv->context = CurrentMemoryContext;
	csv->delim = format->delim[0];
	csv->quote = format->quote[0];
	csv->escape = format->escape[0];
	csv->rfc4180 = csv->quote == csv->escape &&
		csv->quote != '\r' && csv->quote != '\n';

	csv->max_fields = max_fields;
	csv->fields = palloc_array(IngestCsvField, Max(max_fields, 1));

	csv_init(&csv->library, 0);
	csv_set_delim(&csv->library, (unsigned char) csv->delim);
	csv_set_quote(&csv->library, (unsigned char) csv->quote);
	csv_set_space_func(&csv->library, library_is_space);
	csv_set_realloc_func(&csv->library, library_realloc);
	csv_set_free_func(&csv->library, library_free);

	return csv;
}

IngestCsvEol
ingest_csv_get_eol(const IngestCsv *csv)
{
	return csv->eol;
}

void
ingest_csv_set_eol(IngestCsv *csv, IngestCsvEol eol)
{
	csv->eol = eol;
}

/*
 * Add a field to the record in hand.
 */
static inline void
add_field(IngestCsv *csv, char *data, size_t len, bool quoted)
{
	if (csv->nfields < csv->max_fields)
	{
		IngestCsvField *field = &csv->fields[csv->nfields];

		field->data = data;
		field->len = (int) len;
		field->quoted = quoted;
	}
	csv->nfields++;
}

/*
 * Position of the first byte at or after pos that is one of three, or len.
 */
static inline size_t
find_byte(const char *buf, size_t pos, size_t len, char a, char b, char c)
{
#ifdef __SSE2__
	const __m128i va = _mm_set1_epi8(a);
	const __m128i vb = _mm_set1_epi8(b);
	const __m128i vc = _mm_set1_epi8(c);

	for (; pos + sizeof(__m128i) <= len; pos += sizeof(__m128i))
	{
		__m128i		block = _mm_loadu_si128((const __m128i *) (buf + pos));
		__m128i		hits = _mm_or_si128(_mm_cmpeq_epi8(block, va),
										_mm_or_si128(_mm_cmpeq_epi8(block, vb),
													 _mm_cmpeq_epi8(block, vc)));
		uint32		mask = (uint32) _mm_movemask_epi8(hits);

		if (mask != 0)
			return pos + pg_rightmost_one_pos32(mask);
	}
#endif
	for (; pos < len; pos++)
	{
		if (buf[pos] == a || buf[pos] == b || buf[pos] == c)
			break;
	}
	return pos;
}

/*
 * Split at delimiters up to the first quote, CR or LF, whose position is
 * returned, or len.  *start is set to where the field that holds this
 * position begins; the fields before it are added.
 */
static inline size_t
split_plain(IngestCsv *csv, char *buf, size_t len, size_t *start)
{
	const char	delim = csv->delim;
	const char	quote = csv->quote;
	size_t		field = 0;
	size_t		pos = 0;

#ifdef __SSE2__
	const __m128i vdelim = _mm_set1_epi8(delim);
	const __m128i vquote = _mm_set1_epi8(quote);
	const __m128i vcr = _mm_set1_epi8('\r');
	const __m128i vnl = _mm_set1_epi8('\n');

	for (; pos + sizeof(__m128i) <= len; pos += sizeof(__m128i))
	{
		__m128i		block = _mm_loadu_si128((const __m128i *) (buf + pos));
		__m128i		hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(block, vdelim),
													 _mm_cmpeq_epi8(block, vquote)),
										_mm_or_si128(_mm_cmpeq_epi8(block, vcr),
													 _mm_cmpeq_epi8(block, vnl)));
		uint32		mask = (uint32) _mm_movemask_epi8(hits);

		for (; mask != 0; mask &= mask - 1)
		{
			size_t		hit = pos + pg_rightmost_one_pos32(mask);

			if (buf[hit] != delim)
			{
				*start = field;
				return hit;
			}
			add_field(csv, buf + field, hit - field, false);
			field = hit + 1;
		}
	}
#endif
	for (; pos < len; pos++)
	{
		char		c = buf[pos];

		if (c == delim)
		{
			add_field(csv, buf + field, pos - field, false);
			field = pos + 1;
		}
		else if (c == quote || c == '\r' || c == '\n')
			break;
	}
	*start = field;
	return pos;
}

/*
 * buf[pos] is a CR or LF outside of quotes: check it against the line ends of
 * the file, or let it decide them.  *eol_len is set with INGEST_CSV_RECORD.
 */
static inline IngestCsvStatus
end_line(IngestCsv *csv, const char *buf, size_t pos, size_t len, bool last,
		 size_t *eol_len)
{
	*eol_len = 1;
	if (buf[pos] == '\n')
	{
		if (csv->eol == INGEST_CSV_EOL_CR || csv->eol == INGEST_CSV_EOL_CRNL)
			return INGEST_CSV_BAD_NL;
		csv->eol = INGEST_CSV_EOL_NL;
		return INGEST_CSV_RECORD;
	}

	/* COPY looks at the byte after a CR even where it need not. */
	if (pos + 1 >= len && !last)
		return INGEST_CSV_MORE;

	if (csv->eol == INGEST_CSV_EOL_NL)
		return INGEST_CSV_BAD_CR;
	if (csv->eol == INGEST_CSV_EOL_CR)
		return INGEST_CSV_RECORD;
	if (pos + 1 < len && buf[pos + 1] == '\n')
	{
		csv->eol = INGEST_CSV_EOL_CRNL;
		*eol_len = 2;
		return INGEST_CSV_RECORD;
	}
	if (csv->eol == INGEST_CSV_EOL_CRNL)
		return INGEST_CSV_BAD_CR;
	csv->eol = INGEST_CSV_EOL_CR;
	return INGEST_CSV_RECORD;
}

/*
 * Is the backslash at buf the beginning of a line that holds only "\."?
 * INGEST_CSV_RECORD says no.  At the end of the data, without a line end, it
 * is not a marker.
 */
static IngestCsvStatus
check_end_marker(const IngestCsv *csv, const char *buf, size_t len, bool last)
{
	char		expected = csv->eol == INGEST_CSV_EOL_CR ? '\r' : '\n';
	size_t		pos = 1;

	if (pos >= len)
		return last ? INGEST_CSV_RECORD : INGEST_CSV_MORE;
	if (buf[pos++] != '.')
		return INGEST_CSV_RECORD;

	if (csv->eol == INGEST_CSV_EOL_CRNL)
	{
		if (pos >= len)
			return last ? INGEST_CSV_RECORD : INGEST_CSV_MORE;
		if (buf[pos++] != '\r')
			return INGEST_CSV_RECORD;
	}

	if (pos >= len)
		return last ? INGEST_CSV_RECORD : INGEST_CSV_MORE;
	if (buf[pos] != '\r' && buf[pos] != '\n')
		return INGEST_CSV_RECORD;
	if (csv->eol != INGEST_CSV_EOL_UNKNOWN && buf[pos] != expected)
		return INGEST_CSV_BAD_MARKER;
	return INGEST_CSV_END;
}

/*
 * Does the quote at buf[pos], the first or the last of a quoted stretch,
 * stand where it does in a file by RFC 4180?  A doubled quote counts as the
 * end of one stretch and the beginning of the next.
 */
static inline bool
quote_is_regular(const IngestCsv *csv, const char *buf, size_t pos, size_t len,
				 bool opening)
{
	char		c;

	if (opening)
	{
		if (pos == 0)
			return true;
		c = buf[pos - 1];
		return c == csv->delim || c == csv->quote;
	}

	if (pos + 1 >= len)
		return true;
	c = buf[pos + 1];
	return c == csv->delim || c == csv->quote || c == '\r' || c == '\n';
}

/*
 * Find the end of a record that has a quote at pos, none before it.
 *
 * This is COPY's loop, with the bytes jumped over that change nothing, so the
 * order of the tests matters: it decides about dialects whose quote or escape
 * is a line end.
 */
static IngestCsvStatus
scan_quoted(IngestCsv *csv, char *buf, size_t pos, size_t len, bool last,
			IngestCsvRecord *record)
{
	const char	quote = csv->quote;
	const bool	has_escape = csv->escape != quote;
	const char	escape = csv->escape;
	const char	line_char = csv->eol == INGEST_CSV_EOL_NL ? '\n' : '\r';
	bool		regular = csv->rfc4180;
	bool		in_quote = false;
	bool		escaped = false;
	size_t		eol_len = 0;

	for (;; pos++)
	{
		size_t		hit = in_quote ?
			find_byte(buf, pos, len, quote, escape, line_char) :
			find_byte(buf, pos, len, quote, '\r', '\n');
		char		c;

		if (hit > pos)
			escaped = false;
		pos = hit;
		if (pos >= len)
			break;
		c = buf[pos];

		/* COPY looks at the byte after a CR before it counts the CR. */
		if (c == '\r' && pos + 1 >= len && !last)
			return INGEST_CSV_MORE;

		if (in_quote && has_escape && c == escape)
			escaped = !escaped;
		if (c == quote && !escaped)
		{
			in_quote = !in_quote;
			if (regular)
				regular = quote_is_regular(csv, buf, pos, len, in_quote);
		}
		if (!has_escape || c != escape)
			escaped = false;
		if (in_quote && c == line_char)
			record->lines++;

		if (!in_quote && (c == '\r' || c == '\n'))
		{
			IngestCsvStatus status = end_line(csv, buf, pos, len, last,
											  &eol_len);

			if (status != INGEST_CSV_RECORD)
			{
				record->len = pos;
				return status;
			}
			break;
		}
	}
	if (pos >= len && !last)
		return INGEST_CSV_MORE;

	record->data = buf;
	record->len = pos;
	record->consumed = pos + eol_len;
	record->shape = regular && !in_quote ?
		INGEST_CSV_REGULAR : INGEST_CSV_IRREGULAR;
	return INGEST_CSV_RECORD;
}

IngestCsvStatus
ingest_csv_next(IngestCsv *csv, char *buf, size_t len, bool last,
				IngestCsvRecord *record)
{
	size_t		start;
	size_t		pos;
	size_t		eol_len = 0;

	record->lines = 0;
	record->len = 0;
	if (len == 0)
		return last ? INGEST_CSV_END : INGEST_CSV_MORE;

	if (INGEST_COPY_CSV_END_MARKER && buf[0] == '\\')
	{
		IngestCsvStatus status = check_end_marker(csv, buf, len, last);

		if (status != INGEST_CSV_RECORD)
			return status;
	}

	csv->nfields = 0;
	pos = split_plain(csv, buf, len, &start);
	if (pos < len)
	{
		IngestCsvStatus status;

		if (buf[pos] == csv->quote)
			return scan_quoted(csv, buf, pos, len, last, record);
		status = end_line(csv, buf, pos, len, last, &eol_len);
		if (status != INGEST_CSV_RECORD)
		{
			record->len = pos;
			return status;
		}
	}
	else if (!last)
		return INGEST_CSV_MORE;

	add_field(csv, buf + start, pos - start, false);
	record->data = buf;
	record->len = pos;
	record->consumed = pos + eol_len;
	record->shape = INGEST_CSV_PLAIN;
	record->fields = csv->fields;
	record->nfields = csv->nfields;
	return INGEST_CSV_RECORD;
}

/*
 * Make room for the unescaped text of a record of len bytes: no field gets
 * longer by unescaping, and its NUL takes the place of the delimiter.
 */
static void
reserve_text(IngestCsv *csv, size_t len)
{
	if (csv->text_size <= len)
	{
		size_t		size = Max(len + 1, Max(csv->text_size * 2, 1024));

		if (csv->text)
			pfree(csv->text);
		csv->text = NULL;
		csv->text_size = 0;
		csv->text = MemoryContextAllocHuge(csv->context,
										   size + INGEST_CSV_SLACK);
		csv->text_size = size;
	}
	csv->text_end = csv->text;
}

/*
 * libcsv's callback for a field of a regular record.  libcsv does not say
 * whether the field was quoted, so this follows the record in step: a quoted
 * field begins with a quote, and takes two bytes for each quote in it.
 */
static void
take_library_field(void *value, size_t len, void *arg)
{
	IngestCsv  *csv = (IngestCsv *) arg;
	bool		quoted = csv->raw < csv->raw_end && *csv->raw == csv->quote;
	char	   *data = csv->text_end;

	memcpy(data, value, len);
	data[len] = '\0';
	csv->text_end += len + 1;
	add_field(csv, data, len, quoted);

	csv->raw += len + 1;
	if (quoted)
	{
		csv->raw += 2;
		for (const char *p = data;
			 (p = memchr(p, csv->quote, data + len - p)) != NULL; p++)
			csv->raw++;
	}
}

/*
 * Have libcsv split a regular record.
 */
static void
split_regular(IngestCsv *csv, const IngestCsvRecord *record)
{
	struct csv_parser *library = &csv->library;
	size_t		done;

	/* One allocation if the record may need a larger buffer. */
	if (csv_get_buffer_size(library) < record->len)
		csv_set_blk_size(library, Max(record->len, LIBRARY_BLOCK_SIZE));

	csv->raw = record->data;
	csv->raw_end = record->data + record->len;
	library_context = csv->context;
	done = csv_parse(library, record->data, record->len,
					 take_library_field, NULL, csv);
	if (done != record->len)
	{
		if (csv_error(library) == CSV_ENOMEM)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Failed on a CSV record of %zu bytes.",
							   record->len)));
		elog(ERROR, "libcsv stopped at byte %zu of %zu: %s", done,
			 record->len, csv_strerror(csv_error(library)));
	}
	if (csv_fini(library, take_library_field, NULL, csv) != 0)
		elog(ERROR, "libcsv could not end a record: %s",
			 csv_strerror(csv_error(library)));
}

/*
 * Unescape a quoted stretch that begins at p, after its quote; returns the
 * position after its closing quote, or NULL if there is none.
 */
static const char *
copy_quoted(IngestCsv *csv, const char *p, const char *end)
{
	char	   *out = csv->text_end;

	while (p < end)
	{
		char		c = *p++;

		if (c == csv->escape && p < end &&
			(*p == csv->escape || *p == csv->quote))
			*out++ = *p++;
		else if (c == csv->quote)
		{
			csv->text_end = out;
			return p;
		}
		else
			*out++ = c;
	}
	return NULL;
}

/*
 * Split an irregular record by COPY's rules; returns false if a quoted
 * stretch has no end.
 */
static bool
split_irregular(IngestCsv *csv, const IngestCsvRecord *record)
{
	const char *p = record->data;
	const char *end = record->data + record->len;

	for (;;)
	{
		char	   *data = csv->text_end;
		bool		quoted = false;

		while (p < end && *p != csv->delim)
		{
			if (*p != csv->quote)
				*csv->text_end++ = *p++;
			else
			{
				quoted = true;
				p = copy_quoted(csv, p + 1, end);
				if (p == NULL)
					return false;
			}
		}
		add_field(csv, data, csv->text_end - data, quoted);
		*csv->text_end++ = '\0';
		if (p >= end)
			return true;
		p++;					/* the delimiter */
	}
}

bool
ingest_csv_split(IngestCsv *csv, IngestCsvRecord *record)
{
	bool		complete = true;

	if (record->shape == INGEST_CSV_PLAIN)
		return true;

	reserve_text(csv, record->len);
	csv->nfields = 0;
	if (record->shape == INGEST_CSV_REGULAR)
		split_regular(csv, record);
	else
		complete = split_irregular(csv, record);
	record->fields = csv->fields;
	record->nfields = csv->nfields;
	return complete;
}

/*
 * Pass over plain records in a file with LF line ends: whole blocks without
 * a quote, a CR or a line that begins with a backslash.  buf[pos] begins a
 * record; returns the beginning of the first record not passed, which is not
 * beyond stop.
 */
static size_t
skip_plain(const IngestCsv *csv, const char *buf, size_t pos, size_t stop,
		   int64 max_records, int64 *records)
{
	size_t		boundary = pos;

#ifdef __SSE2__
	const __m128i vquote = _mm_set1_epi8(csv->quote);
	const __m128i vcr = _mm_set1_epi8('\r');
	const __m128i vnl = _mm_set1_epi8('\n');
	const __m128i vbackslash = _mm_set1_epi8('\\');
	uint32		line_begins = 1;	/* does this block begin a line? */

	if (csv->eol != INGEST_CSV_EOL_NL)
		return boundary;

	for (; pos + sizeof(__m128i) <= stop; pos += sizeof(__m128i))
	{
		__m128i		block = _mm_loadu_si128((const __m128i *) (buf + pos));
		uint32		others = (uint32)
			_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(block, vquote),
										   _mm_cmpeq_epi8(block, vcr)));
		uint32		ends = (uint32)
			_mm_movemask_epi8(_mm_cmpeq_epi8(block, vnl));
		uint32		backslashes = (uint32)
			_mm_movemask_epi8(_mm_cmpeq_epi8(block, vbackslash));
		int			nends;

		if (others | (backslashes & ((ends << 1) | line_begins)))
			break;
		line_begins = ends >> 15;
		if (ends == 0)
			continue;
		nends = pg_number_of_ones[ends & 0xFF] + pg_number_of_ones[ends >> 8];
		if (*records + nends > max_records)
			break;
		*records += nends;
		boundary = pos + pg_leftmost_one_pos32(ends) + 1;
	}
#else
	(void) csv;
	(void) buf;
	(void) stop;
	(void) max_records;
	(void) records;
#endif
	return boundary;
}

IngestCsvStatus
ingest_csv_skip(IngestCsv *csv, char *buf, size_t len, bool last,
				int64 max_records, size_t stop, size_t *done,
				int64 *records, int64 *lines)
{
	size_t		pos = 0;
	int64		nrecords = 0;
	IngestCsvStatus status = INGEST_CSV_RECORD;

	while (nrecords < max_records && pos < stop)
	{
		IngestCsvRecord record;

		pos = skip_plain(csv, buf, pos, Min(len, stop), max_records, &nrecords);
		if (nrecords >= max_records)
			break;
		status = ingest_csv_next(csv, buf + pos, len - pos, last, &record);
		if (status != INGEST_CSV_RECORD)
			break;
		pos += record.consumed;
		nrecords++;
		*lines += record.lines;
	}

	*done = pos;
	*records += nrecords;
	*lines += nrecords;
	return status;
}

void
ingest_csv_report(IngestCsvStatus status)
{
	switch (status)
	{
		case INGEST_CSV_BAD_CR:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unquoted carriage return found in data"),
					 errhint("Use quoted CSV field to represent carriage return.")));
			break;
		case INGEST_CSV_BAD_NL:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unquoted newline found in data"),
					 errhint("Use quoted CSV field to represent newline.")));
			break;
		case INGEST_CSV_BAD_MARKER:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("end-of-copy marker does not match previous newline style")));
			break;
		default:
			elog(ERROR, "unexpected CSV status: %d", (int) status);
	}
}

void
ingest_csv_append_field(StringInfo buf, const char *value)
{
	const char *quote;

	appendStringInfoChar(buf, '"');
	while ((quote = strchr(value, '"')) != NULL)
	{
		appendBinaryStringInfo(buf, value, quote - value + 1);
		appendStringInfoChar(buf, '"');
		value = quote + 1;
	}
	appendStringInfoString(buf, value);
	appendStringInfoChar(buf, '"');
}
