/*-------------------------------------------------------------------------
 *
 * cleanup.c
 *		ingest_cleanup(): drop the clones that a crash has left.
 *
 * A bench drops its clones itself, whatever ends it; only a crash of the
 * server can keep it from that.
 *
 * IDENTIFICATION
 *		src/cleanup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "clone.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(ingest_cleanup);

/*
 * ingest_cleanup() drops those the caller may drop and returns their names.
 */
Datum
ingest_cleanup(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *leftovers = ingest_clone_leftovers();
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);

	foreach(lc, leftovers)
	{
		const char *name = (const char *) lfirst(lc);
		Datum		value = CStringGetTextDatum(name);
		bool		isnull = false;

		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		if (SPI_execute(psprintf("DROP TABLE IF EXISTS %s CASCADE", name),
						false, 0) != SPI_OK_UTILITY)
			elog(ERROR, "could not drop %s", name);
		SPI_finish();
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}

	return (Datum) 0;
}
