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
	File		file;
	int64		len;
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
							spool->len, WAIT_EVENT_BUFFILE_WRITE);
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
		spool->len += written;
	}
}

IngestSourceSpec *
ingest_spool_source(Relation target, const IngestSourceSpec *spec,
					const IngestOptions *options, int64 max_rows)
{
	IngestSourceSpec *result = palloc0_object(IngestSourceSpec);
	int64		left = max_rows >= 0 ? max_rows : PG_INT64_MAX;
	IngestScan *scan = ingest_scan_begin(spec, options);
	Spool	   *spool = create_spool();
	IngestScanPiece piece;
	StringInfoData header;

	/*
	 * The header's line end is that of the file; it stays in front of the
	 * rows for readers to see.
	 */
	initStringInfo(&header);
	ingest_parse_pass_header(target, options, spec, scan, &header);
	write_spool(spool, header.data, header.len);

	result->kind = INGEST_SOURCE_SPOOL;
	result->text = pstrdup(FilePathName(spool->file));
	result->start = header.len;
	result->end = -1;
	result->first_line = ingest_scan_line(scan);

	while (ingest_scan_next(scan, left, PG_INT64_MAX, &piece))
	{
		write_spool(spool, piece.data, piece.len);
		left -= piece.records;
	}

	/* The error is to be raised when a load comes to it. */
	if (ingest_scan_broken(scan))
	{
		while (ingest_scan_rest(scan, &piece))
			write_spool(spool, piece.data, piece.len);
	}

	ingest_scan_finish(scan);
	return result;
}
