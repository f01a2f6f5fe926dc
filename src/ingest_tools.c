/*-------------------------------------------------------------------------
 *
 * ingest_tools.c
 *		Module entry: magic block and settings.
 *
 * Portions Copyright (c) 2026, the ingest_tools authors
 *
 * IDENTIFICATION
 *		src/ingest_tools.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "choose.h"
#include "compat.h"
#include "copy_hook.h"
#include "direct.h"
#include "options.h"

INGEST_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	ingest_copy_hook_install();
	ingest_choose_define_settings();
	ingest_direct_define_settings();
	ingest_index_define_settings();
	ingest_options_define_settings();
}
