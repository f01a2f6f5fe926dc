/*-------------------------------------------------------------------------
 *
 * route.c
 *		Executor state of a load, and the way of a row to its leaf partition.
 *
 * The server's executor does all of the work: ExecInitResultRelation() opens
 * the target, ExecFindPartition() finds and opens leaves.  What is here is
 * the set-up that CopyFrom() (src/backend/commands/copyfrom.c) gives them:
 * a range table of one entry, whose inserted columns decide how much of a row
 * an error message may show, and a ModifyTableState without a plan, which
 * foreign-data wrappers take for the sign of COPY.
 *
 * Memory and resources: the route and its EState live in the memory context
 * that is current at ingest_route_begin(); relations are opened under the
 * resource owner that is current when they are first needed.  A leaf, once
 * opened, stays open until the route is finished.  After an error nothing
 * needs to be done: the end of the (sub)transaction releases everything.
 *
 * Locks: RowExclusiveLock on each leaf that receives a row, taken by
 * ExecFindPartition() and kept to the end of the transaction.
 *
 * IDENTIFICATION
 *		src/route.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tupconvert.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "storage/lockdefs.h"

#include "compat.h"
#include "route.h"

struct IngestRoute
{
	EState	   *estate;
	ResultRelInfo *target;
	ModifyTableState *mtstate;
	PartitionTupleRouting *routing; /* NULL unless target is partitioned */
};

ParseState *
ingest_route_parsestate(Relation target, LOCKMODE lockmode, List *attnums)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *nsitem;
	Bitmapset **inserted;
	ListCell   *lc;

	nsitem = addRangeTableEntryForRelation(pstate, target, lockmode, NULL,
										   false, false);
	*ParseNamespaceItemRequiredPerms(nsitem) = ACL_INSERT;
	inserted = ParseNamespaceItemInsertedCols(nsitem);
	foreach(lc, attnums)
		*inserted = bms_add_member(*inserted, lfirst_int(lc) -
								   FirstLowInvalidHeapAttributeNumber);
	return pstate;
}

/*
 * Give the executor its range table: the target alone, as relation 1.
 */
static void
init_range_table(EState *estate, Relation target, List *attnums)
{
	ParseState *pstate = ingest_route_parsestate(target, RowExclusiveLock,
												 attnums);

	ExecInitRangeTableCompat(estate, pstate->p_rtable,
							 ParseStatePermInfos(pstate),
							 bms_make_singleton(1));
}

/*
 * Open the target and its indexes.
 */
IngestRoute *
ingest_route_begin(Relation target, List *attnums, bool indexes)
{
	IngestRoute *route = palloc0(sizeof(IngestRoute));
	EState	   *estate = CreateExecutorState();
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	ResultRelInfo *rri = makeNode(ResultRelInfo);
	ModifyTableState *mtstate = makeNode(ModifyTableState);

	init_range_table(estate, target, attnums);
	ExecInitResultRelation(estate, rri, 1);
	CheckValidResultRelCompat(rri, CMD_INSERT, ONCONFLICT_NONE, NIL);
	if (indexes)
		ExecOpenIndices(rri, false);

	mtstate->ps.plan = NULL;
	mtstate->ps.state = estate;
	mtstate->operation = CMD_INSERT;
	mtstate->mt_nrels = 1;
	mtstate->resultRelInfo = rri;
	mtstate->rootResultRelInfo = rri;

	if (rri->ri_FdwRoutine != NULL &&
		rri->ri_FdwRoutine->BeginForeignInsert != NULL)
		rri->ri_FdwRoutine->BeginForeignInsert(mtstate, rri);

	route->estate = estate;
	route->target = rri;
	route->mtstate = mtstate;
	if (target->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		route->routing = ExecSetupPartitionTupleRouting(estate, target);

	MemoryContextSwitchTo(oldcontext);
	return route;
}

EState *
ingest_route_estate(const IngestRoute *route)
{
	return route->estate;
}

ResultRelInfo *
ingest_route_target(const IngestRoute *route)
{
	return route->target;
}

bool
ingest_route_partitioned(const IngestRoute *route)
{
	return route->routing != NULL;
}

/*
 * The executor looks for the capture state in the ModifyTableState when it
 * opens a leaf.
 */
void
ingest_route_set_capture(IngestRoute *route, TransitionCaptureState *capture)
{
	route->mtstate->mt_transition_capture = capture;
}

/*
 * Find the leaf of a row, and open it if this is its first row.
 *
 * The caller runs in a memory context that lives as long as the route.
 */
ResultRelInfo *
ingest_route_leaf(IngestRoute *route, TupleTableSlot *slot)
{
	if (route->routing == NULL)
		return route->target;

	return ExecFindPartition(route->mtstate, route->target, route->routing,
							 slot, route->estate);
}

/*
 * Turn a row of the target into a row of one of its leaves.
 */
TupleTableSlot *
ingest_route_convert(IngestRoute *route, ResultRelInfo *leaf,
					 TupleTableSlot *slot, TupleTableSlot *into)
{
	TupleConversionMap *map = ExecGetRootToChildMap(leaf, route->estate);

	if (map != NULL)
		slot = execute_attr_map_slot(map->attrMap, slot,
									 into ? into : leaf->ri_PartitionTupleSlot);
	else if (into != NULL)
		slot = ExecCopySlot(into, slot);

	slot->tts_tableOid = RelationGetRelid(leaf->ri_RelationDesc);
	return slot;
}

/* As TriggerEnabled() in commands/trigger.c. */
bool
ingest_route_trigger_enabled(const Trigger *trigger)
{
	if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
		return trigger->tgenabled == TRIGGER_FIRES_ALWAYS ||
			trigger->tgenabled == TRIGGER_FIRES_ON_REPLICA;
	return trigger->tgenabled == TRIGGER_FIRES_ALWAYS ||
		trigger->tgenabled == TRIGGER_FIRES_ON_ORIGIN;
}

/*
 * Close everything and free the route.  The relations stay locked.
 *
 * The caller has dropped its own slots and has handled the queued triggers.
 */
void
ingest_route_finish(IngestRoute *route)
{
	EState	   *estate = route->estate;
	ResultRelInfo *target = route->target;

	ExecResetTupleTable(estate->es_tupleTable, false);

	if (target->ri_FdwRoutine != NULL &&
		target->ri_FdwRoutine->EndForeignInsert != NULL)
		target->ri_FdwRoutine->EndForeignInsert(estate, target);

	if (route->routing != NULL)
		ExecCleanupTupleRouting(route->mtstate, route->routing);

	/* these also close the relations of triggers */
	ExecCloseResultRelations(estate);
	ExecCloseRangeTableRelations(estate);

	FreeExecutorState(estate);
	pfree(route);
}
