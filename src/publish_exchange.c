/*-------------------------------------------------------------------------
 *
 * publish_exchange.c
 *		Storage of two relations, exchanged.
 *
 * A relation's storage is what its pg_class row says.  So an exchange is an
 * update of two such rows, which a rollback undoes, and as quick for a large
 * relation as for a small one.  The server does so when CLUSTER has written a
 * table anew, in swap_relation_files() (commands/cluster.c), which cannot be
 * called; finish_heap_swap(), which can, has all indexes built by a scan of
 * the table while everybody is shut out.  Here the indexes are there already
 * and are exchanged like the heap.
 *
 * Less is done than there, as less can be asked for: neither relation is a
 * catalog or is mapped, both have the same access method and persistence,
 * and one of them is to be dropped.
 *
 * A TOAST table goes with its heap: values in the heap's rows name it.  It is
 * entered as the other heap's, whose name it gets when the old one is gone.
 *
 * IDENTIFICATION
 *		src/publish_exchange.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "publish_exchange.h"

#define EXCHANGE(type, a, b) \
	do { \
		type		exchanged = (a); \
		(a) = (b); \
		(b) = exchanged; \
	} while (0)

/* A copy of a relation's pg_class row. */
static HeapTuple
get_class_row(Oid relid)
{
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	return tuple;
}

/* All that is true of the storage and not of the relation. */
static void
exchange_fields(Form_pg_class a, Form_pg_class b)
{
	Assert(a->relpersistence == b->relpersistence && a->relam == b->relam);
	EXCHANGE(Oid, a->relfilenode, b->relfilenode);
	EXCHANGE(Oid, a->reltablespace, b->reltablespace);
	EXCHANGE(Oid, a->reltoastrelid, b->reltoastrelid);
	EXCHANGE(int32, a->relpages, b->relpages);
	EXCHANGE(float4, a->reltuples, b->reltuples);
	EXCHANGE(int32, a->relallvisible, b->relallvisible);
	ingest_exchange_all_frozen(a, b);
	EXCHANGE(TransactionId, a->relfrozenxid, b->relfrozenxid);
	EXCHANGE(TransactionId, a->relminmxid, b->relminmxid);
}

/*
 * The relation's storage is new in the subtransaction, as far as the server
 * is concerned: under wal_level = minimal that is why it is not logged.  The
 * other one's is as new as the relation's was.
 */
static void
note_new_storage(Oid relid, Oid other)
{
	Relation	rel = relation_open(relid, NoLock);
	Relation	other_rel = relation_open(other, NoLock);

	other_rel->rd_createSubid = rel->rd_createSubid;
	other_rel->rd_newRelfilelocatorSubid = rel->rd_newRelfilelocatorSubid;
	other_rel->rd_firstRelfilelocatorSubid = rel->rd_firstRelfilelocatorSubid;
	RelationAssumeNewRelfilelocator(rel);

	/* or one's would be open as the other's */
	RelationCloseSmgr(rel);
	RelationCloseSmgr(other_rel);
	relation_close(other_rel, NoLock);
	relation_close(rel, NoLock);
}

/* A heap's TOAST table, if it has one, is to be dropped with it. */
static void
own_toast_table(Oid heapid, Oid toastid)
{
	ObjectAddress heap;
	ObjectAddress toast;

	if (!OidIsValid(toastid))
		return;
	ObjectAddressSet(heap, RelationRelationId, heapid);
	ObjectAddressSet(toast, RelationRelationId, toastid);
	recordDependencyOn(&toast, &heap, DEPENDENCY_INTERNAL);
}

static void
disown_toast_table(Oid toastid)
{
	if (OidIsValid(toastid) &&
		deleteDependencyRecordsFor(RelationRelationId, toastid, false) != 1)
		elog(ERROR, "expected one dependency record for TOAST table %u",
			 toastid);
}

void
ingest_exchange_storage(Oid relid, Oid other)
{
	Relation	catalog = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	row = get_class_row(relid);
	HeapTuple	other_row = get_class_row(other);
	Form_pg_class form = (Form_pg_class) GETSTRUCT(row);
	Form_pg_class other_form = (Form_pg_class) GETSTRUCT(other_row);

	exchange_fields(form, other_form);
	note_new_storage(relid, other);
	CatalogTupleUpdate(catalog, &row->t_self, row);
	CatalogTupleUpdate(catalog, &other_row->t_self, other_row);

	disown_toast_table(form->reltoastrelid);
	disown_toast_table(other_form->reltoastrelid);
	own_toast_table(relid, form->reltoastrelid);
	own_toast_table(other, other_form->reltoastrelid);

	heap_freetuple(other_row);
	heap_freetuple(row);
	table_close(catalog, RowExclusiveLock);
}

void
ingest_exchange_name_toast(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			toastid = rel->rd_rel->reltoastrelid;
	char		name[NAMEDATALEN];

	table_close(rel, NoLock);
	if (!OidIsValid(toastid))
		return;
	snprintf(name, NAMEDATALEN, "pg_toast_%u", relid);
	RenameRelationInternal(toastid, name, true, false);
	snprintf(name, NAMEDATALEN, "pg_toast_%u_index", relid);
	RenameRelationInternal(toast_get_valid_index(toastid, NoLock), name, true,
						   true);

	/* the row that is to be updated has just been */
	CommandCounterIncrement();
	ResetRelRewrite(toastid);
}
