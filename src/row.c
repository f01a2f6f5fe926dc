/*-------------------------------------------------------------------------
 *
 * row.c
 *		A row as the data area of a heap tuple.
 *
 * Layout is that of heap_fill_tuple() (heaptuple.c): alignment padding is
 * zeroed, a varlena that is not PLAIN and fits gets a one-byte header, and
 * nothing is compressed or moved out of line (that is TOAST's work, later).
 *
 * IDENTIFICATION
 *		src/row.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "utils/memutils.h"

#include "compat.h"
#include "row.h"

/* Largest alignment and header of a value. */
#define VALUE_OVERHEAD		(MAXIMUM_ALIGNOF + VARHDRSZ)

IngestRow *
ingest_row_create(int natts)
{
	IngestRow  *row = palloc0(sizeof(IngestRow));

	row->size = 1024;
	row->data = palloc(row->size);
	row->isnull = palloc0(Max(natts, 1) * sizeof(bool));
	row->offset = palloc0(Max(natts, 1) * sizeof(uint32));
	return row;
}

void
ingest_row_reserve(IngestRow *row, Size size)
{
	Size		new_size = row->size;

	if (likely(size <= new_size))
		return;
	while (new_size < size)
		new_size *= 2;
	row->data = repalloc_huge(row->data, new_size);
	row->size = new_size;
}

Size
ingest_row_alignment(Form_pg_attribute att)
{
	switch (att->attalign)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

/* Zero bytes up to the attribute's alignment. */
static void
align_row(IngestRow *row, Form_pg_attribute att)
{
	Size		aligned = TYPEALIGN(ingest_row_alignment(att), row->len);

	memset(row->data + row->len, 0, aligned - row->len);
	row->len = aligned;
}

/*
 * Append a varlena value.  A value out of line or expanded is fetched first:
 * what comes from an input function, a default or a generated column goes
 * through TOAST anew.
 */
static void
append_varlena(IngestRow *row, Form_pg_attribute att, Datum value)
{
	struct varlena *v = (struct varlena *) DatumGetPointer(value);
	Size		len;

	if (VARATT_IS_EXTERNAL(v))
		v = VARATT_IS_EXTERNAL_EXPANDED(v) ?
			PG_DETOAST_DATUM_COPY(value) : detoast_external_attr(v);
	len = VARSIZE_ANY(v);
	ingest_row_reserve(row, row->len + len + VALUE_OVERHEAD);
	if (VARATT_IS_SHORT(v))
	{
		row->offset[row->natts] = row->len;
		memcpy(row->data + row->len, v, len);
	}
	else if (att->attstorage != TYPSTORAGE_PLAIN && VARATT_CAN_MAKE_SHORT(v))
	{
		row->offset[row->natts] = row->len;
		len = VARATT_CONVERTED_SHORT_SIZE(v);
		SET_VARSIZE_SHORT(row->data + row->len, len);
		memcpy(row->data + row->len + VARHDRSZ_SHORT, VARDATA(v),
			   len - VARHDRSZ_SHORT);
	}
	else
	{
		align_row(row, att);
		row->offset[row->natts] = row->len;
		memcpy(row->data + row->len, v, len);
	}
	row->len += len;
	row->infomask |= HEAP_HASVARWIDTH;
}

void
ingest_row_append(IngestRow *row, Form_pg_attribute att, Datum value,
				  bool isnull)
{
	Size		len;

	row->isnull[row->natts] = isnull;
	if (isnull)
	{
		row->natts++;
		row->has_null = true;
		row->infomask |= HEAP_HASNULL;
		return;
	}
	if (att->attlen == -1)
	{
		append_varlena(row, att, value);
		row->natts++;
		return;
	}

	len = att->attlen == -2 ? strlen(DatumGetCString(value)) + 1 :
		(size_t) att->attlen;
	ingest_row_reserve(row, row->len + len + VALUE_OVERHEAD);
	align_row(row, att);
	row->offset[row->natts++] = row->len;
	if (att->attbyval)
		store_att_byval(row->data + row->len, value, att->attlen);
	else
		memcpy(row->data + row->len, DatumGetPointer(value), len);
	row->len += len;
	if (att->attlen == -2)
		row->infomask |= HEAP_HASVARWIDTH;
}

void
ingest_row_copy(IngestRow *row, Form_pg_attribute att, const IngestRow *from,
				int n)
{
	bool		isnull = from->isnull[n];

	ingest_row_append(row, att, isnull ? (Datum) 0 :
					  fetchatt(att, from->data + from->offset[n]), isnull);
}

void
ingest_row_from_slot(IngestRow *row, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	slot_getallattrs(slot);
	ingest_row_empty(row);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		ingest_row_append(row, att, slot->tts_values[i],
						  slot->tts_isnull[i] || att->attisdropped);
	}
}

void
ingest_row_to_slot(const IngestRow *row, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	ExecClearTuple(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		slot->tts_isnull[i] = row->isnull[i];
		slot->tts_values[i] = row->isnull[i] ? (Datum) 0 :
			fetchatt(TupleDescAttr(desc, i), row->data + row->offset[i]);
	}
	ExecStoreVirtualTuple(slot);
}
