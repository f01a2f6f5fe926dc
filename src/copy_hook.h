/*-------------------------------------------------------------------------
 *
 * copy_hook.h
 *		COPY ... FROM, done by a strategy of ours.
 *
 * IDENTIFICATION
 *		src/copy_hook.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_COPY_HOOK_H
#define INGEST_COPY_HOOK_H

/* in copy_hook.c: for _PG_init() */
extern void ingest_copy_hook_install(void);

#endif							/* INGEST_COPY_HOOK_H */
