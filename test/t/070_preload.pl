# The library works however it is loaded, beside others that use the same
# hooks, and with the extension in any schema; DROP EXTENSION takes all of it
# away; and a dump keeps the history of loads.
#
# It takes servers with libraries preloaded, and pg_dump.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('preload');

$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
max_worker_processes = 16
});
$node->start;

# Others that may be preloaded together, as far as they are installed.
my @others = grep {
	my ($status) = $node->psql('postgres', "LOAD '$_'");
	my $installed = $status == 0
	  || $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = '$_'") > 0;

	note("$_ is not installed") unless $installed;
	$installed;
} qw(pg_stat_statements auto_explain pg_wait_sampling);

$node->safe_psql(
	'postgres', q{
CREATE SCHEMA "My Tools";
CREATE EXTENSION ingest_tools SCHEMA "My Tools";
CREATE TABLE preload_test (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
CREATE TABLE preload_test_0 PARTITION OF preload_test
	FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE preload_test_1 PARTITION OF preload_test
	FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON preload_test (v);
});

# Load and bench by every strategy, with the tools in a schema that is not in
# search_path.
sub check_works
{
	my ($what, $setup) = @_;

	is( $node->safe_psql(
			'postgres', $setup . q{
SELECT string_agg(DISTINCT strategy, ' '), bool_and(verified), min(rows_loaded)
FROM "My Tools".ingest_bench('preload_test',
	'SELECT g, ''row '' || g FROM generate_series(1, 100) g',
	workers => '{1,2}', checkpoint => false)}),
		'copy direct insert insert_prepared insert_values online|t|100',
		"$what: bench");
	is( $node->safe_psql(
			'postgres', $setup . q{
SELECT sum(rows_loaded) = 100 * count(*)
FROM "My Tools".ingest_strategies() WITH ORDINALITY AS s(strategy, description),
	LATERAL "My Tools".ingest_load('preload_test',
		format('SELECT g + 1000 * %s, %L FROM generate_series(1, 100) g',
			s.ordinality, s.description),
		'strategy ' || s.strategy) l;
TRUNCATE preload_test;}),
		't',
		"$what: load");
	is( $node->safe_psql(
			'postgres', $setup . q{
SELECT count(*) > 0, bool_and(role = current_user) FROM "My Tools".ingest_history;
SELECT count(*) FROM "My Tools".ingest_progress;
SELECT count(*) FROM "My Tools".ingest_cleanup();
SELECT (strategy IS NULL) FROM "My Tools".ingest_last_report();}),
		"t|t\n0\n0\nt",
		"$what: history, progress, cleanup, last report");
	return;
}

check_works('first call loads it', '');
check_works('LOAD', "LOAD 'ingest_tools'; SET ingest_tools.wait_sample_interval = 5;");
is( $node->safe_psql(
		'postgres', q{
SET ingest_tools.wait_sample_interval = '7ms';
SELECT count(*) > 0 FROM "My Tools".ingest_strategies();
SHOW ingest_tools.wait_sample_interval}),
	"t\n7ms",
	'a setting made before the library is loaded');

$node->append_conf('postgresql.conf',
	"session_preload_libraries = 'ingest_tools'\n");
$node->restart;
check_works('session_preload_libraries', '');

foreach my $libraries ("ingest_tools, " . join(', ', @others),
	join(', ', @others) . ', ingest_tools')
{
	my $what = "shared_preload_libraries = '$libraries'";

	$node->append_conf(
		'postgresql.conf', qq{
session_preload_libraries = ''
shared_preload_libraries = '$libraries'
} . (grep({ $_ eq 'auto_explain' } @others) ? q{
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_buffers = on
auto_explain.log_wal = on
auto_explain.log_triggers = on
auto_explain.log_nested_statements = on
} : '') . (grep({ $_ eq 'pg_stat_statements' } @others) ? q{
pg_stat_statements.track = 'all'
pg_stat_statements.track_planning = on
} : ''));
	$node->restart;
	check_works($what, '');
}

#
# Dump and restore
#

my $history_sql = q{
SELECT count(*), md5(string_agg(h::text, ',' ORDER BY id)), max(id)
FROM "My Tools".ingest_history h};
my $history = $node->safe_psql('postgres', $history_sql);
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';

$node->command_ok(
	[
		'pg_dump', '--no-sync', '--file', $dump,
		'--dbname', $node->connstr('postgres')
	],
	'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok(
	[
		'psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1',
		'--file', $dump, '--dbname', $node->connstr('restored')
	],
	'restore');
is($node->safe_psql('restored', $history_sql), $history,
	'the history is restored');
is( $node->safe_psql(
		'restored', q{
SELECT rows_loaded FROM "My Tools".ingest_load('preload_test', 'SELECT 1, ''x''');
SELECT count(DISTINCT id) = count(*) FROM "My Tools".ingest_history;
CREATE ROLE nobody;
GRANT USAGE ON SCHEMA "My Tools" TO nobody, pg_read_all_stats;
SET ROLE nobody;
SELECT count(*) FROM "My Tools".ingest_history;
SET ROLE pg_read_all_stats;
SELECT count(*) > 0 FROM "My Tools".ingest_history}),
	"1\nt\n0\nt",
	'and goes on, under the same rights');

#
# The end
#

is( $node->safe_psql(
		'restored', q{
DROP EXTENSION ingest_tools;
SELECT count(*) FROM pg_proc WHERE proname LIKE 'ingest%';
SELECT count(*) FROM pg_class WHERE relname LIKE 'ingest%';
SELECT count(*) FROM pg_type WHERE typname LIKE '%ingest%';
SELECT count(*) FROM preload_test;
CREATE EXTENSION ingest_tools SCHEMA public;
SELECT count(*) FROM ingest_history;
SELECT rows_loaded FROM ingest_load('preload_test', 'SELECT 3, ''x''')}),
	"0\n0\n0\n1\n0\n1",
	'DROP EXTENSION leaves nothing, and it can be created again');

# A user who may create nothing can still load what is theirs to load.
$node->safe_psql(
	'restored', q{
CREATE ROLE loader;
GRANT INSERT ON preload_test TO loader;});
is( $node->safe_psql(
		'restored', q{
SET ROLE loader;
SELECT rows_loaded FROM ingest_load('preload_test', 'SELECT 4, ''x''');
SELECT rows_loaded FROM ingest_load('preload_test', 'SELECT 5, ''x''', 'workers 2');
SELECT count(*) FROM ingest_history}),
	"1\n1\n2",
	'a role without any right but INSERT');

$node->stop;

done_testing();
