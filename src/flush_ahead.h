/*-------------------------------------------------------------------------
 *
 * flush_ahead.h
 *		WAL that goes to disk while the load goes on.
 *
 * IDENTIFICATION
 *		src/flush_ahead.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_FLUSH_AHEAD_H
#define INGEST_FLUSH_AHEAD_H

#include "postgres.h"

/*
 * To be called every now and then by a process that has written WAL.  Takes
 * next to nothing unless there is much of it.
 */
extern void ingest_flush_ahead(void);

#endif							/* INGEST_FLUSH_AHEAD_H */
