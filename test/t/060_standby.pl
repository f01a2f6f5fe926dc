# What is loaded, by whatever strategy, is on a physical standby and at a
# logical subscriber as if COPY had loaded it; a standby refuses to load.
#
# It takes three servers that replicate.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 'logical');
$primary->append_conf(
	'postgresql.conf', q{
autovacuum = off
max_worker_processes = 12
shared_buffers = '16MB'
});
$primary->start;
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');

$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', "max_worker_processes = 12\n");
$subscriber->start;

my @strategies = qw(insert insert_prepared insert_values copy online);

# One table per strategy and number of processes: partitions, indexes of
# several kinds, values that go to a TOAST table.
my @tables = map { ($_ . '_1', $_ . '_2') } @strategies;
my $tables_sql = join '', map {
	qq{
CREATE TABLE t_$_ (id int PRIMARY KEY, k int, v text, w int[])
	PARTITION BY RANGE (id);
CREATE TABLE t_${_}_low PARTITION OF t_$_ FOR VALUES FROM (0) TO (500);
CREATE TABLE t_${_}_high PARTITION OF t_$_ FOR VALUES FROM (500) TO (10000);
ALTER TABLE t_${_}_low ALTER v SET STORAGE external;
CREATE INDEX ON t_$_ (k);
CREATE INDEX ON t_$_ USING gin (w);
}
} @tables;

$primary->safe_psql('postgres', "CREATE EXTENSION ingest_tools; $tables_sql");
$subscriber->safe_psql('postgres', $tables_sql);
$primary->safe_psql('postgres', 'CREATE PUBLICATION pub FOR TABLE '
	  . join(', ', map { "t_$_" } @tables));
$subscriber->safe_psql('postgres',
	    q{CREATE SUBSCRIPTION sub CONNECTION '}
	  . $primary->connstr
	  . q{ dbname=postgres' PUBLICATION pub});
$subscriber->wait_for_subscription_sync($primary, 'sub');

my $source_sql = q{
SELECT g, g % 7, CASE WHEN g % 100 = 0 THEN repeat(g || ' wide ', 1000) ELSE 'row ' || g END,
	ARRAY[g, g % 3]
FROM generate_series(1, 1000) g};

foreach my $strategy (@strategies)
{
	foreach my $workers (1, 2)
	{
		my $options = "strategy $strategy"
		  . ($workers > 1 ? ", workers $workers, commit_rows 100" : '');

		is( $primary->safe_psql(
				'postgres', qq{
SELECT rows_loaded FROM ingest_load('t_${strategy}_$workers', \$\$$source_sql\$\$, '$options')}
			),
			1000,
			"$strategy, $workers: loaded on the primary");
	}
}

# A bench of a published table says nothing to the subscriber.
is( $primary->safe_psql(
		'postgres', qq{
SELECT count(*) FROM ingest_bench('t_copy_1', \$\$$source_sql\$\$, checkpoint => false)
WHERE verified}),
	6,
	'bench of a published table');

# A load that fails is nowhere.
my ($status, $out, $err) = $primary->psql(
	'postgres', q{
SELECT ingest_load('t_online_1', 'SELECT 1000 + g, g, NULL, NULL FROM generate_series(-1, 2000) g', 'strategy online')}
);
isnt($status, 0, 'a load that fails');

my $hash_sql = q{
SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM };
my $loaded = $primary->safe_psql('postgres', "$hash_sql ($source_sql) t(id, k, v, w)");

$primary->wait_for_catchup($standby);
$primary->wait_for_catchup('sub');
foreach my $table (@tables)
{
	is($primary->safe_psql('postgres', "$hash_sql t_$table t"),
		$loaded, "$table: rows on the primary");
	is($standby->safe_psql('postgres', "$hash_sql t_$table t"),
		$loaded, "$table: rows on the standby");
	is( $standby->safe_psql(
			'postgres', qq{
SET enable_seqscan = off;
SELECT count(*) FROM t_$table WHERE k BETWEEN -1 AND 1000;
SELECT count(*) FROM t_$table WHERE w @> '{2}'}),
		"1000\n333",
		"$table: indexes on the standby");
	is($subscriber->safe_psql('postgres', "$hash_sql t_$table t"),
		$loaded, "$table: rows at the subscriber");
}

is( $standby->safe_psql('postgres',
		q{SELECT count(*) FROM pg_class WHERE relname LIKE 'ingest\_clone%'}),
	0,
	'no clone is left on the standby');
is( $standby->safe_psql(
		'postgres',
		q{SELECT function, count(*) FROM ingest_history GROUP BY 1 ORDER BY 1}),
	"ingest_bench|6\ningest_load|10",
	'the history is on the standby');

#
# A publication of all tables, to which clones belong as well, and of which no
# subscriber has any
#

$subscriber->safe_psql('postgres', 'CREATE EXTENSION ingest_tools');
$primary->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
$subscriber->safe_psql('postgres',
	'ALTER SUBSCRIPTION sub SET PUBLICATION everything WITH (copy_data = false)');
$subscriber->wait_for_subscription_sync($primary, 'sub');
($status, $out, $err) = $primary->psql(
	'postgres', q{
\set VERBOSITY verbose
SELECT ingest_bench('t_copy_1', 'SELECT 1', 'columns (id)', checkpoint => false)});
like($err, qr/ERROR:  55000: clones .* would be published/,
	'bench with a publication of all tables');
$primary->safe_psql('postgres',
	q{SELECT ingest_load('t_copy_1', 'SELECT 3000', 'columns (id)')});
$subscriber->poll_query_until(
	'postgres', q{
SELECT EXISTS (SELECT FROM t_copy_1 WHERE id = 3000)
	OR EXISTS (SELECT FROM pg_stat_subscription_stats WHERE apply_error_count > 0)})
  or die 'timed out waiting for the subscriber';
is( $subscriber->safe_psql(
		'postgres', 'SELECT apply_error_count FROM pg_stat_subscription_stats'),
	0,
	'a bench does not stop a subscription to all tables');

#
# The standby itself
#

my %calls = (
	'load' => q{SELECT ingest_load('t_copy_1', 'SELECT 5000', 'columns (id)')},
	'load in sessions' =>
	  q{SELECT ingest_load('t_copy_1', 'SELECT 5000', 'columns (id), workers 2')},
	'bench' => q{SELECT ingest_bench('t_copy_1', 'SELECT 5000', 'columns (id)')});

foreach my $call (sort keys %calls)
{
	($status, $out, $err) = $standby->psql('postgres',
		"\\set VERBOSITY verbose\n$calls{$call}");
	like($err, qr/ERROR:  25006: /, "$call on the standby is refused");
}
is($standby->safe_psql('postgres', 'SELECT count(*) FROM ingest_cleanup()'),
	0, 'nothing to clean up on the standby');
is($standby->safe_psql('postgres', 'SELECT count(*) > 0 FROM ingest_strategies()'),
	't', 'strategies are listed on the standby');

# Once promoted it loads.
$standby->promote;
$standby->safe_psql('postgres', 'DROP PUBLICATION everything');
is( $standby->safe_psql(
		'postgres',
		q{SELECT rows_loaded FROM ingest_load('t_copy_1', 'SELECT 5000', 'columns (id), workers 2')}
	),
	1,
	'load after promotion');
is( $standby->safe_psql(
		'postgres',
		q{SELECT bool_and(verified) FROM ingest_bench('t_copy_1', rows => 100, checkpoint => false)}
	),
	't',
	'bench after promotion');

$subscriber->stop;
$standby->stop;
$primary->stop;

done_testing();
