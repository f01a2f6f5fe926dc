/*-------------------------------------------------------------------------
 *
 * flush_ahead.c
 *		WAL that goes to disk while the load goes on.
 *
 * A process that writes much WAL is soon the one that has to flush it: because
 * the WAL buffers are full, because a page of the ring it uses is to be written
 * for another, and at last because it commits.  It waits for the disk then, and
 * so does everybody else who needs WAL buffers.  The WAL writer is there to do
 * that in the background, but it is only woken for asynchronous commits.  So we
 * tell it of our WAL as if that ended with one: XLogSetAsyncXactLSN() (xlog.c)
 * wakes it and says up to where it is worth flushing, which promises nothing
 * to anybody.  Our own commit finds most of its WAL flushed.
 *
 * IDENTIFICATION
 *		src/flush_ahead.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"

#include "flush_ahead.h"

/* WAL of all processes between two calls of this one, bytes. */
#define FLUSH_BYTES		(512 * 1024)

void
ingest_flush_ahead(void)
{
	static XLogRecPtr told = InvalidXLogRecPtr;

	if (ProcLastRecPtr < told + FLUSH_BYTES)
		return;
	XLogSetAsyncXactLSN(ProcLastRecPtr);
	told = ProcLastRecPtr;
}
