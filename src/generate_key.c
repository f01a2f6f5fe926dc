/*-------------------------------------------------------------------------
 *
 * generate_key.c
 *		Generated values of partition keys, such that rows find a partition.
 *
 * The values are taken from between the bounds of the partitions ("slots"),
 * for up to two levels of range or list partitions, by one column each; hash
 * partitions take anything.  Whatever is beyond that (expressions, several
 * columns, ranges of text, a third level) is left to luck, and to the server's
 * error message.
 *
 * A row first gets a slot of the first level, an SQL expression of the row
 * number that the query computes as g.slot; what the slots' bounds are then
 * comes from constant arrays subscripted by it.
 *
 * Partitions are opened with AccessShareLock, kept to the end of the
 * transaction.
 *
 * IDENTIFICATION
 *		src/generate_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "generate_internal.h"

/* So many rows go into one partition before the next is taken. */
#define PARTITION_BLOCK		1000

/* Width of a partition without an end, unless values must be distinct. */
#define OPEN_WIDTH			INT64CONST(1000000)

/* Widths are cut here, so that sums of them do not overflow. */
#define MAX_WIDTH			INT64CONST(1000000000000)

/*
 * Part of a partition key's values: the integers from lo to hi - 1 for a
 * range, one value for a list.  Dates are counted in days and timestamps in
 * microseconds, later perhaps in seconds, from 2000-01-01.
 */
typedef struct KeySlot
{
	int64		lo;
	int64		hi;
	bool		open;			/* hi is not a bound but the type's limit */
	char	   *value;			/* list: SQL of the value */
	Oid			partition;
} KeySlot;

typedef struct KeyLevel
{
	AttrNumber	attnum;
	char		strategy;
	Oid			typid;			/* a domain's base type */
	int64		unit;			/* microseconds of a timestamp's number */
	List	   *slots;			/* KeySlot; of a range, ascending */
} KeyLevel;

static KeyLevel *read_level(Relation rel);
static void add_range_slots(KeyLevel *level, Relation rel, int64 lo, int64 hi, bool open);
static void add_range_slot(KeyLevel *level, Oid partition, int64 lo, int64 hi, bool open);
static bool divided_alike(Oid partition);
static void add_list_slots(KeyLevel *level, Relation rel);
static bool key_column(Relation rel, AttrNumber *attnum, char *strategy);
static bool bound_number(Oid typid, Datum value, int64 *number);
static bool key_limits(Oid typid, int64 *min, int64 *max);
static void choose_unit(KeyLevel *level);
static GenerateColumn *find_attnum(Generate *gen, AttrNumber attnum);
static void steer_first(Generate *gen, KeyLevel *level, GenerateColumn *column);
static char *place_random(Generate *gen, KeyLevel *level, GenerateColumn *column);
static char *place_list(Generate *gen, KeyLevel *level, GenerateColumn *column);
static char *place_by_blocks(Generate *gen, KeyLevel *level, GenerateColumn *column);
static char *place_in_turn(Generate *gen, KeyLevel *level, GenerateColumn *column);
static void steer_second(Generate *gen, KeyLevel *first);
static bool second_level(Generate *gen, KeyLevel *first, KeyLevel *second, List **starts, List **counts);
static char *level_number(GenerateColumn *column);
static char *noise(const char *number, GenerateColumn *column);
static char *block_offset(const char *block, const char *count);
static int64 block_capacity(KeyLevel *level, int64 block, int64 count);
static char *slot_value(KeyLevel *level, const char *slot, const char *offset);
static char *slot_array(KeyLevel *level, bool widths, bool open_too);
static int64 least_width(KeyLevel *level);
static void put_wide_last(KeyLevel *level);
static int64 slot_width(const KeySlot *slot, bool open_too);
static char *int8_array(List *numbers);
static int64 *copy_number(int64 value);
static int64 least_number(List *numbers);

void
ingest_generate_keys(Generate *gen)
{
	int			save_nestlevel = NewGUCNestLevel();
	KeyLevel   *first;
	GenerateColumn *column = NULL;

	/* Values of list partitions are written for any session to read. */
	(void) set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("intervalstyle", "postgres",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("extra_float_digits", "1",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);

	first = read_level(gen->target);
	if (first != NULL)
		column = find_attnum(gen, first->attnum);
	if (column != NULL)
	{
		steer_first(gen, first, column);
		steer_second(gen, first);
	}

	AtEOXact_GUC(true, save_nestlevel);
}

/*
 * Read the slots of a partitioned table's key, or of the first level below
 * that is not by hash.  NULL if they are of no use.
 */
static KeyLevel *
read_level(Relation rel)
{
	KeyLevel   *level = palloc0_object(KeyLevel);
	char		strategy;
	int64		min;
	int64		max;

	if (RelationGetPartitionKey(rel)->strategy == PARTITION_STRATEGY_HASH)
	{
		PartitionDesc partdesc = RelationGetPartitionDesc(rel, true);
		Relation	child;
		KeyLevel   *result = NULL;

		if (partdesc->nparts == 0)
			return NULL;
		child = table_open(partdesc->oids[0], AccessShareLock);
		if (child->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
			result = read_level(child);
		if (result != NULL)
			result->attnum = get_attnum(RelationGetRelid(rel),
										get_attname(RelationGetRelid(child),
													result->attnum, false));
		table_close(child, NoLock);
		return result;
	}

	if (!key_column(rel, &level->attnum, &strategy))
		return NULL;
	level->strategy = strategy;
	level->typid = getBaseType(TupleDescAttr(RelationGetDescr(rel),
											 level->attnum - 1)->atttypid);
	if (strategy == PARTITION_STRATEGY_LIST)
		add_list_slots(level, rel);
	else if (key_limits(level->typid, &min, &max))
		add_range_slots(level, rel, min, max, true);
	if (level->slots == NIL)
		return NULL;
	choose_unit(level);
	return level;
}

/*
 * Add the parts of a range partitioned table that are within lo and hi; open
 * says that hi is no bound.  A partition divided by the same column again is
 * replaced by its parts.
 */
static void
add_range_slots(KeyLevel *level, Relation rel, int64 lo, int64 hi, bool open)
{
	PartitionDesc partdesc = RelationGetPartitionDesc(rel, true);
	PartitionBoundInfo bounds = partdesc->boundinfo;
	int64		bottom = PG_INT64_MAX;
	int64		previous = lo;
	bool		previous_known = false;
	bool		top_open = false;

	if (partdesc->nparts == 0)
		return;

	/* indexes[i] is the partition that ends with bound i. */
	for (int i = 0; i < bounds->ndatums; i++)
	{
		PartitionRangeDatumKind kind = bounds->kind[i][0];
		int64		bound = hi;
		bool		known = false;

		if (kind == PARTITION_RANGE_DATUM_VALUE)
		{
			known = bound_number(level->typid, bounds->datums[i][0], &bound);
			if (!known)
				bound = (bound < 0) ? lo : hi;
		}
		else if (kind == PARTITION_RANGE_DATUM_MINVALUE)
			bound = lo;
		if (known)
			bound = Max(Min(bound, hi), lo);

		if (bounds->indexes[i] >= 0 && previous < bound)
		{
			int64		start = previous;

			/* Without a lower bound, stay near the upper one. */
			if (!previous_known && known && bound > lo + OPEN_WIDTH)
				start = bound - OPEN_WIDTH;
			add_range_slot(level, partdesc->oids[bounds->indexes[i]], start,
						   bound, !known && open);
			bottom = Min(bottom, start);
			top_open = !known;
		}
		previous = bound;
		previous_known = known;
	}

	/* The default partition gets what is above all others, or below. */
	if (bounds->default_index >= 0)
	{
		Oid			partition = partdesc->oids[bounds->default_index];

		if (bounds->ndatums == 0)
			add_range_slot(level, partition, Max(lo, 0), hi, open);
		else if (!top_open && previous < hi)
			add_range_slot(level, partition, previous, hi, open);
		else if (bottom > lo + OPEN_WIDTH)
			add_range_slot(level, partition, bottom - OPEN_WIDTH, bottom,
						   false);
	}
}

/* Add one slot, or those of the partition if the same column divides it. */
static void
add_range_slot(KeyLevel *level, Oid partition, int64 lo, int64 hi, bool open)
{
	KeySlot    *slot;

	if (get_rel_relkind(partition) == RELKIND_PARTITIONED_TABLE &&
		divided_alike(partition))
	{
		Relation	rel = table_open(partition, AccessShareLock);

		add_range_slots(level, rel, lo, hi, open);
		table_close(rel, NoLock);
		return;
	}

	slot = palloc0_object(KeySlot);
	slot->lo = lo;
	slot->hi = hi;
	slot->open = open;
	slot->partition = partition;
	level->slots = lappend(level->slots, slot);
}

/*
 * Is a partition of a range partitioned table divided by ranges of the same
 * column?
 */
static bool
divided_alike(Oid partition)
{
	Oid			parent = get_partition_parent(partition, false);
	Relation	rel = table_open(partition, AccessShareLock);
	Relation	parent_rel = table_open(parent, AccessShareLock);
	AttrNumber	attnum;
	AttrNumber	parent_attnum;
	char		strategy;
	char		parent_strategy;
	bool		alike = false;

	if (key_column(rel, &attnum, &strategy) &&
		strategy == PARTITION_STRATEGY_RANGE &&
		key_column(parent_rel, &parent_attnum, &parent_strategy))
		alike = strcmp(get_attname(partition, attnum, false),
					   get_attname(parent, parent_attnum, false)) == 0;
	table_close(parent_rel, NoLock);
	table_close(rel, NoLock);
	return alike;
}

/*
 * Add the values of a list partitioned table.  Nulls and the default
 * partition are passed over: nothing says which values would go there.
 */
static void
add_list_slots(KeyLevel *level, Relation rel)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc partdesc = RelationGetPartitionDesc(rel, true);
	PartitionBoundInfo bounds = partdesc->boundinfo;
	Oid			output;
	bool		varlena;
	char	   *type;

	if (partdesc->nparts == 0)
		return;
	getTypeOutputInfo(key->parttypid[0], &output, &varlena);
	type = format_type_extended(key->parttypid[0], key->parttypmod[0],
								FORMAT_TYPE_TYPEMOD_GIVEN |
								FORMAT_TYPE_FORCE_QUALIFY);
	for (int i = 0; i < bounds->ndatums; i++)
	{
		char	   *value = OidOutputFunctionCall(output,
												  bounds->datums[i][0]);
		KeySlot    *slot = palloc0_object(KeySlot);

		slot->value = psprintf("%s::%s", quote_literal_cstr(value), type);
		slot->partition = partdesc->oids[bounds->indexes[i]];
		level->slots = lappend(level->slots, slot);
	}
}

/* Is the table partitioned by range or list of one plain column? */
static bool
key_column(Relation rel, AttrNumber *attnum, char *strategy)
{
	PartitionKey key = RelationGetPartitionKey(rel);

	*strategy = key->strategy;
	*attnum = key->partattrs[0];
	return key->partnatts == 1 && *attnum > 0 &&
		(key->strategy == PARTITION_STRATEGY_RANGE ||
		 key->strategy == PARTITION_STRATEGY_LIST);
}

/* The bound as a number; false if it is infinite. */
static bool
bound_number(Oid typid, Datum value, int64 *number)
{
	switch (typid)
	{
		case INT2OID:
			*number = DatumGetInt16(value);
			return true;
		case INT4OID:
			*number = DatumGetInt32(value);
			return true;
		case INT8OID:
			*number = DatumGetInt64(value);
			return true;
		case DATEOID:
			*number = DatumGetDateADT(value);
			return !DATE_NOT_FINITE(DatumGetDateADT(value));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*number = DatumGetTimestamp(value);
			return !TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value));
		default:
			elog(ERROR, "unexpected type %u of a partition bound", typid);
			return false;		/* keep compiler quiet */
	}
}

/*
 * Numbers that values of the type can have, from min to max - 1; false if
 * they are not numbers.
 */
static bool
key_limits(Oid typid, int64 *min, int64 *max)
{
	switch (typid)
	{
		case INT2OID:
			*min = PG_INT16_MIN;
			*max = PG_INT16_MAX;
			break;
		case INT4OID:
			*min = PG_INT32_MIN;
			*max = PG_INT32_MAX;
			break;
		case INT8OID:
			*min = PG_INT64_MIN;
			*max = PG_INT64_MAX;
			break;
		case DATEOID:
			*min = DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE;
			*max = DATE_END_JULIAN - POSTGRES_EPOCH_JDATE;
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*min = MIN_TIMESTAMP;
			*max = END_TIMESTAMP;
			break;
		default:
			return false;
	}
	return true;
}

/*
 * Count timestamps in seconds where all bounds allow it: values then spread
 * over their partitions, and survive timestamp(0).
 */
static void
choose_unit(KeyLevel *level)
{
	ListCell   *lc;

	level->unit = 1;
	if (level->strategy != PARTITION_STRATEGY_RANGE ||
		(level->typid != TIMESTAMPOID && level->typid != TIMESTAMPTZOID))
		return;

	foreach(lc, level->slots)
	{
		KeySlot    *slot = lfirst(lc);

		if (slot->lo % USECS_PER_SEC != 0 || slot->hi % USECS_PER_SEC != 0)
			return;
	}
	foreach(lc, level->slots)
	{
		KeySlot    *slot = lfirst(lc);

		slot->lo /= USECS_PER_SEC;
		slot->hi /= USECS_PER_SEC;
	}
	level->unit = USECS_PER_SEC;
}

/* The column by that number, or NULL if it is not to be generated. */
static GenerateColumn *
find_attnum(Generate *gen, AttrNumber attnum)
{
	ListCell   *lc;

	foreach(lc, gen->columns)
	{
		GenerateColumn *column = lfirst(lc);

		if (column->attnum == attnum)
			return column;
	}
	return NULL;
}

/* Choose slot and value at the first level. */
static void
steer_first(Generate *gen, KeyLevel *level, GenerateColumn *column)
{
	char	   *offset;

	if (column->kind == GENERATE_RANDOM)
		offset = place_random(gen, level, column);
	else if (level->strategy == PARTITION_STRATEGY_LIST)
		offset = place_list(gen, level, column);
	else if (least_width(level) >= PARTITION_BLOCK)
		offset = place_by_blocks(gen, level, column);
	else
		offset = place_in_turn(gen, level, column);
	column->key_value = slot_value(level, "g.slot", offset);
}

/* Random values: any slot, any place in it; returns the place. */
static char *
place_random(Generate *gen, KeyLevel *level, GenerateColumn *column)
{
	char	   *number = level_number(column);
	char	   *count = ingest_sql_int8(list_length(level->slots));
	char	   *offset;

	gen->slot = ingest_sql("1 {+} ($1 {%} $2)", number, count, NULL);
	offset = ingest_sql("($1 {/} $2)", number, count, NULL);
	return ingest_sql("($1 {%} ($2)[g.slot])", offset,
					  slot_array(level, true, false), NULL);
}

/* Listed values one after the other, correlated ones by blocks. */
static char *
place_list(Generate *gen, KeyLevel *level, GenerateColumn *column)
{
	int			nslots = list_length(level->slots);
	bool		distinct = (column->kind == GENERATE_DISTINCT);

	if (distinct)
		ingest_generate_check_distinct(gen, column, nslots);
	gen->slot = ingest_sql("1 {+} ((i {/} $1) {%} $2)",
						   ingest_sql_int8(distinct ? 1 : PARTITION_BLOCK),
						   ingest_sql_int8(nslots), NULL);
	return NULL;
}

/*
 * The partitions in turn by blocks, each block going on where the partition's
 * last one ended, so that a short series, too, meets all partitions, and rows
 * that follow each other are mostly in the same one.
 */
static char *
place_by_blocks(Generate *gen, KeyLevel *level, GenerateColumn *column)
{
	char	   *block = ingest_sql_int8(PARTITION_BLOCK);
	char	   *count = ingest_sql_int8(list_length(level->slots));
	char	   *offset;

	gen->slot = ingest_sql("1 {+} ((i {/} $1) {%} $2)", block, count, NULL);
	offset = block_offset(block, count);
	if (column->kind == GENERATE_DISTINCT)
	{
		ingest_generate_check_distinct(gen, column,
									   block_capacity(level, PARTITION_BLOCK,
													  list_length(level->slots)));
		return offset;
	}
	return ingest_sql("(($1 {+} $2) {%} ($3)[g.slot])", offset,
					  noise("g.i", column), slot_array(level, true, true));
}

/*
 * One partition after the other, where some are too small for blocks; these
 * come first.
 */
static char *
place_in_turn(Generate *gen, KeyLevel *level, GenerateColumn *column)
{
	List	   *starts = NIL;
	int64		total = 0;
	char	   *place = "i";
	char	   *array;
	ListCell   *lc;

	put_wide_last(level);
	foreach(lc, level->slots)
	{
		starts = lappend(starts, copy_number(total));
		total += slot_width(lfirst(lc), true);
	}
	array = int8_array(starts);

	if (column->kind == GENERATE_DISTINCT)
		ingest_generate_check_distinct(gen, column, total);
	else
		place = ingest_sql("(i {+} $1)", noise("i", column), NULL, NULL);
	place = ingest_sql("($1 {%} $2)", place, ingest_sql_int8(total), NULL);
	gen->slot = ingest_sql("@width_bucket($1, $2)", place, array, NULL);
	return ingest_sql("($1 {-} ($2)[g.slot])", place, array, NULL);
}

/*
 * Choose slot and value at the second level, among those within the row's
 * first-level slot.  Blocks go round as at the first level, but the number of
 * slots they go round by differs; distinct values are so at least where every
 * first-level slot is divided alike.
 */
static void
steer_second(Generate *gen, KeyLevel *first)
{
	KeyLevel	second = {0};
	List	   *starts = NIL;
	List	   *counts = NIL;
	GenerateColumn *column;
	char	   *start;
	char	   *count;
	char	   *slot;
	char	   *offset;

	if (!second_level(gen, first, &second, &starts, &counts))
		return;
	column = find_attnum(gen, second.attnum);
	if (column == NULL || column->key_value != NULL)
		return;

	start = psprintf("(%s)[g.slot]", int8_array(starts));
	count = psprintf("(%s)[g.slot]", int8_array(counts));
	if (column->kind == GENERATE_RANDOM)
	{
		char	   *number = level_number(column);

		slot = ingest_sql("($1 {+} ($2 {%} $3))", start, number, count);
		offset = ingest_sql("($1 {/} $2)", number, count, NULL);
	}
	else
	{
		int64		size = (least_width(&second) < PARTITION_BLOCK) ?
			1 : PARTITION_BLOCK;
		char	   *block = ingest_sql_int8(size);

		if (column->kind == GENERATE_DISTINCT)
			ingest_generate_check_distinct(gen, column,
										   block_capacity(&second, size,
														  least_number(counts)));
		slot = ingest_sql("($1 {+} ((g.i {/} $2) {%} $3))", start, block,
						  count);
		offset = block_offset(block, count);
	}
	offset = ingest_sql("($1 {%} ($2)[$3])", offset,
						slot_array(&second, true, column->kind != GENERATE_RANDOM),
						slot);
	column->key_value = slot_value(&second, slot, offset);
}

/*
 * Put the slots of all partitions of the first level into one list, starts
 * and counts saying where each first-level slot's are.  False unless all that
 * are partitioned are so by the same column in the same way.
 */
static bool
second_level(Generate *gen, KeyLevel *first, KeyLevel *second,
			 List **starts, List **counts)
{
	ListCell   *lc;

	foreach(lc, first->slots)
	{
		KeySlot    *slot = lfirst(lc);
		Relation	rel;
		KeyLevel   *below;
		AttrNumber	attnum = InvalidAttrNumber;

		if (get_rel_relkind(slot->partition) != RELKIND_PARTITIONED_TABLE)
			return false;
		rel = table_open(slot->partition, AccessShareLock);
		below = read_level(rel);
		if (below != NULL)
			attnum = get_attnum(RelationGetRelid(gen->target),
								get_attname(RelationGetRelid(rel),
											below->attnum, false));
		table_close(rel, NoLock);
		if (below == NULL ||
			(second->slots != NIL &&
			 (attnum != second->attnum ||
			  below->strategy != second->strategy ||
			  below->unit != second->unit)))
			return false;

		*starts = lappend(*starts,
						  copy_number(list_length(second->slots) + 1));
		*counts = lappend(*counts, copy_number(list_length(below->slots)));
		below->attnum = attnum;
		below->slots = list_concat(second->slots, below->slots);
		*second = *below;
	}
	return second->slots != NIL;
}

/* The number that slot and place in it are taken from if order is no matter. */
static char *
level_number(GenerateColumn *column)
{
	char	   *number = ingest_sql_hash("i", column->seed);

	if (column->nvalues > 0)
		number = ingest_sql("($1 {%} $2)", number, ingest_sql_int8(column->nvalues), NULL);
	return number;
}

/* SQL of what puts a correlated value off its place. */
static char *
noise(const char *number, GenerateColumn *column)
{
	return ingest_sql("($1 {%} $2)", ingest_sql_hash(number, column->seed),
					  ingest_sql_int8(GENERATE_NOISE), NULL);
}

/* SQL of the row's place in its slot if count slots take turns by blocks. */
static char *
block_offset(const char *block, const char *count)
{
	return ingest_sql("(((g.i {/} ($1 {*} $2)) {*} $1) {+} (g.i {%} $1))",
					  block, count, NULL);
}

/* How many rows that goes on for until the smallest slot is full. */
static int64
block_capacity(KeyLevel *level, int64 block, int64 count)
{
	return Min(MAX_WIDTH, least_width(level) / block * block * count);
}

/* SQL of the value at an offset within a slot. */
static char *
slot_value(KeyLevel *level, const char *slot, const char *offset)
{
	char	   *array = slot_array(level, false, false);
	char	   *value;

	if (level->strategy == PARTITION_STRATEGY_LIST)
		return ingest_sql("($1)[$2]", array, slot, NULL);

	value = ingest_sql("(($1)[$2] {+} $3)", array, slot, offset);
	switch (level->typid)
	{
		case DATEOID:
			return ingest_sql("'2000-01-01'::@date {+} ($1)::@int4", value, NULL,
							  NULL);
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return ingest_sql("$1 {+} ($2 {*} ($3)::@float8)",
							  level->typid == TIMESTAMPOID ?
							  "'2000-01-01'::pg_catalog.timestamp" :
							  "'2000-01-01 00:00:00+00'::pg_catalog.timestamptz",
							  level->unit == 1 ?
							  "'1 microsecond'::pg_catalog.interval" :
							  "'1 second'::pg_catalog.interval",
							  value);
	}
	return value;
}

/* SQL of an array of the slots' values, first numbers, or widths. */
static char *
slot_array(KeyLevel *level, bool widths, bool open_too)
{
	List	   *numbers = NIL;
	StringInfoData values;
	ListCell   *lc;

	initStringInfo(&values);
	foreach(lc, level->slots)
	{
		KeySlot    *slot = lfirst(lc);

		if (slot->value != NULL)
			appendStringInfo(&values, "%s%s", values.len > 0 ? ", " : "",
							 slot->value);
		numbers = lappend(numbers,
						  copy_number(widths ? slot_width(slot, open_too) :
									  slot->lo));
	}
	if (level->strategy == PARTITION_STRATEGY_LIST && !widths)
		return psprintf("ARRAY[%s]", values.data);
	return int8_array(numbers);
}

/* Width of the slot that has the fewest values. */
static int64
least_width(KeyLevel *level)
{
	int64		least = MAX_WIDTH;
	ListCell   *lc;

	foreach(lc, level->slots)
		least = Min(least, slot_width(lfirst(lc), true));
	return least;
}

/* Move the slots of a block or more behind the others. */
static void
put_wide_last(KeyLevel *level)
{
	List	   *narrow = NIL;
	List	   *wide = NIL;
	ListCell   *lc;

	foreach(lc, level->slots)
	{
		if (slot_width(lfirst(lc), true) < PARTITION_BLOCK)
			narrow = lappend(narrow, lfirst(lc));
		else
			wide = lappend(wide, lfirst(lc));
	}
	level->slots = list_concat(narrow, wide);
}

/* How many values a slot has; one without an end has few or many. */
static int64
slot_width(const KeySlot *slot, bool open_too)
{
	int64		width;

	if (slot->value != NULL)
		return 1;
	if (pg_sub_s64_overflow(slot->hi, slot->lo, &width))
		width = MAX_WIDTH;
	if (slot->open && !open_too)
		width = Min(width, OPEN_WIDTH);
	return Min(width, MAX_WIDTH);
}

/* SQL of an array of a list of int64 pointers. */
static char *
int8_array(List *numbers)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	foreach(lc, numbers)
		appendStringInfo(&buf, "%s" INT64_FORMAT, buf.len > 0 ? "," : "",
						 *(int64 *) lfirst(lc));
	return psprintf("'{%s}'::pg_catalog.int8[]", buf.data);
}

/* A number to put in a list. */
static int64 *
copy_number(int64 value)
{
	int64	   *number = palloc_object(int64);

	*number = value;
	return number;
}

/* The least of a list of int64 pointers. */
static int64
least_number(List *numbers)
{
	int64		least = PG_INT64_MAX;
	ListCell   *lc;

	foreach(lc, numbers)
		least = Min(least, *(int64 *) lfirst(lc));
	return least;
}
