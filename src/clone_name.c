/*-------------------------------------------------------------------------
 *
 * clone_name.c
 *		What clones are called, and those that were left behind.
 *
 * A clone is known by its name and by the comment it carries, which tells the
 * process that had it made: a clone whose maker is no longer there is a
 * leftover, unless it is just about to be dropped.
 *
 * IDENTIFICATION
 *		src/clone_name.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "clone.h"
#include "compat.h"

#define CLONE_NAME_PREFIX	"ingest_clone_"
#define CLONE_MARKER		"ingest_tools clone of "
#define CLONE_MARKER_MAKER	", made by process "

static bool maker_is_running(const char *comment);

/*
 * Choose a name.  The process ID makes it ours among the running processes,
 * the look into pg_class keeps us off what an earlier process of the same ID
 * left behind and off any table of the user's, in whatever schema it is.
 */
char *
ingest_clone_name(void)
{
	static uint32 counter = 0;

	for (;;)
	{
		char	   *name = psprintf(CLONE_NAME_PREFIX "%d_%u",
									MyProcPid, ++counter);
		CatCList   *found = SearchSysCacheList1(RELNAMENSP,
												CStringGetDatum(name));
		bool		taken = (found->n_members > 0);

		ReleaseSysCacheList(found);
		if (!taken)
			return name;
		pfree(name);
	}
}

/*
 * Compose the comment; maker_is_running() reads it.  The time is when the
 * process started, which with its ID names it once and for all.
 */
char *
ingest_clone_comment(const char *source)
{
	return psprintf(CLONE_MARKER "%s" CLONE_MARKER_MAKER
					"%d started " INT64_FORMAT,
					source, MyProcPid, (int64) MyStartTimestamp);
}

/*
 * Write the SQL that drops the clone.  No CASCADE: should the user have made
 * something depend on it, that is for the user to drop.
 */
char *
ingest_clone_drop_sql(Relation target, const char *name)
{
	char	   *schema = get_namespace_name(RelationGetNamespace(target));

	/* It is no news that there is nothing to drop. */
	return psprintf("SET LOCAL client_min_messages = warning;\n"
					"DROP TABLE IF EXISTS %s;\n",
					quote_qualified_identifier(schema, name));
}

/*
 * List the clones in this database whose maker is gone and which the caller
 * may drop: qualified, quoted names (char *), in CurrentMemoryContext.
 */
List *
ingest_clone_leftovers(void)
{
	List	   *leftovers = NIL;
	MemoryContext caller_context = CurrentMemoryContext;

	SPI_connect();
	if (SPI_execute("SELECT n.nspname, c.relname, d.description"
					" FROM pg_catalog.pg_class c"
					" JOIN pg_catalog.pg_namespace n"
					" ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
					" JOIN pg_catalog.pg_description d"
					" ON d.objoid OPERATOR(pg_catalog.=) c.oid"
					" AND d.classoid OPERATOR(pg_catalog.=)"
					" 'pg_catalog.pg_class'::pg_catalog.regclass"
					" AND d.objsubid OPERATOR(pg_catalog.=) 0"
					" WHERE c.relname OPERATOR(pg_catalog.~)"
					" '^" CLONE_NAME_PREFIX "[0-9]+_[0-9]+$'"
					" AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}')"
					" AND pg_catalog.starts_with(d.description,"
					" '" CLONE_MARKER "')"
					" AND pg_catalog.pg_has_role(c.relowner, 'USAGE')"
					" ORDER BY c.oid",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list clones");

	/* Whoever started or left since our last look counts. */
	pgstat_clear_backend_activity_snapshot();

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	tupdesc = SPI_tuptable->tupdesc;
		MemoryContext spi_context;

		if (maker_is_running(SPI_getvalue(tuple, tupdesc, 3)))
			continue;
		spi_context = MemoryContextSwitchTo(caller_context);
		leftovers = lappend(leftovers,
							quote_qualified_identifier(SPI_getvalue(tuple, tupdesc, 1),
													   SPI_getvalue(tuple, tupdesc, 2)));
		MemoryContextSwitchTo(spi_context);
	}
	SPI_finish();

	return leftovers;
}

/*
 * Is the process still there that the comment of a clone tells of?  A comment
 * that tells of none is not of our making, and its table not ours to judge.
 */
static bool
maker_is_running(const char *comment)
{
	const char *maker = NULL;
	int			pid;
	long long	started;
	int			nbackends;

	/* The table's name comes first and may hold anything. */
	for (const char *p = comment; (p = strstr(p, CLONE_MARKER_MAKER)); p++)
		maker = p;
	if (maker == NULL ||
		sscanf(maker, CLONE_MARKER_MAKER "%d started %lld",
			   &pid, &started) != 2)
		return true;

	nbackends = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= nbackends; i++)
	{
		LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);
		PgBackendStatus *status = &local->backendStatus;

		if (status->st_procpid == pid &&
			status->st_proc_start_timestamp == (TimestampTz) started)
			return true;
	}
	return false;
}
