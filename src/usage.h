/*-------------------------------------------------------------------------
 *
 * usage.h
 *		What work costs: counters of this process, as differences.
 *
 * A meter stands in one phase at a time; moving it to another phase takes one
 * snapshot of the server's counters and books the difference with the last
 * one to the phase that ends.  The sum over the phases is therefore the whole
 * cost, with nothing counted twice and nothing left out.  Nothing is ever
 * reset: other users of the same counters (EXPLAIN, pg_stat_statements) are
 * not disturbed.
 *
 * A move costs about a microsecond (getrusage); move per batch, not per row.
 *
 * What the figures include: the work of this process, and the buffers and
 * WAL (not the CPU) of parallel workers the server started for it, which the
 * server adds to the leader's counters.  A program that COPY reads from is
 * not included.
 *
 * IDENTIFICATION
 *		src/usage.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_USAGE_H
#define INGEST_USAGE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "executor/instrument.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

typedef enum IngestPhase
{
	INGEST_PHASE_SETUP,			/* open the target, plan */
	INGEST_PHASE_READ,			/* bytes in, and split into fields */
	INGEST_PHASE_CONVERT,		/* fields to typed values */
	INGEST_PHASE_WRITE,			/* rows into tables (statements: execution) */
	INGEST_PHASE_INDEX,			/* keys into indexes, where we do it apart */
	INGEST_PHASE_TRIGGER,		/* AFTER triggers and foreign keys */
	INGEST_PHASE_COMMIT,
	INGEST_NPHASES
} IngestPhase;

/*
 * Counters of one process; a snapshot or a difference of two, or a sum of
 * such differences.  Everything adds up over processes but elapsed time,
 * whose sum is process time: three processes spend three seconds in one
 * second of the clock.
 */
typedef struct IngestUsage
{
	int64		elapsed_us;		/* in a snapshot, since an unspecified moment */
	int64		cpu_user_us;
	int64		cpu_system_us;
	WalUsage	wal;
	BufferUsage buffers;
} IngestUsage;

/* What kind of storage a per-relation figure belongs to. */
typedef enum IngestRelationKind
{
	INGEST_RELATION_HEAP,
	INGEST_RELATION_INDEX,
	INGEST_RELATION_TOAST,
	INGEST_RELATION_TOAST_INDEX,
} IngestRelationKind;

/*
 * Work on one relation.  A figure that cannot be had is -1 and becomes NULL
 * in a report.
 *
 * Hits and reads are the server's own counts, those pg_statio_all_tables
 * shows: requests for pages of the relation, whoever in this process made
 * them and why.  Up to PostgreSQL 15 the server counts a page that is added
 * to the relation as read, though pg_stat_statements counts it as written; so
 * do we then.
 *
 * Dirtied and written pages are not kept per relation by the server.  They
 * come from enter and leave, see there, and are -1 where these are not used.
 *
 * WAL figures come from reading the WAL (usage_wal.h); until that has been
 * done, from enter and leave like dirtied pages.
 */
typedef struct IngestRelationUsage
{
	Oid			relid;
	IngestRelationKind kind;
	int64		blks_hit;		/* page requests found in shared buffers */
	int64		blks_read;		/* page requests not found there */
	int64		blks_dirtied;
	int64		blks_written;
	int64		wal_records;	/* records that touch the relation */
	int64		wal_fpi;
	int64		wal_bytes;
	int64		page_updates;	/* block references in those records */
	int			note;			/* from ingest_meter_note(), or 0 */
} IngestRelationUsage;

typedef struct IngestMeter IngestMeter;

/* in usage.c */
extern void ingest_usage_snapshot(IngestUsage *usage);
extern void ingest_usage_add(IngestUsage *total, const IngestUsage *part);
extern void ingest_usage_add_diff(IngestUsage *total, const IngestUsage *end,
								  const IngestUsage *start);
extern const char *ingest_phase_name(IngestPhase phase);

/*
 * A meter starts in INGEST_PHASE_SETUP, running.  It lives in the memory
 * context that is current at its beginning.  After a stop,
 * ingest_meter_phase() starts it again; what happens in between is not
 * counted.  It returns the phase it leaves.
 */
extern IngestMeter *ingest_meter_begin(void);
extern IngestPhase ingest_meter_phase(IngestMeter *meter, IngestPhase phase);
extern void ingest_meter_stop(IngestMeter *meter);
extern const IngestUsage *ingest_meter_usage(const IngestMeter *meter,
											 IngestPhase phase);
extern void ingest_meter_total(const IngestMeter *meter, IngestUsage *total);

/*
 * Watch relations: remember where the server's per-relation counters of this
 * process stand for the target, its partitions, their indexes and TOAST
 * tables.  ingest_meter_relations() returns the differences as a palloc'd
 * list of IngestRelationUsage, each table followed by its TOAST table and
 * indexes; a relation that is not watched (a partition created later) is not
 * in it.
 *
 * The server hands its per-relation counters over to shared memory, and
 * starts again from zero, between two commands of a client.  A watch must end
 * (with ingest_meter_relations, _send or _merge) before that, and a background
 * session must not call pgstat_report_stat() meanwhile.  Hits and reads are -1
 * if this is seen to be violated, or while track_counts is off.
 */
extern void ingest_meter_watch(IngestMeter *meter, Relation target);
extern List *ingest_meter_relations(IngestMeter *meter);

/*
 * Exact attribution by code that works on one relation at a time: pages
 * dirtied and written, and WAL, between enter and leave belong to the work on
 * relid.  (A page that is written meanwhile to make room may be any
 * relation's, and checking for a duplicate key may dirty a heap page.)  Cheap
 * enough for every row: no system call, a few nanoseconds.
 *
 * Pairs do not nest.  An enter that an error kept from its leave is forgotten
 * at the next one.  Once a meter has seen a leave, relations without one are
 * taken to have been spared: 0, not -1.
 *
 * The table access method writes into TOAST tables by itself, in the middle
 * of the work on the heap.  If the server's counters say that a TOAST table
 * was used, the figures from enter and leave of its heap and of itself cannot
 * be told apart and are -1.
 */
extern void ingest_meter_enter(IngestMeter *meter);
extern void ingest_meter_leave(IngestMeter *meter, Oid relid);

/*
 * Remember a number for a watched relation.  It is never 0, and means what
 * those who know the relation's kind take it for (index.h).
 */
extern void ingest_meter_note(IngestMeter *meter, Oid relid, int note);

/*
 * What has been booked to relation from was work on relation to, whose
 * storage it was to become: book it there.  Both are watched.  From now on
 * the relation is known by the OID oid, which is one of the two.
 */
extern void ingest_meter_move(IngestMeter *meter, Oid from, Oid to, Oid oid);

/*
 * A meter's figures as bytes, and several processes' figures as one.  Both
 * sides must run the same library on the same server.  What is received does
 * not run: it is there to be merged and read.
 */
extern void ingest_meter_send(IngestMeter *meter, StringInfo buf);
extern IngestMeter *ingest_meter_receive(StringInfo buf);
extern void ingest_meter_merge(IngestMeter *total, const IngestMeter *part);

#endif							/* INGEST_USAGE_H */
