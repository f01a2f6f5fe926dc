/*-------------------------------------------------------------------------
 *
 * parallel.c
 *		Parallel workers in the caller's transaction.
 *
 * A thin layer over the server's ParallelContext (access/transam/parallel.c),
 * which gives the workers the caller's transaction, snapshots, user and
 * settings, and brings their errors to the leader.
 *
 * The segment holds, by key: a header, the caller's bytes, the workers' buffer
 * and WAL usage (for the leader's own counters, which pg_stat_statements and
 * EXPLAIN read, as in execParallel.c), and an area in which each worker leaves
 * its meter's figures.
 *
 * The leader's counters are brought up to date while its meter is stopped:
 * the same figures arrive with the workers' meters.
 *
 * An error needs no care here, but for what ingest_parallel_guard() is for: the
 * end of the (sub)transaction terminates the workers and leaves parallel mode.
 *
 * IDENTIFICATION
 *		src/parallel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/dsa.h"
#include "utils/resowner.h"

#include "compat.h"
#include "parallel.h"

#define LIBRARY_NAME	"ingest_tools"

enum
{
	KEY_HEADER = 1,
	KEY_CALLER,
	KEY_BUFFER_USAGE,
	KEY_WAL_USAGE,
	KEY_AREA,
	KEY_QUERY,
};

/* First size of the area for the meters; it grows by itself. */
#define AREA_SIZE		(64 * 1024)

/* What one worker leaves behind; written by it, read when it has ended. */
typedef struct WorkerResult
{
	dsa_pointer meter;
	int			len;
} WorkerResult;

typedef struct ParallelHeader
{
	char		entry[NAMEDATALEN];
	WorkerResult results[FLEXIBLE_ARRAY_MEMBER];
} ParallelHeader;

struct IngestParallel
{
	ParallelContext *pcxt;
	ParallelHeader *header;
	void	   *shared;
	BufferUsage *buffer_usage;
	WalUsage   *wal_usage;
	dsa_area   *area;
};

static void
estimate(ParallelContext *pcxt, Size size)
{
	shm_toc_estimate_chunk(&pcxt->estimator, size);
	shm_toc_estimate_keys(&pcxt->estimator, 1);
}

static void *
allocate(ParallelContext *pcxt, uint64 key, Size size)
{
	void	   *p = shm_toc_allocate(pcxt->toc, size);

	memset(p, 0, size);
	shm_toc_insert(pcxt->toc, key, p);
	return p;
}

static Size
header_size(int nworkers)
{
	return offsetof(ParallelHeader, results) +
		nworkers * sizeof(WorkerResult);
}

/*
 * Enter parallel mode and make the shared memory.  State is allocated in
 * CurrentMemoryContext.
 */
IngestParallel *
ingest_parallel_begin(int nworkers, Size shared_size)
{
	IngestParallel *parallel = palloc0(sizeof(IngestParallel));
	const char *query = debug_query_string ? debug_query_string : "";
	ParallelContext *pcxt;
	char	   *area;

	EnterParallelMode();
	pcxt = CreateParallelContext(LIBRARY_NAME, "ingest_parallel_main",
								 nworkers);
	estimate(pcxt, header_size(nworkers));
	estimate(pcxt, shared_size);
	estimate(pcxt, nworkers * sizeof(BufferUsage));
	estimate(pcxt, nworkers * sizeof(WalUsage));
	estimate(pcxt, AREA_SIZE);
	estimate(pcxt, strlen(query) + 1);
	InitializeParallelDSM(pcxt);

	/* the server may have come down to fewer workers */
	nworkers = pcxt->nworkers;
	parallel->pcxt = pcxt;
	parallel->header = allocate(pcxt, KEY_HEADER, header_size(nworkers));
	parallel->shared = allocate(pcxt, KEY_CALLER, shared_size);
	parallel->buffer_usage = allocate(pcxt, KEY_BUFFER_USAGE,
									  nworkers * sizeof(BufferUsage));
	parallel->wal_usage = allocate(pcxt, KEY_WAL_USAGE,
								   nworkers * sizeof(WalUsage));
	area = allocate(pcxt, KEY_AREA, AREA_SIZE);
	if (pcxt->seg != NULL)
		parallel->area = dsa_create_in_place(area, AREA_SIZE,
											 LWTRANCHE_PARALLEL_QUERY_DSA,
											 pcxt->seg);
	strcpy(allocate(pcxt, KEY_QUERY, strlen(query) + 1), query);
	return parallel;
}

void *
ingest_parallel_shared(IngestParallel *parallel)
{
	return parallel->shared;
}

int
ingest_parallel_launch(IngestParallel *parallel, const char *entry)
{
	strlcpy(parallel->header->entry, entry, NAMEDATALEN);
	LaunchParallelWorkers(parallel->pcxt);
	return parallel->pcxt->nworkers_launched;
}

/*
 * Add the figures of one worker to the leader's meter.
 */
static void
gather_meter(IngestParallel *parallel, int worker, IngestMeter *meter)
{
	WorkerResult *result = &parallel->header->results[worker];
	StringInfoData buf;

	if (meter == NULL || !DsaPointerIsValid(result->meter))
		return;
	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, dsa_get_address(parallel->area,
												 result->meter), result->len);
	ingest_meter_merge(meter, ingest_meter_receive(&buf));
	pfree(buf.data);
}

void
ingest_parallel_wait(IngestParallel *parallel)
{
	WaitForParallelWorkersToFinish(parallel->pcxt);
}

void
ingest_parallel_finish(IngestParallel *parallel, IngestMeter *meter)
{
	ParallelContext *pcxt = parallel->pcxt;

	if (meter)
		ingest_meter_stop(meter);
	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		InstrAccumParallelQuery(&parallel->buffer_usage[i],
								&parallel->wal_usage[i]);
		gather_meter(parallel, i, meter);
	}
	if (meter)
		ingest_meter_phase(meter, INGEST_PHASE_WRITE);

	if (parallel->area)
		dsa_detach(parallel->area);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	pfree(parallel);
}

/*
 * Give up what a failed piece of work has held, in the order of
 * AbortSubTransaction() (xact.c).
 */
static void
release_resources(ResourceOwner owner)
{
	HOLD_INTERRUPTS();
	LWLockReleaseAll();
	pgstat_report_wait_end();
	AbortBufferIOCompat();
	UnlockBuffers();
	XLogResetInsertion();
	ConditionVariableCancelSleep();
	LockErrorCleanup();
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, false, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
	RESUME_INTERRUPTS();
}

/*
 * When the leader fails, on a full disk say, the end of its transaction waits
 * for the workers to end before it gives up locks, pins and buffers that it
 * reads or adds.  A worker that waits for one of these in the midst of an index
 * does not end, since it holds a page's lock and with it off interrupts.  No
 * deadlock detector sees that.  So the work has a resource owner of its own,
 * and what that owns is given up before the error goes on.
 */
void
ingest_parallel_guard(void (*work) (void *arg), void *arg)
{
	ResourceOwner old = CurrentResourceOwner;
	ResourceOwner own = ResourceOwnerCreate(old, "ingest parallel work");

	PG_TRY();
	{
		CurrentResourceOwner = own;
		work(arg);
		CurrentResourceOwner = old;
	}
	PG_CATCH();
	{
		CurrentResourceOwner = old;
		release_resources(own);
		PG_RE_THROW();
	}
	PG_END_TRY();

	/* locks stay with the transaction; there should be nothing else */
	ResourceOwnerRelease(own, RESOURCE_RELEASE_BEFORE_LOCKS, true, false);
	ResourceOwnerRelease(own, RESOURCE_RELEASE_LOCKS, true, false);
	ResourceOwnerRelease(own, RESOURCE_RELEASE_AFTER_LOCKS, true, false);
	ResourceOwnerDelete(own);
}

/*
 * Leave the meter's figures for the leader.
 */
static void
send_meter(shm_toc *toc, dsm_segment *seg, IngestMeter *meter,
		   WorkerResult *result)
{
	dsa_area   *area = dsa_attach_in_place(shm_toc_lookup(toc, KEY_AREA, false),
										   seg);
	StringInfoData buf;

	initStringInfo(&buf);
	ingest_meter_send(meter, &buf);
	result->meter = dsa_allocate(area, buf.len);
	memcpy(dsa_get_address(area, result->meter), buf.data, buf.len);
	result->len = buf.len;
	dsa_detach(area);
}

/*
 * A worker's life: find the entry, run it, report what it took.
 */
void
ingest_parallel_main(dsm_segment *seg, shm_toc *toc)
{
	ParallelHeader *header = shm_toc_lookup(toc, KEY_HEADER, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, KEY_WAL_USAGE, false);
	IngestParallelEntry entry;
	IngestMeter *meter;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, false);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);

	entry = (IngestParallelEntry)
		load_external_function(LIBRARY_NAME, header->entry, true, NULL);

	InstrStartParallelQuery();
	meter = ingest_meter_begin();
	entry(shm_toc_lookup(toc, KEY_CALLER, false), ParallelWorkerNumber + 1,
		  meter);
	ingest_meter_stop(meter);
	send_meter(toc, seg, meter, &header->results[ParallelWorkerNumber]);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);
}
