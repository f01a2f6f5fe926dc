/*-------------------------------------------------------------------------
 *
 * scenario.h
 *		Published studies of loading, each as a table of cases.
 *
 * IDENTIFICATION
 *		src/scenario.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_SCENARIO_H
#define INGEST_SCENARIO_H

#include "postgres.h"

/*
 * One case of a study.  In bench, and in the setup of a scenario, $s stands for
 * the scenario's schema and $n for the number of rows.
 */
typedef struct IngestScenarioCase
{
	const char *description;	/* in the study's words */
	double		published;		/* the study's figure; 0: it has none */
	int			than;			/* number of the case, counted from 1, that the
								 * study compares it with; 0: with none */
	const char *bench;			/* arguments of ingest_bench(), for one run */
	const char *note;			/* what else is to be said; NULL: nothing */
} IngestScenarioCase;

typedef struct IngestScenario
{
	const char *name;
	const char *unit;			/* of the published figures; all are such that
								 * less is better */
	int64		rows;			/* of the study */
	double		scale;			/* takes about a minute */
	const char *setup;			/* SQL, run in one transaction */
	int			ncases;
	const IngestScenarioCase *cases;
} IngestScenario;

/* each in its own file */
extern const IngestScenario ingest_scenario_blob_inline;
extern const IngestScenario ingest_scenario_commit_write;
extern const IngestScenario ingest_scenario_db2_load;
extern const IngestScenario ingest_scenario_polardbx_batch;
extern const IngestScenario ingest_scenario_psql_30k;

#endif							/* INGEST_SCENARIO_H */
