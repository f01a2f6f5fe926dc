/*-------------------------------------------------------------------------
 *
 * waits.c
 *		Wait events of working processes, sampled.
 *
 * A look at a process reads one word of its PGPROC, the same that
 * pg_stat_activity shows, without a lock on it.  Each process seen gets the
 * whole time since the last look booked to its event, so the total is the
 * time of all processes together: three processes that work for a second make
 * three seconds.  What happens between two looks is not seen; a figure is an
 * estimate that gets better with the number of samples, which is given.
 *
 * A process that is gone, or not there yet, is skipped.
 *
 * State lives in the memory context that was current at the beginning.
 *
 * Portions Copyright (c) 2026, the ingest_tools authors
 *
 * IDENTIFICATION
 *		src/waits.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "portability/instr_time.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "waits.h"

/* What has been seen of one event; 0 is "not waiting". */
typedef struct Sample
{
	uint32		event;
	int64		samples;
	int64		us;
} Sample;

struct IngestWaits
{
	MemoryContext context;
	instr_time	last_look;
	List	   *samples;		/* of Sample; a few dozen at most */
};

static uint32 wait_event_of(const PGPROC *proc);
static Sample *find_sample(IngestWaits *waits, uint32 event);
static int	compare_waits(const ListCell *a, const ListCell *b);

/* Begin; the time of the first sample counts from here. */
IngestWaits *
ingest_waits_begin(void)
{
	IngestWaits *waits = palloc0(sizeof(IngestWaits));

	waits->context = CurrentMemoryContext;
	INSTR_TIME_SET_CURRENT(waits->last_look);
	return waits;
}

/* Look at the processes and book the time since the last look. */
void
ingest_waits_sample(IngestWaits *waits, const int *pids, int npids)
{
	instr_time	now;
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(now);
	elapsed = now;
	INSTR_TIME_SUBTRACT(elapsed, waits->last_look);
	waits->last_look = now;

	for (int i = 0; i < npids; i++)
	{
		PGPROC	   *proc = BackendPidGetProc(pids[i]);
		Sample	   *sample;

		if (proc == NULL)
			proc = AuxiliaryPidGetProc(pids[i]);
		if (proc == NULL)
			continue;

		sample = find_sample(waits, wait_event_of(proc));
		sample->samples++;
		sample->us += (int64) INSTR_TIME_GET_MICROSEC(elapsed);
	}
}

/* Return what was seen as a palloc'd list of IngestWait, longest first. */
List *
ingest_waits_list(const IngestWaits *waits)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, waits->samples)
	{
		Sample	   *sample = lfirst(lc);
		IngestWait *wait = palloc(sizeof(IngestWait));

		wait->type = sample->event == 0 ? "CPU" :
			pgstat_get_wait_event_type(sample->event);
		wait->event = pgstat_get_wait_event(sample->event);
		wait->samples = sample->samples;
		wait->us = sample->us;
		result = lappend(result, wait);
	}
	list_sort(result, compare_waits);
	return result;
}

/* Read the event once: the process may change it as we look. */
static uint32
wait_event_of(const PGPROC *proc)
{
	return *(const volatile uint32 *) &proc->wait_event_info;
}

/* Return the entry of an event, new if need be. */
static Sample *
find_sample(IngestWaits *waits, uint32 event)
{
	MemoryContext oldcontext;
	Sample	   *sample;
	ListCell   *lc;

	foreach(lc, waits->samples)
	{
		sample = lfirst(lc);
		if (sample->event == event)
			return sample;
	}

	oldcontext = MemoryContextSwitchTo(waits->context);
	sample = palloc0(sizeof(Sample));
	sample->event = event;
	waits->samples = lappend(waits->samples, sample);
	MemoryContextSwitchTo(oldcontext);
	return sample;
}

/* list_sort comparator: longest first. */
static int
compare_waits(const ListCell *a, const ListCell *b)
{
	const IngestWait *wa = lfirst(a);
	const IngestWait *wb = lfirst(b);

	return wa->us < wb->us ? 1 : wa->us > wb->us ? -1 : 0;
}
