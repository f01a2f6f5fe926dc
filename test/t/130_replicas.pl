# A streaming standby and a logical subscriber hold the rows of a load, also
# from within a savepoint, also values of a TOAST table, and go on after
# promotion; test_decoding shows each row once.  The standby compares each page
# it makes with the primary's.
#
# It takes three servers that replicate.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

my $nrows = 10_000;

my $primary = safety_node('primary', '', allows_streaming => 'logical');

$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $subscriber = safety_node('subscriber', '', allows_streaming => 'logical');

my $file = write_file(
	'rows.csv', 1, $nrows,
	sub {
		my ($i) = @_;

		return join ',', $i, $i * 7919 % 1009,
		  $i % 300 == 0 ? "$i wide " x 1000 : "row $i", "\"{$i}\"";
	});
my $more = write_file('more.csv', $nrows + 1, $nrows + 1000,
	sub { "$_[0],$_[0],more,{}" });

# One table for each way and kind of table.
my %kinds = (
	'plain' => q{
CREATE TABLE %s (id int PRIMARY KEY, k int, v text, w int[]);
ALTER TABLE %s ALTER v SET STORAGE external;},
	'partitioned' => q{
CREATE TABLE %s (id int PRIMARY KEY, k int, v text, w int[]) PARTITION BY RANGE (id);
CREATE TABLE %s_1 PARTITION OF %s FOR VALUES FROM (0) TO (4000);
CREATE TABLE %s_2 (w int[], v text, id int NOT NULL, gone int, k int);
ALTER TABLE %s_2 DROP COLUMN gone;
ALTER TABLE %s ATTACH PARTITION %s_2 DEFAULT;});
my %tables;
my $n = 0;

foreach my $kind (sort keys %kinds)
{
	foreach my $way (ways())
	{
		my $table = 't' . $n++;
		my $sql = ($kinds{$kind} =~ s/%s/$table/gr)
		  . "CREATE INDEX ON $table (k); CREATE INDEX ON $table USING gin (w)";

		$tables{$table} = [ "$kind, $way->[0]", $way->[1] ];
		$primary->safe_psql('postgres', $sql);
		$subscriber->safe_psql('postgres', $sql);
	}
}
$primary->safe_psql('postgres',
	'CREATE PUBLICATION pub FOR TABLE ' . join(', ', sort keys %tables));
$subscriber->safe_psql('postgres',
	    q{CREATE SUBSCRIPTION sub CONNECTION '}
	  . $primary->connstr
	  . q{ dbname=postgres' PUBLICATION pub});
$subscriber->wait_for_subscription_sync($primary, 'sub');
$primary->safe_psql('postgres',
	q{SELECT pg_create_logical_replication_slot('decoding', 'test_decoding')});
$primary->safe_psql('postgres', q{
ALTER SYSTEM SET wal_consistency_checking = 'all'; SELECT pg_reload_conf()});

# Rows come from two savepoints of one transaction, what is rolled back is
# nowhere.
foreach my $table (sort keys %tables)
{
	my ($what, $options) = @{ $tables{$table} };
	my $load = load_sql($table, $file, $options);
	my $load_more = load_sql($table, $more, $options);

	is( $primary->safe_psql(
			'postgres', qq{
BEGIN;
SAVEPOINT a;
$load;
ROLLBACK TO a;
SAVEPOINT b;
$load;
UPDATE $table SET k = -1 WHERE id = 300;
RELEASE b;
SAVEPOINT c;
$load_more;
SAVEPOINT d;
DELETE FROM $table WHERE id = $nrows + 1;
COMMIT}),
		"$nrows\n$nrows\n1000",
		"$what: loads");
}

$primary->wait_for_catchup($standby);
$primary->wait_for_catchup('sub');

my %sums;
my $left = $nrows + 999;

foreach my $table (sort keys %tables)
{
	my ($what) = @{ $tables{$table} };

	$sums{$table} = $primary->safe_psql('postgres', sum_sql($table));
	like($sums{$table}, qr/^$left\|/, "$what: rows on the primary");
	is($standby->safe_psql('postgres', sum_sql($table)),
		$sums{$table}, "$what: rows on the standby");
	is($subscriber->safe_psql('postgres', sum_sql($table)),
		$sums{$table}, "$what: rows at the subscriber");
	is( $standby->safe_psql(
			'postgres', qq{
SET enable_seqscan = off;
SELECT count(*) FROM $table WHERE id >= 0;
SELECT count(*) FROM $table WHERE k >= -1;
SELECT count(*) FROM $table WHERE w @> '{300}'}),
		"$left\n$left\n1",
		"$what: indexes on the standby");
}
is( $standby->safe_psql(
		'postgres', q{
SELECT v.* FROM pg_class c, LATERAL verify_heapam(c.oid) v
WHERE c.relkind IN ('r', 't') AND c.oid >= 16384;
SELECT count(bt_index_check(c.oid, true)) FILTER (WHERE false)
FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE c.relkind = 'i' AND a.amname = 'btree' AND c.oid >= 16384}),
	0,
	'tables and indexes on the standby are sound');

# Each row is decoded once, with all of each value.
my $wide = int($nrows / 300);

$primary->safe_psql('postgres',
	q{CREATE TABLE decoded AS
SELECT data FROM pg_logical_slot_get_changes('decoding', NULL, NULL)});
foreach my $table (sort keys %tables)
{
	my ($what) = @{ $tables{$table} };

	is( $primary->safe_psql(
			'postgres', qq{
SELECT count(*), count(DISTINCT substring(data FROM 'id\\[integer\\]:(\\d+)')),
	count(*) FILTER (WHERE length(data) > 5000),
	count(*) FILTER (WHERE data LIKE '%unchanged-toast-datum%')
FROM decoded WHERE data ~ '^table public\\.${table}(_\\d)?: INSERT'}),
		join('|', $nrows + 1000, $nrows + 1000, $wide, 0),
		"$what: rows that test_decoding shows");
}
$primary->safe_psql('postgres',
	q{SELECT pg_drop_replication_slot('decoding')});

# What is loaded and not committed when the standby is promoted is lost there,
# nothing else; and it loads.
my $session = $primary->background_psql('postgres');

$session->query_safe("BEGIN; "
	  . load_sql('t0', write_file('open.csv', 50_001, 51_000,
			sub { "$_[0],1,open,{}" }), $tables{t0}[1]));
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$primary->wait_for_catchup($standby);
$standby->promote;
foreach my $table (sort keys %tables)
{
	my ($what, $options) = @{ $tables{$table} };

	is($standby->safe_psql('postgres', sum_sql($table)),
		$sums{$table}, "$what: rows after promotion");
	is( $standby->safe_psql(
			'postgres',
			load_sql($table, write_file('new.csv', 60_001, 62_000,
				sub { "$_[0],1,new,{}" }), $options)
			  . "; SELECT count(*) FROM $table"),
		"2000\n" . ($left + 2000),
		"$what: a load after promotion");
}
check_clean($standby, 'promoted standby');
$session->quit;

ok(!$standby->log_contains('inconsistent page found'),
	'the standby makes the pages the primary has');

$subscriber->stop;
$standby->stop;
$primary->stop;

done_testing();
