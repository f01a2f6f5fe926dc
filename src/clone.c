/*-------------------------------------------------------------------------
 *
 * clone.c
 *		An empty table like the target, to load into.
 *
 * Nothing here changes the database: the functions return SQL text, which a
 * background session runs as the caller, in one transaction, so that a clone
 * exists whole or not at all.  Wherever the server can copy a property itself
 * the text leaves it to CREATE TABLE ... (LIKE ...); what LIKE does not copy
 * (partitions, foreign keys, storage parameters, sequences of defaults) is
 * written out.  Triggers, rules, row-level security, publications, comments
 * and grants are left out on purpose: a clone is there to be loaded into, by
 * its owner only.
 *
 * The text is written under settings that make every name qualified and every
 * constant readable, and sets the same for the session that runs it (see
 * clone_settings), so it means the same under any search_path or DateStyle.
 *
 * Sequences: no load into a clone may advance a sequence of the user's.  A
 * default that names a sequence (whatever function it gives it to) is written
 * anew with a sequence of the clone's own, one for each of the user's in the
 * whole partition tree.  A sequence named inside a function's body is beyond
 * our sight and is advanced.
 *
 * Locks: AccessShareLock on the target's partitions, kept to the end of the
 * transaction, so that what is written is still so when the session reads it.
 * Memory: everything is allocated in CurrentMemoryContext.
 *
 * IDENTIFICATION
 *		src/clone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "clone.h"
#include "compat.h"

/* One table of the target's partition tree, the target itself first. */
typedef struct CloneTable
{
	Relation	source;
	struct CloneTable *parent;	/* NULL for the target */
	char	   *name;			/* of its clone, qualified and quoted */
	bool		readable;		/* may the caller use it in LIKE? */
	List	   *defaults;		/* CloneDefault, those that name sequences */
} CloneTable;

/* A default that LIKE must not copy as it is. */
typedef struct CloneDefault
{
	char	   *column;
	Node	   *expr;			/* names the clone's sequences */
} CloneDefault;

/* A sequence of the user's that some default names, and its stand-in. */
typedef struct CloneSequence
{
	Oid			source;
	char	   *name;			/* of its clone, qualified and quoted */
	char	   *table;			/* clone's table that will own it */
	char	   *column;
} CloneSequence;

typedef struct CloneBuild
{
	StringInfoData sql;
	char	   *schema;
	const char *name;			/* of the clone, as given */
	bool		with_indexes;
	List	   *tables;			/* CloneTable, parents before children */
	List	   *sequences;		/* CloneSequence */
} CloneBuild;

/* What rewrite_sequences needs to know of the column it is in. */
typedef struct DefaultContext
{
	CloneBuild *build;
	CloneTable *table;
	char	   *column;
	bool		changed;		/* out: a sequence was found */
} DefaultContext;

/*
 * Settings under which the text is written and run.  The first group makes
 * constants and names readable whatever the caller's settings are (pg_dump
 * does the same); the rest keeps what the target leaves to the database from
 * being decided by the caller's settings.
 */
static const struct
{
	const char *name;
	const char *value;
}			clone_settings[] =

{
	{"search_path", "pg_catalog, pg_temp"},
	{"datestyle", "ISO"},
	{"intervalstyle", "postgres"},
	{"extra_float_digits", "1"},
	{"array_nulls", "on"},
	{"transform_null_equals", "off"},
	{"default_tablespace", ""}
};

static void collect_tables(CloneBuild *build, Relation source,
						   CloneTable *parent);
static void collect_defaults(CloneBuild *build, CloneTable *table);
static Node *rewrite_sequences(Node *node, DefaultContext *context);
static Oid	sequence_named(Node *node);
static char *clone_sequence(DefaultContext *context, Oid source);
static void emit_settings(CloneBuild *build);
static void emit_sequence(CloneBuild *build, CloneSequence *sequence);
static void emit_table(CloneBuild *build, CloneTable *table);
static void emit_like(CloneBuild *build, CloneTable *table);
static void emit_storage(CloneBuild *build, CloneTable *table);
static void emit_reloptions(StringInfo buf, Oid relid, const char *prefix,
							const char **sep);
static void emit_replica_identity(CloneBuild *build, CloneTable *table);
static void emit_comment(CloneBuild *build, CloneTable *table);
static void emit_partition_constraint(CloneBuild *build, CloneTable *table);
static void emit_foreign_keys(CloneBuild *build, CloneTable *table);
static void emit_foreign_key(CloneBuild *build, CloneTable *table,
							 HeapTuple tuple);
static Oid	constraint_table(Oid conoid);
static bool foreign_key_permitted(HeapTuple tuple, Relation pg_constraint);
static const char *skip_quoted(const char *p, const char *until);
static CloneTable *find_table(CloneBuild *build, Oid relid);
static char *qualified_name(Oid relid);
static char *partition_bound(Relation partition);
static bool is_leaf(Relation rel);

/*
 * Write the SQL that makes the clone.  Raises 0A000 if a partition is a
 * foreign table, and a NOTICE for whatever the caller may not have copied.
 * The settings the text makes last to the end of the transaction it runs in.
 */
char *
ingest_clone_create_sql(Relation target, const char *name, bool with_indexes)
{
	CloneBuild	build = {0};
	int			save_nestlevel;
	ListCell   *lc;

	initStringInfo(&build.sql);
	build.schema = get_namespace_name(RelationGetNamespace(target));
	build.name = name;
	build.with_indexes = with_indexes;

	/* Under the caller's own search_path: a default may name by it. */
	collect_tables(&build, target, NULL);

	save_nestlevel = NewGUCNestLevel();
	for (size_t i = 0; i < lengthof(clone_settings); i++)
		(void) set_config_option(clone_settings[i].name,
								 clone_settings[i].value,
								 PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);

	emit_settings(&build);
	foreach(lc, build.sequences)
		emit_sequence(&build, lfirst(lc));
	foreach(lc, build.tables)
		emit_table(&build, lfirst(lc));
	if (target->rd_rel->relispartition)
		emit_partition_constraint(&build, linitial(build.tables));
	foreach(lc, build.sequences)
	{
		CloneSequence *sequence = lfirst(lc);

		appendStringInfo(&build.sql, "ALTER SEQUENCE %s OWNED BY %s.%s;\n",
						 sequence->name, sequence->table,
						 quote_identifier(sequence->column));
	}

	/* Last, so that a key which refers to the clone finds its unique index. */
	if (with_indexes)
	{
		foreach(lc, build.tables)
			emit_foreign_keys(&build, lfirst(lc));
	}

	AtEOXact_GUC(true, save_nestlevel);

	foreach(lc, build.tables)
	{
		CloneTable *table = lfirst(lc);

		if (table->parent != NULL)
			table_close(table->source, NoLock);
	}

	return build.sql.data;
}

/*
 * Lock the target's partitions and list what the clone is made from.
 */
List *
ingest_clone_sources(Relation target)
{
	List	   *tables = list_make1_oid(RelationGetRelid(target));
	List	   *result = NIL;
	ListCell   *lc;

	/* Children of a plain table are no part of it. */
	if (!is_leaf(target))
		tables = find_all_inheritors(RelationGetRelid(target),
									 AccessShareLock, NULL);

	foreach(lc, tables)
	{
		Relation	table = table_open(lfirst_oid(lc), NoLock);
		ListCell   *lc2;

		result = lappend_oid(result, lfirst_oid(lc));

		/* A query that has read the table has left locks on its indexes. */
		foreach(lc2, RelationGetIndexList(table))
		{
			if (CheckRelationOidLockedByMe(lfirst_oid(lc2), AccessShareLock,
										   true))
				result = lappend_oid(result, lfirst_oid(lc2));
		}
		table_close(table, NoLock);
	}
	return result;
}

/*
 * List source and, if it is partitioned, all below it; the partitions are
 * opened.  Their clones are numbered in the order they are met.
 */
static void
collect_tables(CloneBuild *build, Relation source, CloneTable *parent)
{
	CloneTable *table = palloc0_object(CloneTable);
	PartitionDesc partdesc;
	char	   *name;

	if (source->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot clone a table that has a foreign table as a partition"),
				 errdetail("Partition \"%s\" is a foreign table, and rows meant for its clone would have nowhere to go.",
						   RelationGetRelationName(source))));

	if (parent == NULL)
		name = pstrdup(build->name);
	else
		name = psprintf("%s_%d", build->name, list_length(build->tables));

	table->source = source;
	table->parent = parent;
	table->name = quote_qualified_identifier(build->schema, name);
	table->readable =
		(pg_class_aclcheck(RelationGetRelid(source), GetUserId(),
						   ACL_SELECT) == ACLCHECK_OK &&
		 object_aclcheck(NamespaceRelationId, RelationGetNamespace(source),
						 GetUserId(), ACL_USAGE) == ACLCHECK_OK);
	build->tables = lappend(build->tables, table);

	/* Privileges on the target are for the server to check. */
	if (parent != NULL && !table->readable)
		ereport(NOTICE,
				(errmsg("partition \"%s\" is cloned from its parent's definition",
						RelationGetRelationName(source)),
				 errdetail("Its own needs the SELECT privilege on it and USAGE on its schema.")));
	else
		collect_defaults(build, table);

	if (is_leaf(source))
		return;
	partdesc = RelationGetPartitionDesc(source, true);
	for (int i = 0; i < partdesc->nparts; i++)
		collect_tables(build, table_open(partdesc->oids[i], AccessShareLock),
					   table);
}

/* Find the defaults that name sequences and rewrite them. */
static void
collect_defaults(CloneBuild *build, CloneTable *table)
{
	TupleDesc	tupdesc = RelationGetDescr(table->source);

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		DefaultContext context = {build, table, NameStr(att->attname), false};
		Node	   *expr;

		/* LIKE gives an identity column a sequence of its own. */
		if (att->attisdropped || att->attgenerated || att->attidentity)
			continue;

		/* This is the domain's default if the column has none. */
		expr = build_column_default(table->source, att->attnum);
		if (expr == NULL)
			continue;
		expr = rewrite_sequences(expr, &context);
		if (context.changed)
		{
			CloneDefault *def = palloc_object(CloneDefault);

			def->column = context.column;
			def->expr = expr;
			table->defaults = lappend(table->defaults, def);
		}
	}
}

/*
 * Copy a default expression with every sequence replaced by the clone's.  The
 * new sequence has no OID yet, so it is put there as a cast from a string; it
 * deparses to 'name'::regclass, which the parser makes a constant again, as
 * cheap to evaluate as the one it replaces.
 */
static Node *
rewrite_sequences(Node *node, DefaultContext *context)
{
	Oid			source;

	if (node == NULL)
		return NULL;

	source = sequence_named(node);
	if (OidIsValid(source))
	{
		CoerceViaIO *cast = makeNode(CoerceViaIO);

		cast->arg = (Expr *) makeConst(UNKNOWNOID, -1, InvalidOid, -2,
									   CStringGetDatum(clone_sequence(context, source)),
									   false, false);
		cast->resulttype = REGCLASSOID;
		cast->resultcollid = InvalidOid;
		cast->coerceformat = COERCE_EXPLICIT_CAST;
		cast->location = -1;
		context->changed = true;
		return (Node *) cast;
	}

	return expression_tree_mutator(node, rewrite_sequences, context);
}

/*
 * The sequence that this very node names, or InvalidOid: either a constant,
 * or a name that is looked up each time, nextval('name'::text).
 */
static Oid
sequence_named(Node *node)
{
	Oid			relid = InvalidOid;

	if (IsA(node, Const) && !((Const *) node)->constisnull)
	{
		if (((Const *) node)->consttype == REGCLASSOID)
			relid = DatumGetObjectId(((Const *) node)->constvalue);
	}
	else if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_REGCLASS)
	{
		Node	   *arg = linitial(((FuncExpr *) node)->args);

		if (IsA(arg, Const) && !((Const *) arg)->constisnull)
		{
			text	   *name = DatumGetTextPP(((Const *) arg)->constvalue);

			relid = RangeVarGetRelid(makeRangeVarFromNameList(textToQualifiedNameList(name)),
									 NoLock, true);
		}
	}

	if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_SEQUENCE)
		return relid;
	return InvalidOid;
}

/*
 * Name of the sequence that stands for source in the clone.  The first column
 * that uses it will own it, so that it goes when the clone goes.
 */
static char *
clone_sequence(DefaultContext *context, Oid source)
{
	CloneBuild *build = context->build;
	CloneSequence *sequence;
	char	   *name;
	ListCell   *lc;

	foreach(lc, build->sequences)
	{
		sequence = lfirst(lc);
		if (sequence->source == source)
			return sequence->name;
	}

	name = psprintf("%s_seq_%d", build->name,
					list_length(build->sequences) + 1);
	sequence = palloc_object(CloneSequence);
	sequence->source = source;
	sequence->name = quote_qualified_identifier(build->schema, name);
	sequence->table = context->table->name;
	sequence->column = context->column;
	build->sequences = lappend(build->sequences, sequence);
	return sequence->name;
}

/* Make the settings for the transaction that runs the text. */
static void
emit_settings(CloneBuild *build)
{
	for (size_t i = 0; i < lengthof(clone_settings); i++)
	{
		/* A quoted search_path would be one name. */
		bool		quote = (i > 0);

		appendStringInfo(&build->sql, "SET LOCAL %s = %s;\n",
						 clone_settings[i].name,
						 quote ? quote_literal_cstr(clone_settings[i].value)
						 : clone_settings[i].value);
	}
}

/* Make a sequence with the parameters of the user's, at its start. */
static void
emit_sequence(CloneBuild *build, CloneSequence *sequence)
{
	HeapTuple	tuple;
	Form_pg_sequence form;

	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence->source));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", sequence->source);
	form = (Form_pg_sequence) GETSTRUCT(tuple);

	appendStringInfo(&build->sql,
					 "CREATE %sSEQUENCE %s AS %s INCREMENT BY " INT64_FORMAT
					 " MINVALUE " INT64_FORMAT " MAXVALUE " INT64_FORMAT
					 " START WITH " INT64_FORMAT " CACHE " INT64_FORMAT "%s;\n",
					 get_rel_persistence(sequence->source) == RELPERSISTENCE_UNLOGGED ?
					 "UNLOGGED " : "",
					 sequence->name, format_type_be_qualified(form->seqtypid),
					 form->seqincrement, form->seqmin, form->seqmax,
					 form->seqstart, form->seqcache,
					 form->seqcycle ? " CYCLE" : "");
	ReleaseSysCache(tuple);
}

/* Make one table and, if it is a partition, attach it. */
static void
emit_table(CloneBuild *build, CloneTable *table)
{
	Relation	source = table->source;
	bool		unlogged;
	ListCell   *lc;

	/*
	 * A clone without indexes is loaded once to learn what the rows should
	 * be; not to log it makes that cheap.  Only what has storage can be
	 * unlogged.
	 */
	unlogged = is_leaf(source) &&
		(!build->with_indexes ||
		 source->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED);

	appendStringInfo(&build->sql, "CREATE %sTABLE %s",
					 unlogged ? "UNLOGGED " : "", table->name);
	if (table->parent == NULL || table->readable)
		emit_like(build, table);
	else
		appendStringInfo(&build->sql, " PARTITION OF %s %s",
						 table->parent->name, partition_bound(source));
	if (!is_leaf(source))
		appendStringInfo(&build->sql, " PARTITION BY %s",
						 TextDatumGetCString(DirectFunctionCall1(pg_get_partkeydef,
																 ObjectIdGetDatum(RelationGetRelid(source)))));
	emit_storage(build, table);
	appendStringInfoString(&build->sql, ";\n");

	emit_comment(build, table);
	foreach(lc, table->defaults)
	{
		CloneDefault *def = lfirst(lc);

		appendStringInfo(&build->sql,
						 "ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s;\n",
						 table->name, quote_identifier(def->column),
						 deparse_expression(def->expr, NIL, false, false));
	}
	if (build->with_indexes)
		emit_replica_identity(build, table);
	if (table->parent != NULL && table->readable)
		appendStringInfo(&build->sql,
						 "ALTER TABLE %s ATTACH PARTITION %s %s;\n",
						 table->parent->name, table->name,
						 partition_bound(source));
}

/* Write the LIKE clause. */
static void
emit_like(CloneBuild *build, CloneTable *table)
{
	appendStringInfo(&build->sql, " (LIKE %s",
					 qualified_name(RelationGetRelid(table->source)));
	if (build->with_indexes)
		appendStringInfoString(&build->sql,
							   " INCLUDING ALL EXCLUDING COMMENTS");
	else
		appendStringInfoString(&build->sql,
							   " INCLUDING DEFAULTS INCLUDING GENERATED"
							   " INCLUDING CONSTRAINTS INCLUDING IDENTITY"
							   " INCLUDING STORAGE INCLUDING COMPRESSION");

	/* A partition takes it from its parent, or does not have it at all. */
	if (table->parent != NULL)
		appendStringInfoString(&build->sql, " EXCLUDING IDENTITY");
	appendStringInfoChar(&build->sql, ')');
}

/* Write access method, storage parameters and tablespace. */
static void
emit_storage(CloneBuild *build, CloneTable *table)
{
	Form_pg_class form = table->source->rd_rel;

	if (OidIsValid(form->relam))
		appendStringInfo(&build->sql, " USING %s",
						 quote_identifier(get_am_name(form->relam)));

	/*
	 * Autovacuum is kept off the clone: it would start on it whenever it
	 * pleases, and its I/O and WAL would be measured as the load's, or would
	 * hold up the drop.  A clone lives too short to need it.
	 */
	if (is_leaf(table->source))
	{
		const char *sep = " WITH (";

		emit_reloptions(&build->sql, RelationGetRelid(table->source), "",
						&sep);
		if (OidIsValid(form->reltoastrelid))
			emit_reloptions(&build->sql, form->reltoastrelid, "toast.", &sep);
		appendStringInfo(&build->sql,
						 "%sautovacuum_enabled = off, toast.autovacuum_enabled = off)",
						 sep);
	}

	if (OidIsValid(form->reltablespace))
		appendStringInfo(&build->sql, " TABLESPACE %s",
						 quote_identifier(get_tablespace_name(form->reltablespace)));
}

/*
 * Write the storage parameters set on a relation, but autovacuum_enabled,
 * which the caller writes; *sep goes before the next one.
 */
static void
emit_reloptions(StringInfo buf, Oid relid, const char *prefix,
				const char **sep)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Datum		reloptions;
	bool		isnull;
	ListCell   *lc;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions,
								 &isnull);
	if (!isnull)
	{
		foreach(lc, untransformRelOptions(reloptions))
		{
			DefElem    *def = lfirst_node(DefElem, lc);

			if (strcmp(def->defname, "autovacuum_enabled") == 0)
				continue;
			appendStringInfo(buf, "%s%s%s = %s", *sep, prefix,
							 quote_identifier(def->defname),
							 def->arg ? quote_literal_cstr(strVal(def->arg)) : "''");
			*sep = ", ";
		}
	}
	ReleaseSysCache(tuple);
}

/*
 * Replica identity decides what UPDATE and DELETE log.  The one by an index
 * is left out: LIKE chooses the index's name, and no load updates rows.
 */
static void
emit_replica_identity(CloneBuild *build, CloneTable *table)
{
	char		identity = table->source->rd_rel->relreplident;

	if (identity == REPLICA_IDENTITY_FULL ||
		identity == REPLICA_IDENTITY_NOTHING)
		appendStringInfo(&build->sql,
						 "ALTER TABLE ONLY %s REPLICA IDENTITY %s;\n",
						 table->name,
						 identity == REPLICA_IDENTITY_FULL ? "FULL" : "NOTHING");
}

/* Mark the table as ours. */
static void
emit_comment(CloneBuild *build, CloneTable *table)
{
	char	   *source = qualified_name(RelationGetRelid(table->source));

	appendStringInfo(&build->sql, "COMMENT ON TABLE %s IS %s;\n",
					 table->name,
					 quote_literal_cstr(ingest_clone_comment(source)));
}

/*
 * A target that is itself a partition takes only the rows that its parents
 * would send there.  Its clone has no parent; a CHECK does the same and costs
 * the same.
 */
static void
emit_partition_constraint(CloneBuild *build, CloneTable *table)
{
	Oid			relid = RelationGetRelid(table->source);
	Expr	   *qual = get_partition_qual_relid(relid);

	/* A default partition without siblings takes everything. */
	if (qual == NULL)
		return;
	appendStringInfo(&build->sql, "ALTER TABLE %s ADD CHECK (%s);\n",
					 table->name,
					 deparse_expression((Node *) qual,
										deparse_context_for(get_rel_name(relid),
															relid),
										false, false));
}

/*
 * Add the foreign keys that a table does not get by being attached.  Those
 * inherited from a parent within the tree come with it, and so do the rows
 * that the server keeps for each partition of the referenced table, whose
 * parent is a constraint of the same table (tryAttachPartitionForeignKey,
 * addFkRecurseReferenced).
 */
static void
emit_foreign_keys(CloneBuild *build, CloneTable *table)
{
	Oid			relid = RelationGetRelid(table->source);
	Relation	pg_constraint;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (table->parent != NULL && !table->readable)
		return;

	pg_constraint = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_constraint, ConstraintRelidTypidNameIndexId,
							  true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);

		if (con->contype != CONSTRAINT_FOREIGN)
			continue;
		if (OidIsValid(con->conparentid))
		{
			/* Only the target's own parent is outside the tree. */
			if (table->parent != NULL ||
				constraint_table(con->conparentid) == relid)
				continue;
		}
		if (find_table(build, con->confrelid) == NULL &&
			!foreign_key_permitted(tuple, pg_constraint))
			ereport(NOTICE,
					(errmsg("the clone of table \"%s\" lacks foreign key \"%s\"",
							RelationGetRelationName(table->source),
							NameStr(con->conname)),
					 errdetail("To have it needs the REFERENCES privilege on table \"%s\" and USAGE on its schema.",
							   get_rel_name(con->confrelid))));
		else
			emit_foreign_key(build, table, tuple);
	}
	systable_endscan(scan);
	table_close(pg_constraint, AccessShareLock);
}

/*
 * Add one foreign key; one that refers to a table of the tree refers to that
 * table's clone.  The server deparses it as FOREIGN KEY (columns) REFERENCES
 * table(columns) ..., where only identifiers can be quoted and whatever is
 * not quoted is in lower case or a keyword.
 */
static void
emit_foreign_key(CloneBuild *build, CloneTable *table, HeapTuple tuple)
{
	static const char keyword[] = " REFERENCES ";
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);
	CloneTable *referenced = find_table(build, con->confrelid);
	char	   *def;

	def = TextDatumGetCString(DirectFunctionCall1(pg_get_constraintdef,
												  ObjectIdGetDatum(con->oid)));
	appendStringInfo(&build->sql, "ALTER TABLE %s ADD CONSTRAINT %s ",
					 table->name, quote_identifier(NameStr(con->conname)));
	if (referenced == NULL)
		appendStringInfoString(&build->sql, def);
	else
	{
		const char *name = skip_quoted(def, keyword) + strlen(keyword);

		appendBinaryStringInfo(&build->sql, def, name - def);
		appendStringInfoString(&build->sql, referenced->name);
		appendStringInfoString(&build->sql, skip_quoted(name, "("));
	}
	appendStringInfoString(&build->sql, ";\n");
}

/* The table that a constraint is on. */
static Oid
constraint_table(Oid conoid)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(conoid));
	Oid			relid;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", conoid);
	relid = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;
	ReleaseSysCache(tuple);
	return relid;
}

/*
 * May the caller make this foreign key?  As checkFkeyPermissions() decides,
 * and the caller must be able to name the table.
 */
static bool
foreign_key_permitted(HeapTuple tuple, Relation pg_constraint)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);
	Datum		confkey;
	bool		isnull;
	ArrayType  *array;
	int16	   *attnums;

	if (object_aclcheck(NamespaceRelationId,
						get_rel_namespace(con->confrelid),
						GetUserId(), ACL_USAGE) != ACLCHECK_OK)
		return false;
	if (pg_class_aclcheck(con->confrelid, GetUserId(),
						  ACL_REFERENCES) == ACLCHECK_OK)
		return true;

	confkey = heap_getattr(tuple, Anum_pg_constraint_confkey,
						   RelationGetDescr(pg_constraint), &isnull);
	if (isnull)
		elog(ERROR, "null confkey for constraint %u", con->oid);
	array = DatumGetArrayTypeP(confkey);
	attnums = (int16 *) ARR_DATA_PTR(array);
	for (int i = 0; i < ARR_DIMS(array)[0]; i++)
	{
		if (pg_attribute_aclcheck(con->confrelid, attnums[i], GetUserId(),
								  ACL_REFERENCES) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* Find text outside of quoted identifiers; it must be there. */
static const char *
skip_quoted(const char *p, const char *until)
{
	bool		quoted = false;

	for (; *p != '\0'; p++)
	{
		/* A doubled quote leaves and enters again. */
		if (*p == '"')
			quoted = !quoted;
		else if (!quoted && strncmp(p, until, strlen(until)) == 0)
			return p;
	}
	elog(ERROR, "could not find \"%s\" in constraint definition", until);
	return NULL;				/* keep compiler quiet */
}

/* The table of the tree with this OID, or NULL. */
static CloneTable *
find_table(CloneBuild *build, Oid relid)
{
	ListCell   *lc;

	foreach(lc, build->tables)
	{
		CloneTable *table = lfirst(lc);

		if (RelationGetRelid(table->source) == relid)
			return table;
	}
	return NULL;
}

/* Qualified, quoted name of an existing table. */
static char *
qualified_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* FOR VALUES ..., or DEFAULT. */
static char *
partition_bound(Relation partition)
{
	Oid			relid = RelationGetRelid(partition);
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Datum		bound;
	bool		isnull;
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound,
							&isnull);
	if (isnull)
		elog(ERROR, "missing relpartbound for relation %u", relid);
	result = TextDatumGetCString(DirectFunctionCall2(pg_get_expr, bound,
													 ObjectIdGetDatum(relid)));
	ReleaseSysCache(tuple);
	return result;
}

/* Does it hold rows itself? */
static bool
is_leaf(Relation rel)
{
	return rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE;
}
