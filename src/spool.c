/*-------------------------------------------------------------------------
 *
 * spool.c
 *		The rows of a source in a temporary file.
 *
 * The file is a temporary file of the server: it counts against
 * temp_file_limit, is logged by log_temp_files, and is removed at the latest
 * when this process exits or the server starts again after a crash.  It is
 * opened as one that outlives transactions, because files that do not belong
 * to a resource owner and would be reported as leaked at its end; instead a
 * callback of a memory context closes, and thereby deletes, it.
 *
 * What a client or a program sends may take its time, and need not be all
 * there before the load begins: after its first bytes such a source is left to
 * a feed, which puts the others into the file when the load asks for them.
 *
 * IDENTIFICATION
 *		src/spool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/wait_event.h"

#include "parse.h"
#include "scan.h"
#include "spool.h"

typedef struct Spool
{
	IngestFeed	feed;
	File		file;
	IngestScan *scan;			/* the source */
	MemoryContextCallback callback;
} Spool;

/*
 * The owning context goes away.
 */
static void
close_spool(void *arg)
{
	FileClose(((Spool *) arg)->file);
}

static Spool *
create_spool(void)
{
	Spool	   *spool = palloc0_object(Spool);

	spool->file = OpenTemporaryFile(true);
	spool->callback.func = close_spool;
	spool->callback.arg = spool;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &spool->callback);
	return spool;
}

static void
write_spool(Spool *spool, const char *data, size_t len)
{
	while (len > 0)
	{
		ssize_t		written;

		written = FileWrite(spool->file, unconstify(char *, data), len,
							spool->feed.end, WAIT_EVENT_BUFFILE_WRITE);
		if (written <= 0)
		{
			/* If nothing says why, it is for want of space. */
			if (written == 0)
				errno = ENOSPC;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to temporary file \"%s\": %m",
							FilePathName(spool->file))));
		}
		data += written;
		len -= written;
		spool->feed.end += written;
	}
}

/*
 * Open the source and put its header into a new file.  The header's line end
 * is that of the file; it stays in front of the rows for readers to see.
 */
static Spool *
begin_spool(Relation target, const IngestSourceSpec *spec,
			const IngestOptions *options, IngestSourceSpec *result)
{
	IngestScan *scan = ingest_scan_begin(spec, options);
	Spool	   *spool = create_spool();
	StringInfoData header;

	spool->scan = scan;
	initStringInfo(&header);
	ingest_parse_pass_header(target, options, spec, scan, &header);
	write_spool(spool, header.data, header.len);

	memset(result, 0, sizeof(*result));
	result->kind = INGEST_SOURCE_SPOOL;
	result->text = pstrdup(FilePathName(spool->file));
	result->start = header.len;
	result->end = -1;
	result->first_line = ingest_scan_line(scan);
	return spool;
}

/*
 * Put the bytes that come next into the file, whatever they are (an
 * IngestFeed's more).
 */
static bool
feed_spool(IngestFeed *feed)
{
	Spool	   *spool = (Spool *) feed;
	IngestScanPiece piece;

	if (feed->at_end)
		return false;
	if (ingest_scan_rest(spool->scan, &piece))
	{
		write_spool(spool, piece.data, piece.len);
		return true;
	}
	feed->at_end = true;
	ingest_scan_finish(spool->scan);
	return false;
}

IngestSourceSpec *
ingest_spool_begin(Relation target, const IngestSourceSpec *spec,
				   const IngestOptions *options, int64 first_bytes)
{
	IngestSourceSpec *result = palloc_object(IngestSourceSpec);
	Spool	   *spool = begin_spool(target, spec, options, result);

	spool->feed.more = feed_spool;
	result->feed = &spool->feed;
	while (spool->feed.end < first_bytes && feed_spool(&spool->feed))
		;
	return result;
}

IngestSourceSpec *
ingest_spool_source(Relation target, const IngestSourceSpec *spec,
					const IngestOptions *options, int64 max_rows)
{
	IngestSourceSpec *result = palloc_object(IngestSourceSpec);
	Spool	   *spool = begin_spool(target, spec, options, result);
	int64		left = max_rows >= 0 ? max_rows : PG_INT64_MAX;
	IngestScanPiece piece;

	while (ingest_scan_next(spool->scan, left, PG_INT64_MAX, &piece))
	{
		write_spool(spool, piece.data, piece.len);
		left -= piece.records;
	}

	/* The error is to be raised when a load comes to it. */
	if (ingest_scan_broken(spool->scan))
	{
		while (ingest_scan_rest(spool->scan, &piece))
			write_spool(spool, piece.data, piece.len);
	}

	ingest_scan_finish(spool->scan);
	return result;
}
