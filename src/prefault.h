/*-------------------------------------------------------------------------
 *
 * prefault.h
 *		Memory that is about to be written, mapped in one go.
 *
 * IDENTIFICATION
 *		src/prefault.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_PREFAULT_H
#define INGEST_PREFAULT_H

#include "postgres.h"

#include "storage/buf.h"

extern void ingest_prefault(void *start, Size len);

/*
 * The same for the n shared buffers that are likely to be taken next, after
 * two that have been taken one after the other.
 */
extern void ingest_prefault_buffers(Buffer before, Buffer last, int n);

#endif							/* INGEST_PREFAULT_H */
