/*-------------------------------------------------------------------------
 *
 * index_page.h
 *		New pages for a B-tree, added to it in bulk.
 *
 * IDENTIFICATION
 *		src/index_page.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_INDEX_PAGE_H
#define INGEST_INDEX_PAGE_H

#include "postgres.h"

#include "storage/buf.h"
#include "utils/rel.h"

typedef struct IngestIndexPages IngestIndexPages;

extern IngestIndexPages *ingest_index_pages_begin(Relation index, Relation heap);

/*
 * A page to be filled: pinned, write-locked and initialized, as _bt_allocbuf()
 * leaves it.
 */
extern Buffer ingest_index_pages_take(IngestIndexPages *pages);

/* Leaves to others what was not taken. */
extern void ingest_index_pages_end(IngestIndexPages *pages);

#endif							/* INGEST_INDEX_PAGE_H */
