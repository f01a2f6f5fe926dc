/*-------------------------------------------------------------------------
 *
 * scan.h
 *		Record boundaries in a source's own bytes.
 *
 * The parser works on text, whose positions are not those of the bytes when
 * an encoding is converted.  A scan works on the bytes as they come and is
 * for those who cut or copy a source: it finds where records end and how many
 * there are, and looks no further into them.
 *
 * IDENTIFICATION
 *		src/scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_SCAN_H
#define INGEST_SCAN_H

#include "postgres.h"

#include "csv.h"
#include "options.h"
#include "source.h"

typedef struct IngestScan IngestScan;

/* Whole records, passed over in one step. */
typedef struct IngestScanPiece
{
	const char *data;			/* valid until the next step */
	size_t		len;
	int64		records;
} IngestScanPiece;

/* in scan.c */

/*
 * The line ends of a file, which its first record decides.  Whoever begins
 * later in the file (spec->start) must not let another record decide.
 */
extern IngestCsvEol ingest_scan_file_eol(const IngestSourceSpec *spec,
										 const IngestOptions *options);

/* Opens a source of its own; allocated in CurrentMemoryContext. */
extern IngestScan *ingest_scan_begin(const IngestSourceSpec *spec,
									 const IngestOptions *options);

/*
 * Pass over some records, at least one: at most max_records, and no more once
 * the position has come to stop.  Returns false if there are no more records:
 * at the end of the data, or where the parser will raise an error.
 */
extern bool ingest_scan_next(IngestScan *scan, int64 max_records, int64 stop,
							 IngestScanPiece *piece);

/* Position in the file, and the line number there. */
extern int64 ingest_scan_position(const IngestScan *scan);
extern int64 ingest_scan_line(const IngestScan *scan);

/*
 * Did the records end where the data makes no sense?  Then the parser, which
 * comes to it after all records before, has an error to raise, and those who
 * cut or copy must let it have the rest of the bytes.
 */
extern bool ingest_scan_broken(const IngestScan *scan);

/* The bytes after the records, a piece at a time; false if no more. */
extern bool ingest_scan_rest(IngestScan *scan, IngestScanPiece *piece);

extern int64 ingest_scan_bytes_total(const IngestScan *scan);

extern void ingest_scan_finish(IngestScan *scan);

#endif							/* INGEST_SCAN_H */
