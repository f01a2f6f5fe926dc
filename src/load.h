/*-------------------------------------------------------------------------
 *
 * load.h
 *		One load: in this process, or spread over background sessions.
 *
 * IDENTIFICATION
 *		src/load.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_LOAD_H
#define INGEST_LOAD_H

#include "postgres.h"

#include "utils/relcache.h"

#include "compat.h"
#include "options.h"
#include "report.h"
#include "source.h"
#include "strategy.h"

/* A load that is to be done. */
typedef struct IngestLoad
{
	Oid			relid;			/* where the rows go */
	const IngestOptions *options;
	const IngestStrategy *strategy;
	const IngestSourceSpec *spec;
} IngestLoad;

/* in load.c */

/*
 * Open and lock a target, or raise the error COPY raises for what cannot be
 * one: no table, no right to INSERT (into the columns, NIL for all), row-level
 * security.
 */
extern Relation ingest_load_open_target(Oid relid, LOCKMODE lockmode,
										List *columns);

/*
 * Lock a table whose rows are to be replaced as strategy "staged" will lock
 * it, before anybody else in this transaction does with a weaker lock: of two
 * that replace the same rows the second waits here, and the first does not
 * wait for it.  For who may replace them only, and not for a partitioned
 * table, whose leaves are locked later.
 */
extern void ingest_load_lock_replaced(Oid relid);

/*
 * Raise the error TRUNCATE raises for a table whose rows may not be replaced:
 * no right to, or in use in this session.  The caller has opened it once.
 */
extern void ingest_load_check_replace(Relation rel);

/*
 * Can a source that is read once, from its beginning to its end, be put into a
 * file for the strategy asked for?  Loads in this process do that.
 */
extern bool ingest_load_goes_by_file(const IngestStrategy *strategy,
									 Relation rel,
									 const IngestOptions *options,
									 const IngestSourceSpec *spec);

/*
 * Find the strategy that does a load asked for, and put it, with the options
 * to match, into the load and into the report.  With tell the user learns
 * about a strategy that had to be replaced.
 */
extern void ingest_load_choose(IngestLoad *load, Relation rel, bool tell,
							   IngestReport *report);

/*
 * Load in this process, in the current transaction, with the strategy that
 * ingest_load_choose() finds.
 */
extern void ingest_load_here(const IngestLoad *load, bool tell,
							 IngestReport *report);

/* Copy what the options say into a report. */
extern void ingest_load_describe(const IngestLoad *load, IngestReport *report);

/* The same about a strategy that does the load instead. */
extern void ingest_load_describe_used(const IngestLoad *load,
									  const IngestStrategy *used,
									  IngestReport *report);

/*
 * Add name and size to a list of IngestRelationUsage, each table followed by
 * its TOAST table and indexes, as a list of IngestReportRelation.  A TOAST
 * table is shown under the name of its table; relations that are gone are left
 * out.
 */
extern List *ingest_load_name_relations(List *usages);


/* in load_sessions.c */

/*
 * Load in background sessions that commit, options->workers of them (fewer
 * if there are not enough worker slots, which report->workers_used tells),
 * each a part of the source, which must be a file or a spool; at most
 * max_rows rows altogether, all if negative.  target is the relation the
 * options' columns are those of; load->relid may be a clone of it.
 * The figures of all of them are added up.
 */
extern void ingest_load_sessions(const IngestLoad *load, Relation target,
								 int64 max_rows, IngestReport *report);

/*
 * Raise an error if background sessions cannot see the relation as the
 * current transaction does.
 */
extern void ingest_load_check_shared(Relation rel);

/* Raise the error for no background worker slot. */
pg_noreturn extern void ingest_load_no_slot_error(void);

/* in load_run.c */

/* Can only transactions of its own do the load as asked for? */
extern bool ingest_load_needs_sessions(const IngestOptions *options,
									   const IngestStrategy *strategy);

/*
 * Load as a user asks for it: in the current transaction, or in sessions.
 * options are those of the load, and become those of a spool where one has to
 * be made.  With tell the user learns about a strategy that had to be
 * replaced.
 */
extern void ingest_load_run(IngestLoad *load, IngestOptions *options,
							Relation target, bool tell, IngestReport *report);

#endif							/* INGEST_LOAD_H */
