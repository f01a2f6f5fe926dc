/*-------------------------------------------------------------------------
 *
 * bench_plan.h
 *		Which runs a call of ingest_bench() asks for.
 *
 * IDENTIFICATION
 *		src/bench_plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_BENCH_PLAN_H
#define INGEST_BENCH_PLAN_H

#include "postgres.h"

#include "fmgr.h"

#include "options.h"
#include "strategy.h"

/* One run: what differs between the runs of a bench. */
typedef struct IngestBenchRun
{
	const IngestStrategy *strategy;
	int			batch_rows;
	int			workers;
	IngestCommitMode commit_mode;
	IngestIndexMode index_mode;
	int			commit_rows;
} IngestBenchRun;

/* The arguments of a call, checked. */
typedef struct IngestBenchPlan
{
	Oid			relid;
	const char *source;			/* NULL: generated rows */
	IngestOptions *options;
	int64		rows;			/* -1: all the source has */
	int64		preload;
	int			repeat;
	bool		checkpoint;

	IngestBenchRun *runs;
	int			nruns;			/* in one repetition */
} IngestBenchPlan;

/* in bench_plan.c */
extern IngestBenchPlan *ingest_bench_plan(FunctionCallInfo fcinfo);

/*
 * The run that comes n-th (from 0) of nruns * repeat: each repetition starts
 * one run later than the one before, so that no way of loading always comes
 * first or always after the same other one.
 */
extern const IngestBenchRun *ingest_bench_run(const IngestBenchPlan *plan,
											  int n, int *repetition);

#endif							/* INGEST_BENCH_PLAN_H */
