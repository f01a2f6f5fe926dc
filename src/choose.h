/*-------------------------------------------------------------------------
 *
 * choose.h
 *		Which strategy does a load: the one asked for, one picked for "auto",
 *		or one that can where the one asked for cannot.
 *
 * IDENTIFICATION
 *		src/choose.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_CHOOSE_H
#define INGEST_CHOOSE_H

#include "postgres.h"

#include "utils/relcache.h"

#include "options.h"
#include "source.h"
#include "strategy.h"

typedef struct IngestChoice
{
	const IngestStrategy *strategy; /* has a writer, and it can do the load */
	const char *reason;			/* why it is not the one asked for, or why
								 * "auto" has picked it; else NULL */
	int			workers;		/* processes */
} IngestChoice;

/* in choose.c: settings, for _PG_init() */
extern void ingest_choose_define_settings(void);

/*
 * Find the strategy for a load.  rel is the target, locked with
 * RowExclusiveLock; locks taken on its partitions are kept.
 */
extern void ingest_choose(const IngestStrategy *asked, Relation rel,
						  const IngestOptions *options,
						  const IngestSourceSpec *spec, IngestChoice *choice);

/*
 * Tell the user about a strategy that had to be replaced, as the setting
 * ingest_tools.fallback demands: a notice, nothing, or an error, which names
 * those that can do it unless spec is NULL.
 */
extern void ingest_choose_tell(const IngestStrategy *asked, Relation rel,
							   const IngestOptions *options,
							   const IngestSourceSpec *spec,
							   const IngestChoice *choice);

/*
 * Raise an error if the strategy can no longer do a load that has begun: the
 * table may change between two transactions.
 */
extern void ingest_choose_recheck(const IngestStrategy *strategy, Relation rel,
								  const IngestOptions *options,
								  const IngestSourceSpec *spec);

#endif							/* INGEST_CHOOSE_H */
