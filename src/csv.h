/*-------------------------------------------------------------------------
 *
 * csv.h
 *		Bytes to records and fields, by the rules of COPY's CSV format.
 *
 * A scanner works on memory that its caller owns and fills; it neither reads
 * nor writes anything else, so the streaming parser (a window of a source)
 * and a parallel worker (a chunk that begins and ends at record boundaries)
 * use it in the same way:
 *
 *		while ((status = ingest_csv_next(csv, p, end - p, last, &record))
 *			   == INGEST_CSV_RECORD)
 *		{
 *			if (!ingest_csv_split(csv, &record))
 *				... unterminated quoted field ...
 *			... record.fields[0 .. record.nfields - 1] ...
 *			p += record.consumed;
 *		}
 *
 * The bytes must be in an encoding whose multi-byte characters have no ASCII
 * bytes in them, as all server encodings are.
 *
 * IDENTIFICATION
 *		src/csv.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_CSV_H
#define INGEST_CSV_H

#include "postgres.h"

#include "commands/copy.h"
#include "lib/stringinfo.h"

/* Line ends of a file; its first record decides. */
typedef enum IngestCsvEol
{
	INGEST_CSV_EOL_UNKNOWN,
	INGEST_CSV_EOL_NL,
	INGEST_CSV_EOL_CR,
	INGEST_CSV_EOL_CRNL,
} IngestCsvEol;

/* What ingest_csv_next() found. */
typedef enum IngestCsvStatus
{
	INGEST_CSV_RECORD,
	INGEST_CSV_MORE,			/* cannot tell without more bytes */
	INGEST_CSV_END,				/* no bytes left, or an end-of-data marker */

	/* errors, for ingest_csv_report() */
	INGEST_CSV_BAD_CR,			/* CR in a file with other line ends */
	INGEST_CSV_BAD_NL,			/* LF in a file with other line ends */
	INGEST_CSV_BAD_MARKER,		/* marker's line end is not the file's */
} IngestCsvStatus;

/* Who splits a record; see csv.c. */
typedef enum IngestCsvShape
{
	INGEST_CSV_PLAIN,			/* no quote in it; split already */
	INGEST_CSV_REGULAR,			/* quotes where RFC 4180 has them: libcsv */
	INGEST_CSV_IRREGULAR,		/* anything else COPY understands */
} IngestCsvShape;

/* Bytes behind the data that may be looked at. */
#define INGEST_CSV_SLACK	16

/*
 * A field.  Of a plain record it points into the caller's bytes and is not
 * NUL-terminated, but the byte after it (a delimiter, a line end, or the
 * caller's end of data) is not needed any more.  Of any other record it is a
 * NUL-terminated copy that is valid until the next split.  INGEST_CSV_SLACK
 * bytes after it are there, if the caller's data have as many behind them.
 */
typedef struct IngestCsvField
{
	char	   *data;
	int			len;
	bool		quoted;			/* a quote in it: does not match NULL */
} IngestCsvField;

typedef struct IngestCsvRecord
{
	char	   *data;			/* first byte */
	size_t		len;			/* bytes, without the line end */
	size_t		consumed;		/* bytes, with the line end */
	int64		lines;			/* line ends within quotes, as COPY counts */
	IngestCsvShape shape;

	IngestCsvField *fields;
	int			nfields;		/* may be more than fields are kept */
} IngestCsvRecord;

typedef struct IngestCsv IngestCsv;

/* in csv.c */

/*
 * A scanner for COPY's options, allocated in CurrentMemoryContext.  Fields
 * beyond max_fields are counted but not kept.
 */
extern IngestCsv *ingest_csv_begin(const CopyFormatOptions *format,
								   int max_fields);
extern IngestCsvEol ingest_csv_get_eol(const IngestCsv *csv);
extern void ingest_csv_set_eol(IngestCsv *csv, IngestCsvEol eol);

/*
 * Find the record that begins at buf.  last says that no bytes follow the len
 * bytes given.  On any status but INGEST_CSV_RECORD only record->lines is set,
 * and with the bad ones record->len, the bytes before the one that is bad;
 * after INGEST_CSV_MORE the caller comes again with the same record and more
 * bytes.
 */
extern IngestCsvStatus ingest_csv_next(IngestCsv *csv, char *buf, size_t len,
									   bool last, IngestCsvRecord *record);

/*
 * Split a record into fields.  Returns false, with the fields before it, if
 * the last field is a quoted one without an end.
 */
extern bool ingest_csv_split(IngestCsv *csv, IngestCsvRecord *record);

/*
 * Pass over records without splitting them: at most max_records, and no more
 * once the position has come to stop.  *done is the number of bytes passed,
 * *records and *lines (records and line ends within quotes) are added to.
 * Returns INGEST_CSV_RECORD when a limit ended it, else what did.
 */
extern IngestCsvStatus ingest_csv_skip(IngestCsv *csv, char *buf, size_t len,
									   bool last, int64 max_records,
									   size_t stop, size_t *done,
									   int64 *records, int64 *lines);

/* Raise COPY's error for a status that is one. */
extern void ingest_csv_report(IngestCsvStatus status);

/* Append a quoted field in COPY's default dialect. */
extern void ingest_csv_append_field(StringInfo buf, const char *value);

#endif							/* INGEST_CSV_H */
