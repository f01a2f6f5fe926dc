# Mode replace (strategy staged): the old rows or the new ones after a crash,
# on a standby the same, and no more locked than the leaves that are replaced.
#
# It takes crashes, restarts and a standby.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

my $node = safety_node('staged', '', allows_streaming => 1);
my $row = sub {
	my ($i) = @_;
	my $v = $i % 50 == 0 ? join(' ', map { $_ * $i } 1 .. 1500) : "row $i";

	return join ',', $i, $i * 7919 % 1009, $v;
};
my $old = write_file('old.csv', 1, 3_000, $row);
my $new = write_file('new.csv', 2_001, 12_000, $row);

$node->safe_psql(
	'postgres', qq{
CREATE TABLE t (id int PRIMARY KEY, k int, v text) PARTITION BY RANGE (id);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (6000);
CREATE TABLE t_2 PARTITION OF t DEFAULT;
ALTER TABLE t_2 ALTER v SET STORAGE external;
CREATE INDEX ON t (k);
CREATE INDEX ON t (lower(left(v, 20)), k) WHERE id % 2 = 0;
COPY t FROM '$old' (FORMAT csv);
CREATE TABLE loaded (LIKE t);
COPY loaded FROM '$new' (FORMAT csv);
});
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('staged_standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;

my $old_sum = $node->safe_psql('postgres', sum_sql('t'));
my $new_sum = $node->safe_psql('postgres', sum_sql('loaded'));
isnt($old_sum, $new_sum, 'the loads differ');

# Rows by heap and by index.
sub look
{
	my ($server) = @_;

	return $server->safe_psql('postgres',
		sum_sql('t')
		  . '; SET enable_seqscan = off; SELECT count(*) FROM t WHERE id >= 0'
		  . '; SELECT count(*) FROM t WHERE k >= 0');
}

my ($old_count) = split /\|/, $old_sum;
my ($new_count) = split /\|/, $new_sum;
my $old_look = join "\n", $old_sum, $old_count, $old_count;
my $new_look = join "\n", $new_sum, $new_count, $new_count;

# A checkpoint after the load has the pages on disk that no one must see.
foreach my $workers (1, 3)
{
	my $load = load_sql('t', $new,
		"strategy staged, mode replace, workers $workers");
	my $psql = start_psql($node, "BEGIN; $load; CHECKPOINT; SELECT pg_sleep(3600);");

	poll_ok($node,
		q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'loader' AND wait_event = 'PgSleep'},
		"$workers: the load is done");
	crash_server($node);
	eval { finish_psql($psql) };
	$node->start;
	is(look($node), $old_look, "$workers: old rows after a crash before COMMIT");
	check_clean($node, "$workers: before COMMIT");
}

# Locks, seen from another session
my $psql = start_psql($node,
	'BEGIN; '
	  . load_sql('t_2', write_file('two.csv', 7_000, 7_010, $row),
		'strategy staged, mode replace')
	  . '; SELECT pg_sleep(3600);');
poll_ok($node,
	q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'loader' AND wait_event = 'PgSleep'},
	'a partition is replaced');
is( $node->safe_psql(
		'postgres', q{
SELECT DISTINCT relation::regclass FROM pg_locks l JOIN pg_stat_activity USING (pid)
WHERE application_name = 'loader' AND relation::regclass::text IN ('t', 't_1', 't_2')
	AND mode NOT IN ('AccessShareLock', 'RowExclusiveLock')}),
	't_2',
	'only the partition is locked');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id BETWEEN 1 AND 1999'),
	1999, 'the others can be read through the parent');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid)
	FROM pg_stat_activity WHERE application_name = 'loader'});
eval { finish_psql($psql) };
poll_ok($node,
	q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'loader'},
	'the session is gone');
is(look($node), $old_look, 'old rows after the session was terminated');

# After COMMIT
$node->safe_psql('postgres',
	load_sql('t', $new, 'strategy staged, mode replace, workers 3'));
crash_server($node);
$node->start;
is(look($node), $new_look, 'new rows after a crash right after COMMIT');
check_clean($node, 'after COMMIT');
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 = 0; VACUUM t');
check_clean($node, 'after DELETE and VACUUM');
$node->safe_psql('postgres',
	load_sql('t', $new, 'strategy staged, mode replace, workers 2'));
is(look($node), $new_look, 'the next load');

$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is(look($standby), $new_look, 'the same rows on the standby');
$standby->promote;
is(look($standby), $new_look, 'and when it is promoted');
check_clean($standby, 'the promoted standby');

$node->stop;
$standby->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
	'checksums of the primary');
command_ok([ 'pg_checksums', '--check', '-D', $standby->data_dir ],
	'checksums of the standby');
done_testing();
