/*-------------------------------------------------------------------------
 *
 * usage.c
 *		What work costs: counters of this process, as differences.
 *
 * The server counts WAL and buffers in pgWalUsage and pgBufferUsage, the
 * kernel CPU time, both for the whole life of the process.  A meter takes
 * differences of them, in the manner of executor/instrument.c, and books each
 * to exactly one phase.
 *
 * Per relation there are two sources.  The server's pending statistics
 * (pgstat_relation.c) count page requests per relation, exactly, in memory of
 * this process; they are read at the beginning of a watch and again when its
 * figures are asked for.  What the server does not keep per relation is booked
 * by the code that knows which relation it works on, with enter and leave.
 * The two never supply the same figure, so that a figure means the same
 * whatever the strategy that produced it.
 *
 * A meter, its list of relations and its hash table live in the memory
 * context that was current when it began, so that it may span transactions.
 * Entries of relations are never removed and never move; the hash table finds
 * them by OID.
 *
 * No locks are kept: a watch locks the partitions only while it looks up their
 * indexes.
 *
 * IDENTIFICATION
 *		src/usage.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "usage.h"

/*
 * One watched relation.  Flat, because it is also what a meter sends.
 */
typedef struct WatchedRelation
{
	Oid			relid;
	Oid			heapid;			/* the table this is part of, or itself */
	IngestRelationKind kind;

	/* the server's counters of this process when last looked at */
	int64		last_fetched;
	int64		last_hit;

	/* page requests booked so far; known until the server lost count */
	bool		requests_known;
	int64		fetched;
	int64		hit;

	/* booked between enter and leave */
	int64		dirtied;
	int64		written;
	WalUsage	wal;

	int			note;			/* 0 if there is none */

	/* is its TOAST table in use?  Only valid inside ingest_meter_relations */
	bool		toast_used;
} WatchedRelation;

typedef struct WatchEntry
{
	Oid			relid;
	char		status;
	WatchedRelation *relation;
} WatchEntry;

#define SH_PREFIX watch
#define SH_ELEMENT_TYPE WatchEntry
#define SH_KEY_TYPE Oid
#define SH_KEY relid
#define SH_HASH_KEY(tb, key) murmurhash32(key)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct IngestMeter
{
	MemoryContext context;

	/* where it stands */
	bool		live;			/* counts this process, not received */
	bool		running;
	IngestPhase phase;
	IngestUsage last;			/* snapshot at the last move */

	/* what it has booked */
	IngestUsage phases[INGEST_NPHASES];

	/* relations, in the order in which they were first watched */
	List	   *relations;		/* of WatchedRelation */
	watch_hash *index;
	bool		attributed;		/* has there been any leave? */

	/* counters at the last enter */
	int64		entered_dirtied;
	int64		entered_written;
	WalUsage	entered_wal;
};

/* The fixed part of what ingest_meter_send() writes. */
typedef struct MeterMessage
{
	IngestUsage phases[INGEST_NPHASES];
	int			nrelations;
	bool		attributed;
} MeterMessage;

static const char *const phase_names[INGEST_NPHASES] = {
	[INGEST_PHASE_SETUP] = "setup",
	[INGEST_PHASE_READ] = "read",
	[INGEST_PHASE_CONVERT] = "convert",
	[INGEST_PHASE_WRITE] = "write",
	[INGEST_PHASE_INDEX] = "index",
	[INGEST_PHASE_TRIGGER] = "trigger",
	[INGEST_PHASE_COMMIT] = "commit",
};

/*
 * The name of a phase in reports.
 */
const char *
ingest_phase_name(IngestPhase phase)
{
	Assert(phase >= 0 && phase < INGEST_NPHASES);
	return phase_names[phase];
}

static int64
timeval_us(const struct timeval *tv)
{
	return (int64) tv->tv_sec * 1000000 + tv->tv_usec;
}

/*
 * Read the counters of this process as they stand.
 */
void
ingest_usage_snapshot(IngestUsage *usage)
{
	struct rusage rusage;
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	getrusage(RUSAGE_SELF, &rusage);

	usage->elapsed_us = (int64) INSTR_TIME_GET_MICROSEC(now);
	usage->cpu_user_us = timeval_us(&rusage.ru_utime);
	usage->cpu_system_us = timeval_us(&rusage.ru_stime);
	usage->wal = pgWalUsage;
	usage->buffers = pgBufferUsage;
}

/*
 * total += end - start
 */
void
ingest_usage_add_diff(IngestUsage *total, const IngestUsage *end,
					  const IngestUsage *start)
{
	total->elapsed_us += end->elapsed_us - start->elapsed_us;
	total->cpu_user_us += end->cpu_user_us - start->cpu_user_us;
	total->cpu_system_us += end->cpu_system_us - start->cpu_system_us;
	WalUsageAccumDiff(&total->wal, &end->wal, &start->wal);
	BufferUsageAccumDiff(&total->buffers, &end->buffers, &start->buffers);
}

/*
 * total += part
 */
void
ingest_usage_add(IngestUsage *total, const IngestUsage *part)
{
	static const IngestUsage nothing;

	ingest_usage_add_diff(total, part, &nothing);
}

/*
 * An empty meter in CurrentMemoryContext.
 */
static IngestMeter *
meter_create(void)
{
	IngestMeter *meter = palloc0(sizeof(IngestMeter));

	meter->context = CurrentMemoryContext;
	meter->index = watch_create(CurrentMemoryContext, 16, NULL);

	return meter;
}

/*
 * Start a meter; it stands in INGEST_PHASE_SETUP.
 */
IngestMeter *
ingest_meter_begin(void)
{
	IngestMeter *meter = meter_create();

	meter->live = true;
	meter->running = true;
	meter->phase = INGEST_PHASE_SETUP;
	ingest_usage_snapshot(&meter->last);

	return meter;
}

/*
 * Book what has passed since the last move to the phase that ends here.
 */
static void
book_phase(IngestMeter *meter)
{
	IngestUsage now;

	ingest_usage_snapshot(&now);
	if (meter->running)
		ingest_usage_add_diff(&meter->phases[meter->phase], &now, &meter->last);
	meter->last = now;
}

/*
 * Move to another phase; starts a stopped meter.
 */
IngestPhase
ingest_meter_phase(IngestMeter *meter, IngestPhase phase)
{
	IngestPhase previous = meter->phase;

	Assert(meter->live);
	Assert(phase >= 0 && phase < INGEST_NPHASES);

	book_phase(meter);
	meter->running = true;
	meter->phase = phase;
	return previous;
}

/*
 * Book the last phase and count no further.
 */
void
ingest_meter_stop(IngestMeter *meter)
{
	Assert(meter->live);

	book_phase(meter);
	meter->running = false;
}

/*
 * What has been booked to a phase; of the phase the meter stands in, up to the
 * last move.
 */
const IngestUsage *
ingest_meter_usage(const IngestMeter *meter, IngestPhase phase)
{
	Assert(phase >= 0 && phase < INGEST_NPHASES);
	return &meter->phases[phase];
}

/*
 * What has been booked to all phases together.
 */
void
ingest_meter_total(const IngestMeter *meter, IngestUsage *total)
{
	memset(total, 0, sizeof(*total));
	for (int i = 0; i < INGEST_NPHASES; i++)
		ingest_usage_add(total, &meter->phases[i]);
}

static WatchedRelation *
find_relation(const IngestMeter *meter, Oid relid)
{
	WatchEntry *entry = watch_lookup(meter->index, relid);

	return entry ? entry->relation : NULL;
}

/*
 * Give the meter an entry for a relation it has none for, without figures.
 */
static WatchedRelation *
add_relation(IngestMeter *meter, Oid relid, Oid heapid, IngestRelationKind kind)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(meter->context);
	WatchedRelation *relation = palloc0(sizeof(WatchedRelation));
	bool		found;

	relation->relid = relid;
	relation->heapid = heapid;
	relation->kind = kind;
	relation->requests_known = true;

	meter->relations = lappend(meter->relations, relation);
	watch_insert(meter->index, relid, &found)->relation = relation;
	Assert(!found);

	MemoryContextSwitchTo(oldcontext);

	return relation;
}

/*
 * The page requests that this process has made to a relation and has not yet
 * handed over to shared memory; none if the server has no entry.
 */
static void
pending_requests(Oid relid, int64 *fetched, int64 *hit)
{
	if (!ingest_pending_blocks(relid, fetched, hit))
		*fetched = *hit = 0;
}

/*
 * Book the page requests since the last look to a watched relation.
 *
 * Counters that went backwards were handed over in between, and what they
 * showed before is lost.
 */
static void
book_relation_requests(WatchedRelation *relation)
{
	int64		fetched;
	int64		hit;

	pending_requests(relation->relid, &fetched, &hit);
	if (!pgstat_track_counts || fetched < relation->last_fetched)
		relation->requests_known = false;
	relation->fetched += fetched - relation->last_fetched;
	relation->hit += hit - relation->last_hit;
	relation->last_fetched = fetched;
	relation->last_hit = hit;
}

/* The same for all relations. */
static void
book_requests(IngestMeter *meter)
{
	ListCell   *lc;

	if (!meter->live)
		return;

	foreach(lc, meter->relations)
		book_relation_requests((WatchedRelation *) lfirst(lc));
}

/*
 * Watch one relation from here on, unless it is watched already.
 */
static void
watch_relation(IngestMeter *meter, Oid relid, Oid heapid,
			   IngestRelationKind kind)
{
	WatchedRelation *relation;

	if (find_relation(meter, relid))
		return;

	relation = add_relation(meter, relid, heapid, kind);
	pending_requests(relid, &relation->last_fetched, &relation->last_hit);
	relation->requests_known = pgstat_track_counts;
}

/*
 * Watch all indexes of a table or TOAST table.  They are looked up in the
 * catalog; opening the table would need a lock that COPY does not take on
 * partitions it has no rows for.
 */
static void
watch_indexes(IngestMeter *meter, Oid relid, Oid heapid,
			  IngestRelationKind kind)
{
	Relation	catalog = table_open(IndexRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, IndexIndrelidIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

		if (index->indislive)
			watch_relation(meter, index->indexrelid, heapid, kind);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/*
 * Watch a table, its TOAST table and all their indexes.  A partitioned table
 * or a foreign one has no storage and so nothing to watch.
 */
static void
watch_table(IngestMeter *meter, Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			toastid;
	bool		has_storage;

	if (!HeapTupleIsValid(tuple))
		return;					/* a partition just dropped */
	toastid = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid;
	has_storage =
		RELKIND_HAS_STORAGE(((Form_pg_class) GETSTRUCT(tuple))->relkind);
	ReleaseSysCache(tuple);
	if (!has_storage)
		return;

	watch_relation(meter, relid, relid, INGEST_RELATION_HEAP);
	if (OidIsValid(toastid))
	{
		watch_relation(meter, toastid, relid, INGEST_RELATION_TOAST);
		watch_indexes(meter, toastid, relid, INGEST_RELATION_TOAST_INDEX);
	}
	watch_indexes(meter, relid, relid, INGEST_RELATION_INDEX);
}

/*
 * Watch a target that the caller has opened and locked, with all its
 * partitions, which need not be locked.
 */
void
ingest_meter_watch(IngestMeter *meter, Relation target)
{
	List	   *tables;
	ListCell   *lc;

	Assert(meter->live);

	if (target->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		tables = find_all_inheritors(RelationGetRelid(target), NoLock, NULL);
	else
		tables = list_make1_oid(RelationGetRelid(target));
	foreach(lc, tables)
		watch_table(meter, lfirst_oid(lc));
	list_free(tables);
}

/*
 * Begin work on one relation.
 */
void
ingest_meter_enter(IngestMeter *meter)
{
	meter->entered_dirtied = pgBufferUsage.shared_blks_dirtied;
	meter->entered_written = pgBufferUsage.shared_blks_written;
	meter->entered_wal = pgWalUsage;
}

/*
 * End work on one relation and book it, if the relation is watched.
 */
void
ingest_meter_leave(IngestMeter *meter, Oid relid)
{
	WatchedRelation *relation = find_relation(meter, relid);

	meter->attributed = true;
	if (relation == NULL)
		return;

	relation->dirtied +=
		pgBufferUsage.shared_blks_dirtied - meter->entered_dirtied;
	relation->written +=
		pgBufferUsage.shared_blks_written - meter->entered_written;
	WalUsageAccumDiff(&relation->wal, &pgWalUsage, &meter->entered_wal);
}

void
ingest_meter_note(IngestMeter *meter, Oid relid, int note)
{
	WatchedRelation *relation = find_relation(meter, relid);

	if (relation)
		relation->note = note;
}

/*
 * Find out whose TOAST tables were used.
 *
 * Storing a value looks for a free value ID in the TOAST table's index first
 * (toast_internals.c, toast_save_datum), so requests tell.  If they are not
 * known, a TOAST table may have been used.
 */
static void
mark_used_toast(IngestMeter *meter)
{
	ListCell   *lc;

	foreach(lc, meter->relations)
		((WatchedRelation *) lfirst(lc))->toast_used = false;

	foreach(lc, meter->relations)
	{
		WatchedRelation *part = (WatchedRelation *) lfirst(lc);

		if (part->kind != INGEST_RELATION_TOAST &&
			part->kind != INGEST_RELATION_TOAST_INDEX)
			continue;
		if (part->fetched > 0 || !part->requests_known)
			find_relation(meter, part->heapid)->toast_used = true;
	}
}

/*
 * A relation's figures as they are reported.
 */
static IngestRelationUsage *
relation_usage(const IngestMeter *meter, const WatchedRelation *relation)
{
	IngestRelationUsage *usage = palloc(sizeof(IngestRelationUsage));
	bool		booked = meter->attributed;

	if (relation->kind != INGEST_RELATION_INDEX &&
		find_relation(meter, relation->heapid)->toast_used)
		booked = false;

	usage->relid = relation->relid;
	usage->kind = relation->kind;
	usage->blks_hit = relation->requests_known ? relation->hit : -1;
	usage->blks_read =
		relation->requests_known ? relation->fetched - relation->hit : -1;
	usage->blks_dirtied = booked ? relation->dirtied : -1;
	usage->blks_written = booked ? relation->written : -1;
	usage->wal_records = booked ? relation->wal.wal_records : -1;
	usage->wal_fpi = booked ? relation->wal.wal_fpi : -1;
	usage->wal_bytes = booked ? (int64) relation->wal.wal_bytes : -1;
	usage->page_updates = -1;
	usage->note = relation->note;

	return usage;
}

/*
 * The figures of all watched relations up to now.
 */
List *
ingest_meter_relations(IngestMeter *meter)
{
	List	   *result = NIL;
	ListCell   *lc;

	book_requests(meter);
	mark_used_toast(meter);

	foreach(lc, meter->relations)
		result = lappend(result, relation_usage(meter, lfirst(lc)));

	return result;
}

/*
 * Append what the meter has booked up to now to a message.
 */
void
ingest_meter_send(IngestMeter *meter, StringInfo buf)
{
	MeterMessage message = {0};
	ListCell   *lc;

	book_requests(meter);

	memcpy(message.phases, meter->phases, sizeof(message.phases));
	message.nrelations = list_length(meter->relations);
	message.attributed = meter->attributed;
	pq_sendbytes(buf, (char *) &message, sizeof(message));

	foreach(lc, meter->relations)
		pq_sendbytes(buf, (char *) lfirst(lc), sizeof(WatchedRelation));
}

/*
 * Read a meter from a message, into CurrentMemoryContext.
 */
IngestMeter *
ingest_meter_receive(StringInfo buf)
{
	IngestMeter *meter = meter_create();
	MeterMessage message;

	pq_copymsgbytes(buf, (char *) &message, sizeof(message));
	memcpy(meter->phases, message.phases, sizeof(message.phases));
	meter->attributed = message.attributed;

	for (int i = 0; i < message.nrelations; i++)
	{
		WatchedRelation sent;
		WatchedRelation *relation;

		pq_copymsgbytes(buf, (char *) &sent, sizeof(sent));
		relation = add_relation(meter, sent.relid, sent.heapid, sent.kind);
		*relation = sent;
	}

	return meter;
}

/*
 * Add one relation's figures of another process.
 */
static void
merge_relation(IngestMeter *total, const WatchedRelation *part)
{
	static const WalUsage no_wal;
	WatchedRelation *relation = find_relation(total, part->relid);

	if (relation == NULL)
	{
		relation = add_relation(total, part->relid, part->heapid, part->kind);
		if (total->live)
			pending_requests(relation->relid,
							 &relation->last_fetched, &relation->last_hit);
	}

	relation->requests_known &= part->requests_known;
	relation->fetched += part->fetched;
	relation->hit += part->hit;
	relation->dirtied += part->dirtied;
	relation->written += part->written;
	WalUsageAccumDiff(&relation->wal, &part->wal, &no_wal);
	if (part->note != 0)
		relation->note = part->note;
}

/*
 * Add another process's figures, phase by phase and relation by relation.
 * Elapsed times become process times.
 */
void
ingest_meter_merge(IngestMeter *total, const IngestMeter *part)
{
	ListCell   *lc;

	Assert(!part->live);

	for (int i = 0; i < INGEST_NPHASES; i++)
		ingest_usage_add(&total->phases[i], &part->phases[i]);

	total->attributed |= part->attributed;
	foreach(lc, part->relations)
		merge_relation(total, lfirst(lc));
}

void
ingest_meter_move(IngestMeter *meter, Oid from, Oid to, Oid oid)
{
	WatchedRelation *source = find_relation(meter, from);
	WatchedRelation *relation = find_relation(meter, to);
	WatchedRelation part;
	bool		found;

	if (source == NULL || relation == NULL)
		return;
	book_relation_requests(source);
	book_relation_requests(relation);
	part = *source;
	part.relid = to;
	if (relation->note != 0)
		part.note = 0;
	merge_relation(meter, &part);

	/* the other entry goes by the other OID, of which no more is to come */
	source->fetched = source->hit = source->dirtied = source->written = 0;
	source->wal = (WalUsage) {0};
	source->note = 0;
	if (oid == from)
	{
		source->relid = to;
		relation->relid = from;
		watch_insert(meter->index, from, &found)->relation = relation;
		watch_insert(meter->index, to, &found)->relation = source;
	}
	pending_requests(source->relid, &source->last_fetched, &source->last_hit);
	pending_requests(relation->relid, &relation->last_fetched,
					 &relation->last_hit);
}
