/*-------------------------------------------------------------------------
 *
 * scan.c
 *		Record boundaries in a source's own bytes.
 *
 * In an encoding that only clients may use, a byte of a multi-byte character
 * can look like a quote or an escape.  Such bytes are overwritten in a second
 * copy of the window, and the scanner is given that copy: its positions are
 * those of the original.  In one of these encodings there are characters that
 * conversion makes into ASCII ones, which no scan of the bytes can see; it is
 * refused.
 *
 * Nothing here is verified: invalid bytes are the parser's error.
 *
 * IDENTIFICATION
 *		src/scan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "scan.h"

#define WINDOW_SIZE		(1024 * 1024)

/* What trailing bytes of a character are overwritten by. */
#define MASKED_BYTE		'\x80'

struct IngestScan
{
	IngestSource *source;
	IngestCsv  *csv;
	int			encoding;		/* if bytes must be masked, else -1 */

	char	   *buf;			/* the window */
	char	   *masked;			/* the same, masked; or buf */
	size_t		size;
	size_t		done;			/* bytes of the window that are passed */
	size_t		len;
	bool		eof;

	int64		start;			/* position of the window in the source */
	int64		line;
	bool		at_end;
	bool		broken;
};

/*
 * Refuse an encoding in which a character other than the backslash becomes a
 * backslash.  (Converting every character of every encoding to UTF8 found
 * this one only: 0x815F, and 0x81B0, which becomes a tilde.)
 */
static void
check_encoding(int encoding)
{
	if (encoding == PG_SHIFT_JIS_2004)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("data in encoding \"%s\" cannot be divided",
						pg_encoding_to_char(encoding)),
				 errhint("Load it from a file, with one worker.")));
}

IngestCsvEol
ingest_scan_file_eol(const IngestSourceSpec *spec,
					 const IngestOptions *options)
{
	IngestSourceSpec head = *spec;
	IngestScan *scan;
	IngestScanPiece piece;
	IngestCsvEol eol;

	head.start = 0;
	head.end = spec->start;
	scan = ingest_scan_begin(&head, options);
	(void) ingest_scan_next(scan, 1, PG_INT64_MAX, &piece);
	eol = ingest_csv_get_eol(scan->csv);
	ingest_scan_finish(scan);
	return eol;
}

IngestScan *
ingest_scan_begin(const IngestSourceSpec *spec, const IngestOptions *options)
{
	IngestScan *scan = palloc0_object(IngestScan);
	CopyFormatOptions *format = ingest_source_format(spec, options);

	scan->source = ingest_source_begin(spec, options);
	scan->csv = ingest_csv_begin(format, 0);
	scan->start = spec->start;
	scan->line = spec->first_line;
	scan->size = WINDOW_SIZE;
	scan->buf = scan->masked = palloc(scan->size);

	/* The server takes no conversion into SQL_ASCII: nor must we. */
	scan->encoding = -1;
	if (PG_ENCODING_IS_CLIENT_ONLY(format->file_encoding) &&
		GetDatabaseEncoding() != PG_SQL_ASCII)
	{
		scan->encoding = format->file_encoding;
		scan->masked = palloc(scan->size);
	}
	check_encoding(scan->encoding);

	if (spec->start > 0)
		ingest_csv_set_eol(scan->csv, ingest_scan_file_eol(spec, options));
	return scan;
}

/*
 * Rebuild the masked copy of the window, which begins with a character.
 */
static void
mask_window(IngestScan *scan)
{
	size_t		pos = 0;

	memcpy(scan->masked, scan->buf, scan->len);
	while (pos < scan->len)
	{
		size_t		char_len = 1;

		if (IS_HIGHBIT_SET(scan->buf[pos]))
			char_len = Min((size_t) pg_encoding_mblen(scan->encoding,
													  scan->buf + pos),
						   scan->len - pos);
		for (size_t i = 1; i < char_len; i++)
			scan->masked[pos + i] = MASKED_BYTE;
		pos += char_len;
	}
}

/*
 * Fill the window; the bytes that are passed make room.  Returns false if a
 * record is longer than any the parser takes.
 */
static bool
fill_window(IngestScan *scan)
{
	scan->start += scan->done;
	scan->len -= scan->done;
	memmove(scan->buf, scan->buf + scan->done, scan->len);
	scan->done = 0;

	if (scan->len == scan->size)
	{
		if (scan->size > MaxAllocSize)
			return false;
		scan->size *= 2;
		scan->buf = repalloc_huge(scan->buf, scan->size);
		scan->masked = scan->encoding < 0 ? scan->buf :
			repalloc_huge(scan->masked, scan->size);
	}

	while (scan->len < scan->size && !scan->eof)
	{
		size_t		got = ingest_source_read(scan->source,
											 scan->buf + scan->len,
											 scan->size - scan->len);

		scan->len += got;
		scan->eof = got == 0;
	}
	if (scan->encoding >= 0)
		mask_window(scan);
	return true;
}

bool
ingest_scan_next(IngestScan *scan, int64 max_records, int64 stop,
				 IngestScanPiece *piece)
{
	while (!scan->at_end && max_records > 0)
	{
		size_t		before = scan->done;
		size_t		done;
		int64		position = ingest_scan_position(scan);
		int64		line = scan->line;
		int64		records = 0;
		IngestCsvStatus status;

		status = ingest_csv_skip(scan->csv, scan->masked + before,
								 scan->len - before, scan->eof, max_records,
								 (size_t) Max(stop - position, 1),
								 &done, &records, &line);
		scan->done = before + done;
		scan->line = line;

		if (records > 0)
		{
			piece->data = scan->buf + before;
			piece->len = done;
			piece->records = records;
			return true;
		}
		if (status == INGEST_CSV_MORE)
			scan->at_end = scan->broken = !fill_window(scan);
		else
		{
			scan->at_end = true;
			scan->broken = status != INGEST_CSV_END;
		}
	}
	return false;
}

int64
ingest_scan_position(const IngestScan *scan)
{
	return scan->start + scan->done;
}

int64
ingest_scan_line(const IngestScan *scan)
{
	return scan->line;
}

bool
ingest_scan_broken(const IngestScan *scan)
{
	return scan->broken;
}

bool
ingest_scan_rest(IngestScan *scan, IngestScanPiece *piece)
{
	if (scan->done == scan->len && !scan->eof)
		(void) fill_window(scan);
	piece->data = scan->buf + scan->done;
	piece->len = scan->len - scan->done;
	piece->records = 0;
	scan->done = scan->len;
	return piece->len > 0;
}

int64
ingest_scan_bytes_total(const IngestScan *scan)
{
	return ingest_source_bytes_total(scan->source);
}

void
ingest_scan_finish(IngestScan *scan)
{
	ingest_source_finish(scan->source);
	pfree(scan->buf);
	if (scan->encoding >= 0)
		pfree(scan->masked);
	pfree(scan);
}
