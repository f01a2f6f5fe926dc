/*-------------------------------------------------------------------------
 *
 * usage_wal.c
 *		What the write-ahead log says about a load.
 *
 * Two things the loading processes' own counters cannot tell: how often WAL
 * was written and synced, which any process of the server may do for them,
 * and which relations the WAL is about, which the records themselves say.
 *
 * WAL is read with the server's XLogReader, as contrib/pg_walinspect and
 * pg_waldump do.  Unlike theirs, our page_read callback opens the segments
 * itself, because wal_segment_open() raises an error for a segment that is no
 * longer there, and a load that succeeded must not fail for want of a figure.
 * Nothing keeps a checkpoint from recycling the segments while we read them;
 * the reader notices by page addresses and checksums.
 *
 * Memory, and the open segment, belong to the caller's context and
 * subtransaction.
 *
 * IDENTIFICATION
 *		src/usage_wal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogreader.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "utils/syscache.h"

#include "compat.h"
#include "usage.h"
#include "usage_wal.h"

/* WAL is read from a segment in pieces of this many pages. */
#define READ_PAGES	16

/* State of the page_read callback. */
typedef struct WalSource
{
	TimeLineID	tli;
	XLogRecPtr	limit;			/* do not read at or past this */
	bool		limit_reached;	/* did the reader ask for more? */

	int			fd;				/* open segment, or -1 */
	XLogSegNo	segno;			/* its number, if open */

	/* the piece read last */
	XLogRecPtr	start;
	int			length;
	char	   *pages;
} WalSource;

/* What has been found about a relation; in a hash table by its file. */
typedef struct RelationWal
{
	RelFileLocator locator;
	char		status;
	IngestRelationUsage *usage; /* where to put it in the end */
	uint64		last_record;	/* number of the last record counted */
	int64		records;
	int64		fpi;
	int64		bytes;
	int64		page_updates;
} RelationWal;

#define SH_PREFIX relwal
#define SH_ELEMENT_TYPE RelationWal
#define SH_KEY_TYPE RelFileLocator
#define SH_KEY locator
#define SH_HASH_KEY(tb, key) \
	hash_bytes((const unsigned char *) &(key), sizeof(key))
#define SH_EQUAL(tb, a, b) RelFileLocatorEquals(a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/*
 * Hand this process's counts of writes and syncs over to shared memory.  The
 * statistics per relation (see usage.c) are not touched by this.
 */
void
ingest_wal_io_report(void)
{
	pgstat_report_wal(true);
}

/*
 * Read the server-wide counters as they stand.
 *
 * Within a transaction the server answers from what it fetched first.  We
 * must see them anew, but should not take the transaction's view of other
 * statistics away (pgstat_clear_snapshot), so we set stats_fetch_consistency
 * to "none" for this one fetch, which cannot fail.
 */
void
ingest_wal_io_snapshot(IngestWalIo *io)
{
	int			consistency = pgstat_fetch_consistency;
	int64		write_us;
	int64		sync_us;

	ingest_wal_io_report();

	pgstat_fetch_consistency = PGSTAT_FETCH_CONSISTENCY_NONE;
	ingest_wal_io_counts(&io->writes, &io->syncs, &write_us, &sync_us);
	pgstat_fetch_consistency = consistency;

	io->write_ms = track_wal_io_timing ? write_us / 1000.0 : -1;
	io->sync_ms = track_wal_io_timing ? sync_us / 1000.0 : -1;
}

/*
 * diff = end - start; times stay unknown if they are in either.
 */
void
ingest_wal_io_diff(IngestWalIo *diff, const IngestWalIo *end,
				   const IngestWalIo *start)
{
	bool		timed = end->write_ms >= 0 && start->write_ms >= 0;

	diff->writes = end->writes - start->writes;
	diff->syncs = end->syncs - start->syncs;
	diff->write_ms = timed ? end->write_ms - start->write_ms : -1;
	diff->sync_ms = timed ? end->sync_ms - start->sync_ms : -1;
}

/*
 * Open the segment that holds a position, instead of the one that is open.
 * Returns false if it is not there.  Anything else that goes wrong is worth a
 * warning, but no more than that.
 */
static bool
open_segment(WalSource *source, XLogRecPtr ptr)
{
	char		path[MAXPGPATH];
	XLogSegNo	segno;

	XLByteToSeg(ptr, segno, wal_segment_size);
	if (source->fd >= 0)
	{
		if (segno == source->segno)
			return true;
		CloseTransientFile(source->fd);
	}

	XLogFilePath(path, source->tli, segno, wal_segment_size);
	source->fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);
	source->segno = segno;
	if (source->fd < 0 && errno != ENOENT)
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));

	return source->fd >= 0;
}

/*
 * Read the piece that starts at a page boundary: as many pages as there are
 * in the segment and before the limit, at most READ_PAGES.
 */
static bool
read_piece(WalSource *source, XLogRecPtr start)
{
	uint32		offset = XLogSegmentOffset(start, wal_segment_size);
	XLogRecPtr	end = start - offset + wal_segment_size;
	int			length;

	CHECK_FOR_INTERRUPTS();

	source->length = 0;
	if (!open_segment(source, start))
		return false;

	end = Min(end, start + READ_PAGES * XLOG_BLCKSZ);
	end = Min(end, source->limit);
	length = (int) (end - start);

	pgstat_report_wait_start(WAIT_EVENT_WAL_READ);
	source->length = pg_pread(source->fd, source->pages, length, offset);
	pgstat_report_wait_end();

	if (source->length < 0)
	{
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not read WAL at %X/%X: %m",
						LSN_FORMAT_ARGS(start))));
		source->length = 0;
	}
	source->start = start;

	return source->length == length;
}

/*
 * XLogReader's page_read callback: give it the page at page_ptr, at least the
 * first needed bytes of it, or -1 if these are not to be had.
 */
static int
read_page(XLogReaderState *reader, XLogRecPtr page_ptr, int needed,
		  XLogRecPtr record_ptr, char *page)
{
	WalSource  *source = (WalSource *) reader->private_data;
	XLogRecPtr	end = Min(page_ptr + XLOG_BLCKSZ, source->limit);

	(void) record_ptr;

	if (page_ptr + needed > source->limit)
	{
		source->limit_reached = true;
		return -1;
	}

	if (page_ptr < source->start || end > source->start + source->length)
	{
		if (!read_piece(source, page_ptr))
			return -1;
	}
	memcpy(page, source->pages + (page_ptr - source->start), end - page_ptr);

	return (int) (end - page_ptr);
}

/*
 * The position up to which WAL must be flushed, and can be, for everything
 * before end to be readable.
 *
 * An insert position right after a page header means that nothing of that
 * page has been written: the server takes a request to flush it for an error
 * (xlog.c, WaitXLogInsertionsToFinish).
 */
static XLogRecPtr
flushable(XLogRecPtr end)
{
	uint32		offset = end % XLOG_BLCKSZ;
	uint32		header = XLogSegmentOffset(end, wal_segment_size) < XLOG_BLCKSZ ?
		SizeOfXLogLongPHD : SizeOfXLogShortPHD;

	return offset <= header ? end - offset : end;
}

/*
 * Look up which file a relation has.  Returns false if it has none: dropped,
 * or partitioned.  Takes no lock, so that a report never waits for one.
 */
static bool
relation_locator(Oid relid, RelFileLocator *locator)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	Oid			tablespace;
	Oid			file;

	if (!HeapTupleIsValid(tuple))
		return false;

	form = (Form_pg_class) GETSTRUCT(tuple);
	tablespace = OidIsValid(form->reltablespace) ?
		form->reltablespace : MyDatabaseTableSpace;
	file = form->relfilenode;
	ReleaseSysCache(tuple);

	*locator = RelFileLocatorMake(tablespace, MyDatabaseId, file);

	return OidIsValid(file);
}

/*
 * Make the hash table of the relations that have a file.
 */
static relwal_hash *
make_table(List *relations)
{
	relwal_hash *table;
	ListCell   *lc;

	table = relwal_create(CurrentMemoryContext, list_length(relations), NULL);
	foreach(lc, relations)
	{
		IngestRelationUsage *usage = (IngestRelationUsage *) lfirst(lc);
		RelFileLocator locator;
		RelationWal *entry;
		bool		found;

		if (!relation_locator(usage->relid, &locator))
			continue;
		entry = relwal_insert(table, locator, &found);
		entry->usage = usage;
		entry->last_record = 0;
		entry->records = 0;
		entry->fpi = 0;
		entry->bytes = 0;
		entry->page_updates = 0;
	}

	return table;
}

/*
 * Count the record the reader stands on.  number tells it from all others and
 * is not 0.
 */
static void
count_record(relwal_hash *table, XLogReaderState *reader, uint64 number)
{
	bool		first = true;

	for (int id = 0; id <= XLogRecMaxBlockId(reader); id++)
	{
		RelFileLocator locator;
		RelationWal *entry;

		if (!XLogRecGetBlockTagExtended(reader, id, &locator, NULL, NULL, NULL))
			continue;

		entry = relwal_lookup(table, locator);
		if (entry)
		{
			entry->page_updates++;
			if (XLogRecHasBlockImage(reader, id))
				entry->fpi++;
			if (first)
				entry->bytes += XLogRecGetTotalLen(reader);
			if (entry->last_record != number)
				entry->records++;
			entry->last_record = number;
		}
		first = false;
	}
}

/*
 * Count all records from start on up to the source's limit.  Returns false if
 * the WAL could not be read up to there.
 */
static bool
count_records(relwal_hash *table, XLogReaderState *reader, XLogRecPtr start)
{
	WalSource  *source = (WalSource *) reader->private_data;
	uint64		number = 0;
	char	   *message;

	if (XLogRecPtrIsInvalid(XLogFindNextRecordCompat(reader, start, &message)))
		return source->limit_reached;

	while (XLogReadRecord(reader, &message) != NULL)
		count_record(table, reader, ++number);

	return source->limit_reached;
}

/*
 * Put what has been found where it belongs.
 */
static void
store_figures(relwal_hash *table)
{
	relwal_iterator iterator;
	RelationWal *entry;

	relwal_start_iterate(table, &iterator);
	while ((entry = relwal_iterate(table, &iterator)) != NULL)
	{
		entry->usage->wal_records = entry->records;
		entry->usage->wal_fpi = entry->fpi;
		entry->usage->wal_bytes = entry->bytes;
		entry->usage->page_updates = entry->page_updates;
	}
}

/*
 * Attribute the WAL from start to end to relations.
 */
bool
ingest_wal_attribute(XLogRecPtr start, XLogRecPtr end, List *relations)
{
	WalSource	source = {0};
	relwal_hash *table;
	XLogReaderState *reader;
	bool		complete;

	Assert(start >= XLOG_BLCKSZ && start <= end);

	source.tli = GetWALInsertionTimeLine();
	source.limit = flushable(end);
	source.fd = -1;
	source.pages = palloc(READ_PAGES * XLOG_BLCKSZ);
	XLogFlush(source.limit);

	reader = XLogReaderAllocate(wal_segment_size, NULL,
								XL_ROUTINE(.page_read = read_page), &source);
	if (reader == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while allocating a WAL reading processor.")));

	table = make_table(relations);
	complete = count_records(table, reader, start);
	if (complete)
		store_figures(table);

	relwal_destroy(table);
	XLogReaderFree(reader);
	pfree(source.pages);
	if (source.fd >= 0)
		CloseTransientFile(source.fd);

	return complete;
}
