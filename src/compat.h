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

#if PG_VERSION_NUM < 150000
#error "ingest_tools needs PostgreSQL 15 or later"
#endif

#endif							/* INGEST_COMPAT_H */
