/*-------------------------------------------------------------------------
 *
 * direct.h
 *		Strategy "direct", between its files.
 *
 *		direct_check.c	may this load be done so, and by several processes?
 *		direct_rows.c	one process's part: records to pages
 *		direct.c		the leader, the workers, what they share
 *
 * IDENTIFICATION
 *		src/direct.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_DIRECT_H
#define INGEST_DIRECT_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "utils/relcache.h"

#include "chunk.h"
#include "index.h"
#include "publish.h"
#include "usage.h"
#include "write.h"

/*
 * What all processes know.  The leader fills it before it starts workers; the
 * counters are added to by each process when it has done its part.
 *
 * Everything of variable size follows in data; the offsets say where.
 */
typedef struct IngestDirectShared
{
	Oid			relid;
	TransactionId xid;
	CommandId	cid;
	dsm_handle	indexer;
	bool		has_indexes;	/* there is an indexer */
	bool		staged;			/* rows go to staging tables */
	bool		frozen;			/* and are frozen there */

	/* dialect */
	char		delim;
	char		quote;
	char		escape;
	Size		null_print;		/* offsets of strings */
	Size		path;

	int			nattnums;
	Size		attnums;		/* int each, in the order of the fields */
	Size		field_flags;	/* uint8 each, see below */

	int			nleaves;
	Size		leaves;			/* IngestDirectLeafShared each */
	Size		queue;			/* IngestChunkQueue */

	int64		source_start;	/* place in the file where the source begins */
	pg_atomic_uint64 records;	/* so far, for progress */
	pg_atomic_uint64 rows;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} IngestDirectShared;

/* A table that rows may be stored in; ordered by relid. */
typedef struct IngestDirectLeafShared
{
	Oid			relid;
	Oid			staging;		/* in whose place its rows are put, or invalid */
	BlockNumber first_block;	/* the load's rows are here and behind */
	pg_atomic_uint64 rows;
	pg_atomic_uint64 toast_rows;
} IngestDirectLeafShared;

/* FORCE_NOT_NULL and FORCE_NULL, of a field */
#define INGEST_DIRECT_NOT_NULL	0x01
#define INGEST_DIRECT_NULL		0x02

#define INGEST_DIRECT_AT(shared, type, offset) \
	((type *) ((shared)->data + (offset)))

/* Bytes of a chunk (setting ingest_tools.chunk_size, for tests). */
extern int	ingest_direct_chunk_size;

/* in direct.c: settings, for _PG_init() */
extern void ingest_direct_define_settings(void);

/* One process's part of a load. */
typedef struct IngestDirectPart IngestDirectPart;

/*
 * A strategy that has direct's machinery load into other storage than the
 * leaves' own.  begin is called for each leaf, in the order of OIDs.
 */
typedef struct IngestDirectStager
{
	/* Make a staging table; a leaf is not open but as the target. */
	IngestStaging *(*begin) (Oid leaf, bool is_target);

	/* May rows be frozen? */
	bool		(*may_freeze) (void);

	/*
	 * All rows are in the staging tables (a list of IngestStaging): get them
	 * ready for indexes to be built, of which some may be scans.
	 */
	void		(*filled) (IngestWriteTarget *target, List *stagings);

	/*
	 * And so is what has been collected for indexes: make it the leaves'.
	 * first_block of the leaves is set to where the rows are then.
	 */
	void		(*publish) (IngestWriteTarget *target, List *stagings,
							IngestDirectShared *shared, EState *estate);
} IngestDirectStager;

/*
 * In direct.c: the callbacks of IngestWriter.  stager is NULL for loads into
 * the leaves.
 */
extern void *ingest_direct_begin(IngestWriteTarget *target,
								 const IngestDirectStager *stager);
extern void ingest_direct_write(IngestWriteTarget *target, void *state,
								int64 max_rows);
extern void ingest_direct_finish(IngestWriteTarget *target, void *state);

/* The staging tables (IngestStaging) that a load has made so far. */
extern List *ingest_direct_load_stagings(const void *state);

/* in direct_check.c */

/* Why "direct" cannot do a load (IngestWriter.unusable). */
extern const char *ingest_direct_unusable(Relation rel,
										  const IngestOptions *options,
										  const IngestSourceSpec *spec);

/*
 * The tables rows may be stored in (OIDs, ascending), locked with
 * RowExclusiveLock.  Raises an error if "direct" cannot fill one of them:
 * a partition may have been attached since ingest_direct_unusable() looked.
 */
extern List *ingest_direct_leaves(Relation rel);

/* Why only one process may do it, or NULL. */
extern const char *ingest_direct_serial(const IngestWriteTarget *target,
										Relation rel);

/* in direct_rows.c */

/*
 * State is allocated in CurrentMemoryContext.  rel is open and locked, and
 * stays so.
 */
extern IngestDirectPart *ingest_direct_part_begin(IngestDirectShared *shared,
												  int process, Relation rel,
												  IngestIndexer *indexer,
												  IngestMeter *meter);

/*
 * The leader's: this is where the bytes of the file come from, NULL if they are
 * all there.  With others at work it does nothing else before they are.
 */
extern void ingest_direct_part_feed(IngestDirectPart *part, IngestFeed *feed,
									bool others);

/* Load until there are no chunks left. */
extern void ingest_direct_part_run(IngestDirectPart *part);

/* Add what this process has done to the shared counters. */
extern void ingest_direct_part_count(IngestDirectPart *part);

extern void ingest_direct_part_end(IngestDirectPart *part);

#endif							/* INGEST_DIRECT_H */
