/*-------------------------------------------------------------------------
 *
 * toast.c
 *		Values of rows that are too long for a page, also in a worker.
 *
 * Which values are compressed and which moved out of line is decided by the
 * four rounds of heap_toast_insert_or_update() (heaptoast.c), with its helper
 * functions (toast_helper.c).  The server's last step, toast_save_datum(),
 * inserts with heap_insert() and so refuses to run in a parallel worker.
 * Here chunks become tuples on pages of the TOAST table, appended like any
 * other rows, and when the pages have got their blocks, entries of the TOAST
 * table's indexes are made.  Never before: an entry that points to a page
 * which an error keeps from being written would later point to a stranger.
 *
 * Nobody can look for a value before the row that points to it is visible,
 * and all pages are flushed before the load ends, so the order in which rows
 * and values are written does not matter.  It does to logical decoding, which
 * wants a row's values right before the row: a table that is decoded never
 * comes here (direct_check.c, direct_rows.c).
 *
 * IDENTIFICATION
 *		src/toast.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/toast_helper.h"
#include "access/toast_internals.h"
#include "catalog/catalog.h"
#include "catalog/pg_type.h"
#include "utils/rel.h"

#include "compat.h"
#include "parallel.h"
#include "toast.h"

struct IngestToaster
{
	Relation	rel;
	IngestPages *pages;
	MemoryContext memory;		/* lives as long as the toaster */

	/* opened when the first value moves out of line */
	Relation	toastrel;
	Relation   *indexes;
	int			nindexes;
	Relation	valued;			/* whose values new OIDs differ from */
	Oid			valued_index;
	IngestPageWriter *writer;
	int64		rows;

	ToastTupleContext context;
	Datum	   *values;
	bool	   *isnull;
	ToastAttrInfo *attrs;
};

IngestToaster *
ingest_toast_begin(Relation rel, IngestPages *pages)
{
	IngestToaster *toaster = palloc0(sizeof(IngestToaster));
	int			natts = RelationGetNumberOfAttributes(rel);

	toaster->rel = rel;
	toaster->pages = pages;
	toaster->memory = CurrentMemoryContext;
	toaster->values = palloc(natts * sizeof(Datum));
	toaster->isnull = palloc(natts * sizeof(bool));
	toaster->attrs = palloc0(natts * sizeof(ToastAttrInfo));
	return toaster;
}

/*
 * Enter a row of the TOAST table into its indexes, whose columns are the
 * table's first two.
 */
static void
enter_chunk(IngestToaster *toaster, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(toaster->toastrel);
	Datum		values[2];
	bool		isnull[2];

	for (int column = 0; column < 2; column++)
		values[column] = fastgetattr(tuple, column + 1, desc, &isnull[column]);
	for (int i = 0; i < toaster->nindexes; i++)
	{
		Relation	index = toaster->indexes[i];

		/* one that is not ready, no one may insert into */
		if (index->rd_index->indisready)
			index_insert(index, values, isnull, &tuple->t_self,
						 toaster->toastrel, index->rd_index->indisunique ?
						 UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, NULL);
	}
}

/* A batch of pages of the TOAST table that is in place. */
typedef struct PlacedPages
{
	IngestToaster *toaster;
	const Page *pages;
	const BlockNumber *blocks;
	int			nblocks;
} PlacedPages;

static void
enter_pages(void *arg)
{
	PlacedPages *placed = arg;
	HeapTupleData tuple;

	for (int i = 0; i < placed->nblocks; i++)
	{
		Page		page = placed->pages[i];
		OffsetNumber last = PageGetMaxOffsetNumber(page);

		for (OffsetNumber off = FirstOffsetNumber; off <= last; off++)
		{
			ItemId		item = PageGetItemId(page, off);

			tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
			tuple.t_len = ItemIdGetLength(item);
			ItemPointerSet(&tuple.t_self, placed->blocks[i], off);
			enter_chunk(placed->toaster, &tuple);
		}
	}
}

/* The writer's callback: enter the rows into the indexes, as others do. */
static void
enter_chunks(void *arg, const Page *pages, const BlockNumber *blocks,
			 int nblocks)
{
	PlacedPages placed = {arg, pages, blocks, nblocks};

	ingest_parallel_guard(enter_pages, &placed);
}

static void
open_toast_table(IngestToaster *toaster)
{
	MemoryContext old = MemoryContextSwitchTo(toaster->memory);

	toaster->toastrel = table_open(toaster->rel->rd_rel->reltoastrelid,
								   RowExclusiveLock);
	(void) toast_open_indexes(toaster->toastrel, RowExclusiveLock,
							  &toaster->indexes, &toaster->nindexes);
	toaster->valued = toaster->toastrel;
	if (ingest_pages_staged(toaster->pages))
		toaster->valued = table_open(toaster->toastrel->rd_rel->relrewrite,
									 RowExclusiveLock);
	toaster->valued_index = toast_get_valid_index(RelationGetRelid(toaster->valued),
												  RowExclusiveLock);

	/* the index of a staging table's is built when it is published */
	toaster->writer = ingest_pages_open(toaster->pages, toaster->toastrel,
										ingest_pages_staged(toaster->pages) ?
										NULL : enter_chunks, toaster);
	MemoryContextSwitchTo(old);
}

/*
 * Cut a value into rows of the TOAST table.
 */
static void
save_chunks(IngestToaster *toaster, Oid valueid, const char *data, int32 len)
{
	union
	{
		struct varlena hdr;
		char		data[TOAST_MAX_CHUNK_SIZE + VARHDRSZ];
		int32		align_it;
	}			chunk;
	TupleDesc	desc = RelationGetDescr(toaster->toastrel);
	Datum		values[3];
	bool		isnull[3] = {false, false, false};

	values[0] = ObjectIdGetDatum(valueid);
	values[2] = PointerGetDatum(&chunk);
	for (int32 seq = 0; len > 0; seq++)
	{
		int32		n = Min((int32) TOAST_MAX_CHUNK_SIZE, len);
		ItemPointerData tid;
		HeapTuple	tuple;

		values[1] = Int32GetDatum(seq);
		SET_VARSIZE(&chunk, n + VARHDRSZ);
		memcpy(VARDATA(&chunk), data, n);
		tuple = heap_form_tuple(desc, values, isnull);
		ingest_pages_put_tuple(toaster->writer, tuple, &tid);
		heap_freetuple(tuple);
		toaster->rows++;
		data += n;
		len -= n;
	}
}

/*
 * Move a value out of line; returns the pointer that takes its place.  The
 * value is in line, compressed or not, with a header of four bytes or one.
 */
static Datum
save_value(IngestToaster *toaster, Datum value)
{
	struct varlena *v = (struct varlena *) DatumGetPointer(value);
	struct varatt_external pointer;
	struct varlena *result;
	const char *data;
	int32		len;

	if (toaster->toastrel == NULL)
		open_toast_table(toaster);

	Assert(!VARATT_IS_EXTERNAL(v));
	data = VARDATA_ANY(v);
	len = VARSIZE_ANY_EXHDR(v);
	if (VARATT_IS_COMPRESSED(v))
	{
		pointer.va_rawsize = VARDATA_COMPRESSED_GET_EXTSIZE(v) + VARHDRSZ;
		VARATT_EXTERNAL_SET_SIZE_AND_COMPRESS_METHOD(pointer, len,
													 VARDATA_COMPRESSED_GET_COMPRESS_METHOD(v));
	}
	else
	{
		pointer.va_rawsize = len + VARHDRSZ;
		pointer.va_extinfo = len;
	}
	pointer.va_toastrelid = RelationGetRelid(toaster->toastrel);
	pointer.va_valueid =
		GetNewOidWithIndex(toaster->valued, toaster->valued_index,
						   (AttrNumber) 1);
	save_chunks(toaster, pointer.va_valueid, data, len);

	result = palloc(TOAST_POINTER_SIZE);
	SET_VARTAG_EXTERNAL(result, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(result), &pointer, sizeof(pointer));
	return PointerGetDatum(result);
}

static void
externalize(IngestToaster *toaster, int column)
{
	ToastAttrInfo *attr = &toaster->attrs[column];
	Datum		old = toaster->values[column];

	attr->tai_colflags |= TOASTCOL_IGNORE;
	toaster->values[column] = save_value(toaster, old);
	if (attr->tai_colflags & TOASTCOL_NEEDS_FREE)
		pfree(DatumGetPointer(old));
	attr->tai_colflags |= TOASTCOL_NEEDS_FREE;
	toaster->context.ttc_flags |= TOAST_NEEDS_CHANGE | TOAST_NEEDS_FREE;
}

static inline bool
is_too_long(IngestToaster *toaster, Size limit)
{
	return heap_compute_data_size(RelationGetDescr(toaster->rel),
								  toaster->values, toaster->isnull) > limit;
}

/*
 * Compress values, and move out of line at once what is too long by itself
 * even so.  The storage MAIN has its turn later, without the latter.
 */
static void
compress_values(IngestToaster *toaster, Size limit, bool main)
{
	TupleDesc	desc = RelationGetDescr(toaster->rel);
	bool		has_toast = OidIsValid(toaster->rel->rd_rel->reltoastrelid);

	while (is_too_long(toaster, limit))
	{
		int			column;

		column = toast_tuple_find_biggest_attribute(&toaster->context, true,
													main);
		if (column < 0)
			break;
		if (main ||
			TupleDescAttr(desc, column)->attstorage == TYPSTORAGE_EXTENDED)
			toast_tuple_try_compression(&toaster->context, column);
		else
			toaster->attrs[column].tai_colflags |= TOASTCOL_INCOMPRESSIBLE;
		if (!main && has_toast && (Size) toaster->attrs[column].tai_size > limit)
			externalize(toaster, column);
	}
}

/* Move values out of line until the row is short enough. */
static void
externalize_values(IngestToaster *toaster, Size limit, bool main)
{
	while (OidIsValid(toaster->rel->rd_rel->reltoastrelid) &&
		   is_too_long(toaster, limit))
	{
		int			column;

		column = toast_tuple_find_biggest_attribute(&toaster->context, false,
													main);
		if (column < 0)
			break;
		externalize(toaster, column);
	}
}

HeapTuple
ingest_toast_row(IngestToaster *toaster, TupleTableSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(toaster->rel);
	ToastTupleContext *context = &toaster->context;
	HeapTuple	result;
	Size		hoff = SizeofHeapTupleHeader;
	Size		limit;

	slot_getallattrs(slot);
	memcpy(toaster->values, slot->tts_values, desc->natts * sizeof(Datum));
	memcpy(toaster->isnull, slot->tts_isnull, desc->natts * sizeof(bool));
	context->ttc_rel = toaster->rel;
	context->ttc_values = toaster->values;
	context->ttc_isnull = toaster->isnull;
	context->ttc_oldvalues = NULL;
	context->ttc_oldisnull = NULL;
	context->ttc_attr = toaster->attrs;
	toast_tuple_init(context);

	if (context->ttc_flags & TOAST_HAS_NULLS)
		hoff += BITMAPLEN(desc->natts);
	hoff = MAXALIGN(hoff);

	limit = RelationGetToastTupleTarget(toaster->rel, TOAST_TUPLE_TARGET) -
		hoff;
	compress_values(toaster, limit, false);
	externalize_values(toaster, limit, false);
	compress_values(toaster, limit, true);
	externalize_values(toaster, TOAST_TUPLE_TARGET_MAIN - hoff, true);

	result = heap_form_tuple(desc, toaster->values, toaster->isnull);
	toast_tuple_cleanup(context);
	return result;
}

void
ingest_toast_adopt(IngestToaster *toaster, HeapTuple chunk)
{
	ItemPointerData tid;

	if (toaster->toastrel == NULL)
		open_toast_table(toaster);
	ingest_pages_put_tuple(toaster->writer, chunk, &tid);
	toaster->rows++;
}

int64
ingest_toast_rows(const IngestToaster *toaster)
{
	return toaster->rows;
}

void
ingest_toast_end(IngestToaster *toaster)
{
	if (toaster->toastrel == NULL)
		return;
	toast_close_indexes(toaster->indexes, toaster->nindexes, NoLock);
	if (toaster->valued != toaster->toastrel)
		table_close(toaster->valued, NoLock);
	table_close(toaster->toastrel, NoLock);
}
