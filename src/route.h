/*-------------------------------------------------------------------------
 *
 * route.h
 *		A row's way to the table it is stored in.
 *
 * A route is the executor state of one load into one target: it opens the
 * target and, as rows arrive for them, its leaf partitions, each as a
 * ResultRelInfo with its indexes and triggers.
 *
 * IDENTIFICATION
 *		src/route.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_ROUTE_H
#define INGEST_ROUTE_H

#include "postgres.h"

#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "parser/parse_node.h"
#include "utils/rel.h"

typedef struct IngestRoute IngestRoute;

/* in route.c */

/*
 * The caller holds the target open with RowExclusiveLock until the route is
 * finished.  attnums are the columns that the source supplies; indexes says
 * whether the target's own are opened, which the executor's functions for
 * index entries need.  Raises an error if the target cannot take rows.
 */
extern IngestRoute *ingest_route_begin(Relation target, List *attnums,
									   bool indexes);

/*
 * A parse state that knows the target alone, which is locked with lockmode,
 * with attnums as the columns that are inserted, as DoCopy() makes one.
 */
extern ParseState *ingest_route_parsestate(Relation target, LOCKMODE lockmode,
										   List *attnums);

extern EState *ingest_route_estate(const IngestRoute *route);
extern ResultRelInfo *ingest_route_target(const IngestRoute *route);
extern bool ingest_route_partitioned(const IngestRoute *route);

/* Leaves opened from now on must be fit to feed these transition tables. */
extern void ingest_route_set_capture(IngestRoute *route,
									 TransitionCaptureState *capture);

/*
 * The leaf that a row of the target belongs to; the target itself if it is
 * not partitioned.  Raises COPY's error if there is none.
 */
extern ResultRelInfo *ingest_route_leaf(IngestRoute *route,
										TupleTableSlot *slot);

/*
 * A row of the target as a row of the leaf, ready for its triggers and
 * constraints.  If into is given the row is put there, in any case; else it
 * stays in slot unless the leaf's columns stand in another order.  Values are
 * not copied out of the memory they are in.
 */
extern TupleTableSlot *ingest_route_convert(IngestRoute *route,
											ResultRelInfo *leaf,
											TupleTableSlot *slot,
											TupleTableSlot *into);

/*
 * Would a trigger fire in this session, as far as ENABLE and DISABLE TRIGGER
 * and session_replication_role have a say?
 */
extern bool ingest_route_trigger_enabled(const Trigger *trigger);

extern void ingest_route_finish(IngestRoute *route);

#endif							/* INGEST_ROUTE_H */
