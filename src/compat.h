/*-------------------------------------------------------------------------
 *
 * compat.h
 *		The only place that knows which server version is being built.
 *
 * Rules: every test of PG_VERSION_NUM in the tree is in this file (the lint
 * script test/lint/versions enforces it); each wrapper has the signature of
 * the newest server and the suffix "Compat" only where an existing name
 * changes meaning; wrappers are in alphabetical order.
 *
 * IDENTIFICATION
 *		src/compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_COMPAT_H
#define INGEST_COMPAT_H

#include "postgres.h"

#include <fcntl.h>

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/tupdesc.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xlogreader.h"
#if PG_VERSION_NUM >= 190000
#include "commands/repack.h"
#else
#include "commands/cluster.h"
#endif
#include "commands/copy.h"
#include "catalog/pg_constraint.h"
#include "catalog/index.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "common/relpath.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "parser/parse_node.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#if PG_VERSION_NUM >= 180000
#include "storage/aio_subsys.h"
#endif
#include "storage/buffile.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/smgr.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 180000
#include "utils/wait_classes.h"
#endif

#if PG_VERSION_NUM < 150000
#error "ingest_tools needs PostgreSQL 15 or later"
#endif

/*
 * SetAuthenticatedUserId() came with the fix of CVE-2024-10978.  The minor
 * releases that had it first broke the ABI of extensions, too.
 */
#if (PG_VERSION_NUM < 150010) || \
	(PG_VERSION_NUM >= 160000 && PG_VERSION_NUM < 160006) || \
	(PG_VERSION_NUM >= 170000 && PG_VERSION_NUM < 170002)
#error "ingest_tools needs PostgreSQL 15.10, 16.6, 17.2 or a later minor release"
#endif

/*
 * Abort what input and output of shared buffers is going on: from 16 on the
 * resource owner does it, but for what asynchronous I/O, from 18, has left.
 */
static inline void
AbortBufferIOCompat(void)
{
#if PG_VERSION_NUM >= 180000
	pgaio_error_cleanup();
#elif PG_VERSION_NUM < 160000
	AbortBufferIO();
#endif
}

/* BGWORKER_BYPASS_ROLELOGINCHECK: from 17. */
#if PG_VERSION_NUM < 170000
#define BGWORKER_BYPASS_ROLELOGINCHECK 0
#endif

/* CHECKPOINT_FAST: so called from 19. */
#if PG_VERSION_NUM < 190000
#define CHECKPOINT_FAST CHECKPOINT_IMMEDIATE
#endif

/* CheckValidResultRel: mergeActions from 17, onConflictAction from 18. */
static inline void
CheckValidResultRelCompat(ResultRelInfo *resultRelInfo, CmdType operation,
						  OnConflictAction onConflictAction,
						  List *mergeActions)
{
#if PG_VERSION_NUM >= 180000
	CheckValidResultRel(resultRelInfo, operation, onConflictAction,
						mergeActions);
#elif PG_VERSION_NUM >= 170000
	(void) onConflictAction;
	CheckValidResultRel(resultRelInfo, operation, mergeActions);
#else
	(void) onConflictAction;
	(void) mergeActions;
	CheckValidResultRel(resultRelInfo, operation);
#endif
}

/* CopyFormatOptions: two flags until 18, format from 19. */
static inline bool
ingest_copy_is_csv(const CopyFormatOptions *options)
{
#if PG_VERSION_NUM >= 190000
	return options->format == COPY_FORMAT_CSV;
#else
	return options->csv_mode;
#endif
}

static inline bool
ingest_copy_is_binary(const CopyFormatOptions *options)
{
#if PG_VERSION_NUM >= 190000
	return options->format == COPY_FORMAT_BINARY;
#else
	return options->binary;
#endif
}

/* current_role_is_superuser: so called from 17. */
#if PG_VERSION_NUM < 170000
#define current_role_is_superuser session_auth_is_superuser
#endif

/* DomainHasConstraints: has_volatile from 19. */
static inline bool
DomainHasConstraintsCompat(Oid type_id)
{
#if PG_VERSION_NUM >= 190000
	bool		has_volatile;

	return DomainHasConstraints(type_id, &has_volatile);
#else
	return DomainHasConstraints(type_id);
#endif
}

/* ExecGetRootToChildMap: from 16; before, a field set up with the partition. */
#if PG_VERSION_NUM < 160000
static inline TupleConversionMap *
ExecGetRootToChildMap(ResultRelInfo *resultRelInfo, EState *estate)
{
	(void) estate;
	return resultRelInfo->ri_RootToPartitionMap;
}
#endif

/* ExecCheckPermissions: from 16; before, ExecCheckRTPerms. */
static inline bool
ExecCheckPermissionsCompat(List *rangeTable, List *rteperminfos,
						   bool ereport_on_violation)
{
#if PG_VERSION_NUM >= 160000
	return ExecCheckPermissions(rangeTable, rteperminfos,
								ereport_on_violation);
#else
	(void) rteperminfos;
	return ExecCheckRTPerms(rangeTable, ereport_on_violation);
#endif
}

/* ExecInitRangeTable: permInfos from 16, unpruned_relids from 18. */
static inline void
ExecInitRangeTableCompat(EState *estate, List *rangeTable, List *permInfos,
						 Bitmapset *unpruned_relids)
{
#if PG_VERSION_NUM >= 180000
	ExecInitRangeTable(estate, rangeTable, permInfos, unpruned_relids);
#elif PG_VERSION_NUM >= 160000
	(void) unpruned_relids;
	ExecInitRangeTable(estate, rangeTable, permInfos);
#else
	(void) permInfos;
	(void) unpruned_relids;
	ExecInitRangeTable(estate, rangeTable);
#endif
}

/* ExecInsertIndexTuples: onlySummarizing from 16; flags from 19. */
static inline List *
ExecInsertIndexTuplesCompat(ResultRelInfo *resultRelInfo,
							TupleTableSlot *slot, EState *estate,
							bool update, bool noDupErr, bool *specConflict,
							List *arbiterIndexes, bool onlySummarizing)
{
#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(resultRelInfo, estate,
								 (update ? EIIT_IS_UPDATE : 0) |
								 (noDupErr ? EIIT_NO_DUPE_ERROR : 0) |
								 (onlySummarizing ? EIIT_ONLY_SUMMARIZING : 0),
								 slot, arbiterIndexes, specConflict);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(resultRelInfo, slot, estate, update, noDupErr,
								 specConflict, arbiterIndexes, onlySummarizing);
#else
	(void) onlySummarizing;
	return ExecInsertIndexTuples(resultRelInfo, slot, estate, update, noDupErr,
								 specConflict, arbiterIndexes);
#endif
}

/*
 * Time this process spent on reading and writing blocks of shared and local
 * buffers, in milliseconds: one counter for both until 16.
 */
static inline double
ingest_buffer_read_ms(const BufferUsage *usage)
{
#if PG_VERSION_NUM >= 170000
	return INSTR_TIME_GET_MILLISEC(usage->shared_blk_read_time) +
		INSTR_TIME_GET_MILLISEC(usage->local_blk_read_time);
#else
	return INSTR_TIME_GET_MILLISEC(usage->blk_read_time);
#endif
}

static inline double
ingest_buffer_write_ms(const BufferUsage *usage)
{
#if PG_VERSION_NUM >= 170000
	return INSTR_TIME_GET_MILLISEC(usage->shared_blk_write_time) +
		INSTR_TIME_GET_MILLISEC(usage->local_blk_write_time);
#else
	return INSTR_TIME_GET_MILLISEC(usage->blk_write_time);
#endif
}

/* FOREIGN KEY ... PERIOD: from 18. */
static inline bool
ingest_constraint_has_period(Form_pg_constraint constraint)
{
#if PG_VERSION_NUM >= 180000
	return constraint->conperiod;
#else
	(void) constraint;
	return false;
#endif
}

/*
 * The right to read a server file or run a program: the error of COPY, with
 * the reason in a detail from 16 on.
 */
#if PG_VERSION_NUM >= 160000
#define ingest_copy_denied_message(old_text, new_text, may, role) \
	(errmsg(new_text), \
	 errdetail("Only roles with privileges of the \"%s\" role may %s.", role, may))
#else
#define ingest_copy_denied_message(old_text, new_text, may, role) \
	(errmsg(old_text))
#endif

/* COPY's DEFAULT option: from 16; NULL if not given. */
static inline const char *
ingest_copy_default_marker(const CopyFormatOptions *format)
{
#if PG_VERSION_NUM >= 160000
	return format->default_print;
#else
	(void) format;
	return NULL;
#endif
}

/* Does a line that holds only "\." end CSV data?  Until 17. */
#define INGEST_COPY_CSV_END_MARKER	(PG_VERSION_NUM < 180000)

/* COPY's FORCE_NOT_NULL * and FORCE_NULL *: from 17. */
static inline bool
ingest_copy_force_not_null_all(const CopyFormatOptions *format)
{
#if PG_VERSION_NUM >= 170000
	return format->force_notnull_all;
#else
	(void) format;
	return false;
#endif
}

static inline bool
ingest_copy_force_null_all(const CopyFormatOptions *format)
{
#if PG_VERSION_NUM >= 170000
	return format->force_null_all;
#else
	(void) format;
	return false;
#endif
}

/* COPY's ON_ERROR option other than "stop": from 17. */
static inline bool
ingest_copy_ignores_errors(const CopyFormatOptions *format)
{
#if PG_VERSION_NUM >= 170000
	return format->on_error != COPY_ON_ERROR_STOP;
#else
	(void) format;
	return false;
#endif
}

/*
 * Page requests in this process's pending statistics of a relation; returns
 * false if it has none.  find_tabstat_entry() returns the entry itself until
 * 15, a palloc'd copy from 16 on, and the fields lost their prefix.
 */
static inline bool
ingest_pending_blocks(Oid relid, int64 *fetched, int64 *hit)
{
	PgStat_TableStatus *entry = find_tabstat_entry(relid);

	if (entry == NULL)
		return false;
#if PG_VERSION_NUM >= 160000
	*fetched = entry->counts.blocks_fetched;
	*hit = entry->counts.blocks_hit;
	pfree(entry);
#else
	*fetched = entry->t_counts.t_blocks_fetched;
	*hit = entry->t_counts.t_blocks_hit;
#endif
	return true;
}

/*
 * WAL writes and syncs of the whole server and their microseconds, from the
 * caller's statistics snapshot.  Until 17 they are in the WAL statistics, from
 * 18 on in the I/O statistics.  These also count the initialization of new
 * segments, in a context of its own, which is left out.
 */
static inline void
ingest_wal_io_counts(int64 *writes, int64 *syncs,
					 int64 *write_us, int64 *sync_us)
{
#if PG_VERSION_NUM >= 180000
	PgStat_IO  *io = pgstat_fetch_stat_io();

	*writes = *syncs = *write_us = *sync_us = 0;
	for (int i = 0; i < BACKEND_NUM_TYPES; i++)
	{
		PgStat_BktypeIO *stats = &io->stats[i];

		*writes += stats->counts[IOOBJECT_WAL][IOCONTEXT_NORMAL][IOOP_WRITE];
		*syncs += stats->counts[IOOBJECT_WAL][IOCONTEXT_NORMAL][IOOP_FSYNC];
		*write_us += stats->times[IOOBJECT_WAL][IOCONTEXT_NORMAL][IOOP_WRITE];
		*sync_us += stats->times[IOOBJECT_WAL][IOCONTEXT_NORMAL][IOOP_FSYNC];
	}
#else
	PgStat_WalStats *stats = pgstat_fetch_stat_wal();

	*writes = stats->wal_write;
	*syncs = stats->wal_sync;
	*write_us = stats->wal_write_time;
	*sync_us = stats->wal_sync_time;
#endif
}

/* PG_MODULE_MAGIC_EXT: from 18. */
#if PG_VERSION_NUM >= 180000
#define INGEST_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "ingest_tools", .version = INGEST_VERSION)
#else
#define INGEST_MODULE_MAGIC PG_MODULE_MAGIC
#endif

/*
 * object_aclcheck: from 16; before, one function per kind of object.  Extend
 * with the kinds that are needed.
 */
#if PG_VERSION_NUM < 160000
static inline AclResult
object_aclcheck(Oid classid, Oid objectid, Oid roleid, AclMode mode)
{
	if (classid != NamespaceRelationId)
		elog(ERROR, "unsupported object class %u", classid);
	return pg_namespace_aclcheck(objectid, roleid, mode);
}
#endif

/* Where a range table entry keeps the rights needed: apart from 16 on. */
static inline AclMode *
ParseNamespaceItemRequiredPerms(ParseNamespaceItem *nsitem)
{
#if PG_VERSION_NUM >= 160000
	return &nsitem->p_perminfo->requiredPerms;
#else
	return &nsitem->p_rte->requiredPerms;
#endif
}

/* Where a range table entry keeps the columns inserted: apart from 16 on. */
static inline Bitmapset **
ParseNamespaceItemInsertedCols(ParseNamespaceItem *nsitem)
{
#if PG_VERSION_NUM >= 160000
	return &nsitem->p_perminfo->insertedCols;
#else
	return &nsitem->p_rte->insertedCols;
#endif
}

/* ParseState.p_rteperminfos: from 16. */
static inline List *
ParseStatePermInfos(ParseState *pstate)
{
#if PG_VERSION_NUM >= 160000
	return pstate->p_rteperminfos;
#else
	(void) pstate;
	return NIL;
#endif
}

/* pg_noreturn: from 18, in front of the declaration. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* pgstat_get_local_beentry_by_index: under another name until 15. */
#if PG_VERSION_NUM < 160000
#define pgstat_get_local_beentry_by_index(idx) \
	pgstat_fetch_stat_local_beentry(idx)
#endif

/* object_ownercheck: from 16; before, one function per kind of object. */
#if PG_VERSION_NUM < 160000
#define object_ownercheck(classid, objectid, roleid) \
	(AssertMacro((classid) == RelationRelationId), \
	 pg_class_ownercheck(objectid, roleid))
#endif

/* RelationSetNewRelfilenumber: under another name until 15. */
#if PG_VERSION_NUM < 160000
#define RelationSetNewRelfilenumber(rel, persistence) \
	RelationSetNewRelfilenode(rel, persistence)
#endif

/* The same for reindex_relation. */
#if PG_VERSION_NUM < 170000
#define reindex_relationCompat(relid, flags, params) \
	reindex_relation(relid, flags, params)
#else
#define reindex_relationCompat(relid, flags, params) \
	reindex_relation(NULL, relid, flags, params)
#endif

/* reindex_index: from 17 it takes the statement, for event triggers. */
#if PG_VERSION_NUM < 170000
#define reindex_indexCompat(indexid, skip, persistence, params) \
	reindex_index(indexid, skip, persistence, params)
#else
#define reindex_indexCompat(indexid, skip, persistence, params) \
	reindex_index(NULL, indexid, skip, persistence, params)
#endif

/* Relation identity fields: "filenode" became "filelocator" in 16. */
#if PG_VERSION_NUM < 160000
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define rd_locator rd_node
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#define RelationAssumeNewRelfilelocator(rel) RelationAssumeNewRelfilenode(rel)
#endif

/* RelFileLocator: called RelFileNode until 15, with other field names. */
#if PG_VERSION_NUM < 160000
#include "storage/relfilenode.h"
typedef RelFileNode RelFileLocator;
#define RelFileLocatorEquals(a, b) RelFileNodeEquals(a, b)
#else
#include "storage/relfilelocator.h"
#endif

static inline RelFileLocator
RelFileLocatorMake(Oid spcOid, Oid dbOid, Oid relNumber)
{
	RelFileLocator locator;

#if PG_VERSION_NUM >= 160000
	locator.spcOid = spcOid;
	locator.dbOid = dbOid;
	locator.relNumber = relNumber;
#else
	locator.spcNode = spcOid;
	locator.dbNode = dbOid;
	locator.relNode = relNumber;
#endif
	return locator;
}

/*
 * SetAuthenticatedUserId: is_superuser until 16.  Minor releases older than
 * November 2024 (CVE-2024-10978) have no such function.
 */
static inline void
SetAuthenticatedUserIdCompat(Oid userid, bool is_superuser)
{
#if PG_VERSION_NUM >= 170000
	(void) is_superuser;
	SetAuthenticatedUserId(userid);
#else
	SetAuthenticatedUserId(userid, is_superuser);
#endif
}

/* WAIT_EVENT_MESSAGE_QUEUE_RECEIVE: abbreviated until 16. */
#if PG_VERSION_NUM < 170000
#define WAIT_EVENT_MESSAGE_QUEUE_RECEIVE WAIT_EVENT_MQ_RECEIVE
#endif

/* _bt_dedup_pass: without the heap from 16 on; never for a bottom-up pass. */
#if PG_VERSION_NUM < 160000
#define _bt_dedup_passCompat(rel, buf, heaprel, newitem, newitemsz) \
	_bt_dedup_pass(rel, buf, heaprel, newitem, newitemsz, false)
#else
#define _bt_dedup_passCompat(rel, buf, heaprel, newitem, newitemsz) \
	_bt_dedup_pass(rel, buf, newitem, newitemsz, false)
#endif

/* _bt_allocbuf: from 16; before, a special block number. */
#if PG_VERSION_NUM < 160000
static inline Buffer
_bt_allocbuf(Relation rel, Relation heaprel)
{
	(void) heaprel;
	return _bt_getbuf(rel, P_NEW, BT_WRITE);
}
#endif

/* _bt_finish_split: heaprel from 16. */
static inline void
_bt_finish_splitCompat(Relation rel, Relation heaprel, Buffer lbuf,
					   BTStack stack)
{
#if PG_VERSION_NUM >= 160000
	_bt_finish_split(rel, heaprel, lbuf, stack);
#else
	(void) heaprel;
	_bt_finish_split(rel, lbuf, stack);
#endif
}

/* _bt_freestack: until 18. */
#if PG_VERSION_NUM >= 190000
static inline void
_bt_freestack(BTStack stack)
{
	while (stack != NULL)
	{
		BTStack		parent = stack->bts_parent;

		pfree(stack);
		stack = parent;
	}
}
#endif

/* _bt_search: heaprel from 16, a snapshot until 16, returnstack from 19. */
static inline BTStack
_bt_searchCompat(Relation rel, Relation heaprel, BTScanInsert key,
				 Buffer *bufP, int access)
{
#if PG_VERSION_NUM >= 190000
	return _bt_search(rel, heaprel, key, bufP, access, true);
#elif PG_VERSION_NUM >= 170000
	return _bt_search(rel, heaprel, key, bufP, access);
#elif PG_VERSION_NUM >= 160000
	return _bt_search(rel, heaprel, key, bufP, access, NULL);
#else
	(void) heaprel;
	return _bt_search(rel, key, bufP, access, NULL);
#endif
}

/* BufFileReadExact: from 16. */
#if PG_VERSION_NUM < 160000
static inline void
BufFileReadExact(BufFile *file, void *ptr, size_t size)
{
	if (BufFileRead(file, ptr, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}
#endif

/*
 * Add at most n pages to a relation's main fork.  Returns how many have been
 * added, zero, pinned and not locked: ExtendBufferedRelBy() from 16 on.
 *
 * Until 15 a server adds one page at a time and writes each as zeros.  Here
 * it is done in the order of ExtendBufferedRelShared() (bufmgr.c, 18) and by
 * the means of mdzeroextend() (md.c, 18): under the extension lock the pages
 * first get their buffers, beyond the end of the relation, locked; then the
 * file grows; then the locks are released.  So whoever sees the new length
 * finds the pages in shared buffers, and nobody can have used one and had it
 * evicted before we come to it.  If the file cannot grow, clean zero buffers
 * beyond its end are left, which ReadBuffer_common() is prepared for.
 */
#if PG_VERSION_NUM < 160000
/*
 * Have the file system allocate blocks, which are in one segment and within
 * or next to its end.  Returns false if it cannot do that.
 */
static inline bool
ingest_allocate_blocks(SMgrRelation smgr, BlockNumber block, uint32 n)
{
#ifdef HAVE_POSIX_FALLOCATE
	BlockNumber segment = block / RELSEG_SIZE;
	char	   *base = relpath(smgr->smgr_rnode, MAIN_FORKNUM);
	char	   *path = segment == 0 ? base : psprintf("%s.%u", base, segment);
	int			fd = OpenTransientFile(path, O_RDWR | PG_BINARY);
	int			result;

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_EXTEND);
	do
		result = posix_fallocate(fd, (off_t) (block % RELSEG_SIZE) * BLCKSZ,
								 (off_t) n * BLCKSZ);
	while (result == EINTR);
	pgstat_report_wait_end();
	CloseTransientFile(fd);
	if (result != 0 && result != EINVAL && result != EOPNOTSUPP)
	{
		errno = result;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not extend file \"%s\": %m", path),
				 errhint("Check free disk space.")));
	}
	if (path != base)
		pfree(path);
	pfree(base);
	return result == 0;
#else
	return false;
#endif
}

/*
 * Make the file longer by n blocks.  The first and the last one of a segment
 * are written through the storage manager, which creates the segment and has
 * the next checkpoint sync it.  As in mdzeroextend(), a few blocks are all
 * written, lest the file system's delayed allocation be defeated.
 */
static inline void
ingest_extend_file(SMgrRelation smgr, BlockNumber block, uint32 n)
{
	PGAlignedBlock zero;
	BlockNumber end = block + n;

	memset(&zero, 0, sizeof(zero));
	while (block < end)
	{
		BlockNumber last = Min(end, block - block % RELSEG_SIZE +
							   RELSEG_SIZE) - 1;

		smgrextend(smgr, MAIN_FORKNUM, block++, zero.data, false);
		if (last > block + 4 &&
			ingest_allocate_blocks(smgr, block, last - block))
			block = last;
		for (; block <= last; block++)
			smgrextend(smgr, MAIN_FORKNUM, block, zero.data, false);
	}
}
#endif

static inline uint32
ingest_extend_relation(Relation rel, BufferAccessStrategy strategy,
					   uint32 n, Buffer *buffers)
{
#if PG_VERSION_NUM >= 160000
	uint32		added = 0;

	ExtendBufferedRelBy(BMR_REL(rel), MAIN_FORKNUM, strategy, 0, n,
						buffers, &added);
	return added;
#else
	BlockNumber first;

	if (RelationUsesLocalBuffers(rel))
	{
		for (uint32 i = 0; i < n; i++)
			buffers[i] = ReadBufferExtended(rel, MAIN_FORKNUM, P_NEW,
											RBM_NORMAL, strategy);
		return n;
	}

	/* leave buffers to others, as LimitAdditionalPins() of 16 does */
	n = Max(1, Min(n, (uint32) (NBuffers / MaxBackends)));

	/* also for a table new in the transaction: workers do not know it is */
	LockRelationForExtension(rel, ExclusiveLock);
	first = smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM);
	if ((uint64) first + n >= MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot extend relation %s beyond %u blocks",
						RelationGetRelationName(rel), MaxBlockNumber)));
	for (uint32 i = 0; i < n; i++)
	{
		buffers[i] = ReadBufferExtended(rel, MAIN_FORKNUM, first + i,
										RBM_ZERO_AND_LOCK, strategy);
		if (!PageIsNew(BufferGetPage(buffers[i])))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("unexpected data beyond EOF in block %u of relation %s",
							first + i, RelationGetRelationName(rel))));
	}
	ingest_extend_file(RelationGetSmgr(rel), first, n);
	for (uint32 i = 0; i < n; i++)
		LockBuffer(buffers[i], BUFFER_LOCK_UNLOCK);
	UnlockRelationForExtension(rel, ExclusiveLock);
	pgBufferUsage.shared_blks_written += n;
	return n;
#endif
}

/* get_extension_schema: from 16. */
#if PG_VERSION_NUM < 160000
static inline Oid
get_extension_schema(Oid extension)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		result = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}
#endif

/* index_beginscan: instrument from 18. */
static inline IndexScanDesc
index_beginscanCompat(Relation heapRelation, Relation indexRelation,
					  Snapshot snapshot, int nkeys, int norderbys)
{
#if PG_VERSION_NUM >= 190000
	return index_beginscan(heapRelation, indexRelation, snapshot, NULL, nkeys,
						   norderbys, 0);
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(heapRelation, indexRelation, snapshot, NULL, nkeys,
						   norderbys);
#else
	return index_beginscan(heapRelation, indexRelation, snapshot, nkeys,
						   norderbys);
#endif
}

/* index_build: progress from 19. */
static inline void
index_buildCompat(Relation heap, Relation index, IndexInfo *info,
				  bool isreindex, bool parallel, bool progress)
{
#if PG_VERSION_NUM >= 190000
	index_build(heap, index, info, isreindex, parallel, progress);
#else
	(void) progress;
	index_build(heap, index, info, isreindex, parallel);
#endif
}

/* index_create_copy: from 19; before, only for REINDEX CONCURRENTLY. */
static inline Oid
index_create_copyCompat(Relation heapRelation, Oid oldIndexId,
						Oid tablespaceOid, const char *newName)
{
#if PG_VERSION_NUM >= 190000
	return index_create_copy(heapRelation,
							 INDEX_CREATE_SKIP_BUILD | INDEX_CREATE_CONCURRENT,
							 oldIndexId, tablespaceOid, newName);
#else
	return index_concurrently_create_copy(heapRelation, oldIndexId,
										  tablespaceOid, newName);
#endif
}

/* index_insert_cleanup: from 17. */
#if PG_VERSION_NUM < 170000
static inline void
index_insert_cleanup(Relation indexRelation, IndexInfo *indexInfo)
{
	(void) indexRelation;
	(void) indexInfo;
}
#endif

/* pg_plan_query: an ExplainState from 19. */
static inline PlannedStmt *
pg_plan_queryCompat(Query *querytree, const char *query_string,
					int cursorOptions, ParamListInfo boundParams)
{
#if PG_VERSION_NUM >= 190000
	return pg_plan_query(querytree, query_string, cursorOptions, boundParams,
						 NULL);
#else
	return pg_plan_query(querytree, query_string, cursorOptions, boundParams);
#endif
}

/* PrepareSortSupportFromIndexRel: a direction from 18, a strategy before. */
static inline void
PrepareSortSupportFromIndexRelCompat(Relation indexRel, bool reverse,
									 SortSupport ssup)
{
#if PG_VERSION_NUM >= 180000
	PrepareSortSupportFromIndexRel(indexRel, reverse, ssup);
#else
	PrepareSortSupportFromIndexRel(indexRel,
								   reverse ? BTGreaterStrategyNumber :
								   BTLessStrategyNumber, ssup);
#endif
}

/* table_beginscan_tidrange: flags from 19. */
static inline TableScanDesc
table_beginscan_tidrangeCompat(Relation rel, Snapshot snapshot,
							   ItemPointer mintid, ItemPointer maxtid)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_tidrange(rel, snapshot, mintid, maxtid, 0);
#else
	return table_beginscan_tidrange(rel, snapshot, mintid, maxtid);
#endif
}

/* varatt.h: part of postgres.h until 15. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* XLogFindNextRecord: errormsg from 19. */
static inline XLogRecPtr
XLogFindNextRecordCompat(XLogReaderState *state, XLogRecPtr RecPtr,
						 char **errormsg)
{
#if PG_VERSION_NUM >= 190000
	return XLogFindNextRecord(state, RecPtr, errormsg);
#else
	*errormsg = NULL;
	return XLogFindNextRecord(state, RecPtr);
#endif
}

/* Columns that are generated, stored or (from 18) virtual. */
static inline bool
ingest_has_generated(const TupleConstr *constr)
{
#if PG_VERSION_NUM >= 180000
	return constr->has_generated_stored || constr->has_generated_virtual;
#else
	return constr->has_generated_stored;
#endif
}

/* pg_class.relallfrozen: from 18. */
static inline void
ingest_exchange_all_frozen(Form_pg_class a, Form_pg_class b)
{
#if PG_VERSION_NUM >= 180000
	int32		allfrozen = a->relallfrozen;

	a->relallfrozen = b->relallfrozen;
	b->relallfrozen = allfrozen;
#else
	(void) a;
	(void) b;
#endif
}

/* pg_attribute.attstattarget: -1 for the usual until 16, NULL from 17. */
static inline bool
ingest_statistics_target_is_set(HeapTuple attribute, TupleDesc desc)
{
#if PG_VERSION_NUM >= 170000
	return !heap_attisnull(attribute, Anum_pg_attribute_attstattarget, desc);
#else
	(void) desc;
	return ((Form_pg_attribute) GETSTRUCT(attribute))->attstattarget >= 0;
#endif
}

/*
 * Enter a page whose rows are all frozen into the visibility map: by a
 * function that logs it, until 18.  From 19 on pages are left as they are for
 * the first VACUUM, and so are the rows.
 */
#define INGEST_FREEZES_STAGED	(PG_VERSION_NUM < 190000)

static inline void
ingest_visibilitymap_freeze(Relation rel, BlockNumber block, Buffer buffer,
							Buffer map)
{
#if PG_VERSION_NUM < 190000
	visibilitymap_set(rel, block, buffer, InvalidXLogRecPtr, map,
					  InvalidTransactionId,
					  VISIBILITYMAP_ALL_VISIBLE | VISIBILITYMAP_ALL_FROZEN);
#else
	(void) rel;
	(void) block;
	(void) buffer;
	(void) map;
#endif
}

/*
 * Until 15 the server makes room in shared buffers for a new page, which may
 * mean to write another, while it holds the relation's extension lock.
 */
#define INGEST_EVICTS_WHILE_EXTENDING	(PG_VERSION_NUM < 160000)

/*
 * Until 15 the index access methods extend an index that is new in the
 * transaction without the extension lock, which is wrong when others, parallel
 * workers, extend it at the same time.
 */
#define INGEST_NEW_INDEX_UNLOCKED	(PG_VERSION_NUM < 160000)

#endif							/* INGEST_COMPAT_H */
