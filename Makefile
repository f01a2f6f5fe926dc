EXTENSION = ingest_tools
MODULE_big = ingest_tools
PGFILEDESC = "ingest_tools - ways to load rows, and what each costs"

OBJS = \
	$(WIN32RES) \
	src/bench.o \
	src/bench_measure.o \
	src/bench_plan.o \
	src/choose.o \
	src/chunk.o \
	src/cleanup.o \
	src/client.o \
	src/clone.o \
	src/clone_hash.o \
	src/clone_name.o \
	src/convert.o \
	src/convert_datetime.o \
	src/convert_number.o \
	src/convert_text.o \
	src/copy_hook.o \
	src/csv.o \
	src/decode.o \
	src/direct.o \
	src/direct_check.o \
	src/direct_rows.o \
	src/flush_ahead.o \
	src/foreign_key.o \
	src/generate.o \
	src/generate_key.o \
	src/generate_value.o \
	src/index.o \
	src/index_key.o \
	src/index_leaf.o \
	src/index_page.o \
	src/index_rebuild.o \
	src/index_run.o \
	src/index_sorted.o \
	src/ingest_tools.o \
	src/inline.o \
	src/input.o \
	src/key_set.o \
	src/load.o \
	src/load_function.o \
	src/load_run.o \
	src/load_sessions.o \
	src/options.o \
	src/parallel.o \
	src/parse.o \
	src/prefault.o \
	src/progress.o \
	src/report.o \
	src/route.o \
	src/row.o \
	src/scan.o \
	src/scenario.o \
	src/scenario_blob_inline.o \
	src/scenario_commit_write.o \
	src/scenario_db2_load.o \
	src/scenario_polardbx_batch.o \
	src/scenario_psql_30k.o \
	src/session.o \
	src/session_process.o \
	src/publish.o \
	src/publish_durable.o \
	src/publish_exchange.o \
	src/source.o \
	src/spool.o \
	src/staged.o \
	src/staged_check.o \
	src/staged_transfer.o \
	src/strategy.o \
	src/toast.o \
	src/usage.o \
	src/usage_wal.o \
	src/waits.o \
	src/write_copy.o \
	src/write_insert.o \
	src/write_pages.o \
	src/write_rows.o
SHLIB_LINK = -lcsv

# The control file is the one source of the version.
INGEST_VERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" ingest_tools.control)
PG_CPPFLAGS = -DINGEST_VERSION='"$(INGEST_VERSION)"'

# A file in sql/ with "--" in its name is an extension script, any other is a
# test.
DATA = sql/ingest_tools--1.0.sql

SQL_TESTS = \
	strategies \
	options \
	source \
	copy_equal \
	load \
	direct \
	direct_tables \
	index_modes \
	fallback \
	auto \
	foreign_keys \
	copy_hook \
	inline \
	staged \
	bench \
	scenario \
	privileges

REGRESS = $(SQL_TESTS)
REGRESS_OPTS = --load-extension=ingest_tools

ISOLATION = bench_vs_alter direct_vs_maintenance direct_vs_parent direct_vs_readers direct_vs_writers \
	load_vs_ddl load_vs_load load_vs_parent load_vs_read staged_vs_others
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=ingest_tools

TAP_TESTS = 1
PROVE_TESTS ?= test/t/*.pl

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Packaged servers are built without dependency tracking.
$(OBJS) $(OBJS:.o=.bc): $(wildcard src/*.h)

# Measurements, run as root; see test/bench/README.md.
BENCH ?= direct
.PHONY: bench
bench:
	test/bench/run $(BENCH)
