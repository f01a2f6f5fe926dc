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

/* Counters of one process; a snapshot or a difference of two. */
typedef struct IngestUsage
{
	int64		elapsed_us;
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
 */
typedef struct IngestRelationUsage
{
	Oid			relid;
	IngestRelationKind kind;
	int64		blks_hit;		/* page requests found in shared buffers */
	int64		blks_read;
	int64		blks_dirtied;
	int64		blks_written;
	int64		wal_records;	/* records that touch the relation */
	int64		wal_fpi;
	int64		wal_bytes;
	int64		page_updates;	/* block references in those records */
} IngestRelationUsage;

typedef struct IngestMeter IngestMeter;

/* in usage.c */
extern void ingest_usage_snapshot(IngestUsage *usage);
extern void ingest_usage_add(IngestUsage *total, const IngestUsage *part);
extern void ingest_usage_add_diff(IngestUsage *total, const IngestUsage *end,
								  const IngestUsage *start);
extern const char *ingest_phase_name(IngestPhase phase);

/* A meter starts in INGEST_PHASE_SETUP, running. */
extern IngestMeter *ingest_meter_begin(void);
extern void ingest_meter_phase(IngestMeter *meter, IngestPhase phase);
extern void ingest_meter_stop(IngestMeter *meter);
extern const IngestUsage *ingest_meter_usage(const IngestMeter *meter,
											 IngestPhase phase);
extern void ingest_meter_total(const IngestMeter *meter, IngestUsage *total);

/*
 * Watch relations: remember where the server's per-relation counters of this
 * process stand for the target, its partitions, their indexes and TOAST
 * tables.  ingest_meter_relations() returns the differences as a palloc'd
 * list of IngestRelationUsage.
 */
extern void ingest_meter_watch(IngestMeter *meter, Relation target);
extern List *ingest_meter_relations(IngestMeter *meter);

/*
 * Exact attribution by code that works on one relation at a time: what is
 * counted between enter and leave belongs to relid.  Cheap enough for every
 * row.  Where used, it supplies the figures that the server does not keep
 * per relation.
 */
extern void ingest_meter_enter(IngestMeter *meter);
extern void ingest_meter_leave(IngestMeter *meter, Oid relid);

/* A meter's figures as bytes, and several processes' figures as one. */
extern void ingest_meter_send(IngestMeter *meter, StringInfo buf);
extern IngestMeter *ingest_meter_receive(StringInfo buf);
extern void ingest_meter_merge(IngestMeter *total, const IngestMeter *part);

#endif							/* INGEST_USAGE_H */
