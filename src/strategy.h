/*-------------------------------------------------------------------------
 *
 * strategy.h
 *		The ways to load: what each does, needs and promises.
 *
 * IDENTIFICATION
 *		src/strategy.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_STRATEGY_H
#define INGEST_STRATEGY_H

#include "postgres.h"

#include "write.h"

typedef struct IngestStrategy
{
	const char *name;
	const char *summary;		/* one line for a reader */
	const IngestWriter *writer; /* NULL: another strategy is picked (auto) */
	const char *fallback;		/* what does a load that it cannot do */

	/* which options make a difference; a report shows NULL for the others */
	bool		uses_batch_rows;
	bool		uses_split_bytes;
	bool		uses_index_mode;
	bool		commits_at_rows;	/* commit_rows is a number */
	bool		commits_dynamically;	/* commit_rows is dynamic */

	/* starts its workers by itself, in the caller's transaction */
	bool		own_workers;

	bool		replaces;		/* can do mode replace */

	/* commit_rows where none is asked for and the load may commit */
	int			default_commit_rows;

	/* what it promises, shown by ingest_strategies() */
	bool		fires_triggers;
	bool		logged;			/* survives a crash, reaches standbys */
	const char *lock;			/* on the target */
} IngestStrategy;

/* in strategy.c */
extern const IngestStrategy *ingest_strategy_lookup(const char *name);
extern int	ingest_strategy_count(void);
extern const IngestStrategy *ingest_strategy_get(int i);
extern int	ingest_strategy_number(const IngestStrategy *strategy);

#endif							/* INGEST_STRATEGY_H */
