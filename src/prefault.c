/*-------------------------------------------------------------------------
 *
 * prefault.c
 *		Memory that is about to be written, mapped in one go.
 *
 * The first write of a process to a page of memory is a page fault, in shared
 * memory too, whoever has written there before.  A load writes to so much of
 * it that these faults, one for each 4 kB, are a good part of its processor
 * time, most of all in virtual machines: up to 6 us each were measured, and
 * less than 0.3 us a page if the kernel is told of all of them at once.
 *
 * All of this is a hint.  Where the system has no such call, or it fails, the
 * pages are mapped one by one as ever.
 *
 * IDENTIFICATION
 *		src/prefault.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "prefault.h"

/*
 * Map the whole pages within an area, which the caller is going to write.
 */
void
ingest_prefault(void *start, Size len)
{
#ifdef MADV_POPULATE_WRITE
	static Size page_size = 0;
	uintptr_t	first;
	uintptr_t	end;
	int			save_errno = errno;

	if (page_size == 0)
		page_size = sysconf(_SC_PAGESIZE);
	first = TYPEALIGN(page_size, (uintptr_t) start);
	end = TYPEALIGN_DOWN(page_size, (uintptr_t) start + len);
	if (end > first)
		(void) madvise((void *) first, end - first, MADV_POPULATE_WRITE);
	errno = save_errno;
#endif
}

/*
 * Buffers are mostly taken from neighbour to neighbour: upward by the clock
 * hand, downward from the list of free ones, where those of a dropped relation
 * are entered at the front (freelist.c).
 */
void
ingest_prefault_buffers(Buffer before, Buffer last, int n)
{
	Buffer		first = last >= before ? last + 1 : last - n;
	Buffer		end = Min(first + n, NBuffers + 1);

	if (BufferIsLocal(last))
		return;
	first = Max(first, 1);
	if (end > first)
		ingest_prefault(BufferGetBlock(first), (Size) (end - first) * BLCKSZ);
}
