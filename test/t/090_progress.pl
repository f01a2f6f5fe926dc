# A load by "direct" shows how far it is: a process stops in the middle of the
# file, and another session looks.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('progress');

$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;

# Rows are shown by the thousand.  Record 1500 waits for a lock of the test.
my $file = $node->basedir . '/rows.csv';

append_to_file($file, join '', map { "$_\n" } 1 .. 2000);
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION ingest_tools;
CREATE FUNCTION gate(id int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF id = 1500 THEN
		PERFORM pg_advisory_lock_shared(1);
		PERFORM pg_advisory_unlock_shared(1);
	END IF;
	RETURN true;
END $$;
CREATE TABLE t (id int CHECK (gate(id)))});

my $holder = $node->background_psql('postgres');

$holder->query_safe('SELECT pg_advisory_lock(1)');

my $out = '';
my $load = IPC::Run::start(
	[
		'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
		"SELECT strategy_used, rows_loaded FROM ingest_load('t', '$file', 'format csv, strategy direct')"
	],
	'<', \undef, '>', \$out);

ok( $node->poll_query_until(
		'postgres', q{
SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'advisory'}),
	'the load is held');
is( $node->safe_psql(
		'postgres', q{
SELECT phase, strategy, rows_loaded, bytes_processed = bytes_total, percent
FROM ingest_progress}
	),
	'loading|direct|1000|t|100.0',
	'its rows are shown, and that all of the file has been read');
is( $node->safe_psql(
		'postgres',
		'SELECT tuples_processed, bytes_total FROM pg_stat_progress_copy'),
	'1000|' . -s $file,
	'also where COPY shows them');

$holder->query_safe('SELECT pg_advisory_unlock(1)');
$load->finish;
is($out, "direct|2000\n", 'the load goes on');
is($node->safe_psql('postgres', 'SELECT count(*) FROM ingest_progress'),
	0, 'and is not shown any more');

$holder->quit;
$node->stop;

done_testing();
