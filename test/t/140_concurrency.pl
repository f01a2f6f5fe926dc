# While loads run, clients that connect for each row insert into the same
# table, others update and delete, and VACUUM runs: every row is counted.  And a
# VACUUM that stands still in an index while a load splits its pages still
# removes all that is dead.
#
# It takes many clients at once.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

my $nrows = 3_000;
my $nloads = 12;
my $nclients = 4;
my $ninserts = 60;

my $node = safety_node('concurrency', q{
deadlock_timeout = '100ms'
});

$node->safe_psql(
	'postgres', q{
CREATE SEQUENCE inserted START 1000001;
CREATE TABLE t (id int PRIMARY KEY, k int, v text);
CREATE INDEX ON t (k);
CREATE TABLE log (what text, n int);
INSERT INTO t SELECT -i, -1, 'there' FROM generate_series(1, 2000) i});

#
# Single rows from clients that come and go.  The free space map is not asked
# by a client that is new, it tries the table's last page: that may be one that
# a load has just added and not yet filled.
#

my $insert = PostgreSQL::Test::Utils::tempdir() . '/insert.sql';
my $change = PostgreSQL::Test::Utils::tempdir() . '/change.sql';

append_to_file($insert,
	q{INSERT INTO t VALUES (nextval('inserted'), -2, repeat('x', 500));
});

# Keys of loads are updated and deleted as well, whether they are there or not.
append_to_file(
	$change, qq{
\\set id random(1, $nrows * $nloads)
\\set old -random(1, 2000)
WITH d AS (DELETE FROM t WHERE id = :id RETURNING 1)
INSERT INTO log SELECT 'deleted', count(*) FROM d;
UPDATE t SET k = k + 1000 WHERE id IN (:old, :id + 1);
});

foreach my $way (ways())
{
	my ($name, $options) = @$way;
	my @runs;
	my $loaded = 0;

	$node->safe_psql('postgres', 'DELETE FROM t WHERE id > 0; DELETE FROM log');
	foreach my $script ([ $insert, '-C' ], [ $change, '--protocol=simple' ])
	{
		push @runs,
		  IPC::Run::start(
			[
				'pgbench', '--no-vacuum', '--client', $nclients,
				'--transactions', $ninserts, $script->[1],
				'--file', $script->[0], $node->connstr('postgres')
			],
			'<', \undef, '>', \my $out, '2>', \my $err,
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	}

	foreach my $n (0 .. $nloads - 1)
	{
		my $file = write_file('load.csv', $n * $nrows + 1, ($n + 1) * $nrows,
			sub { "$_[0],$n,row $_[0]" });

		# two loads at once, of which one may not come to its end
		my $second = start_psql($node,
			'BEGIN; '
			  . load_sql('t', write_file('second.csv', 2_000_001, 2_000_500,
					sub { "$_[0],-3,second" }), $options)
			  . ($n % 2 ? '; ROLLBACK' : '; DELETE FROM t WHERE k = -3; COMMIT'));

		$loaded += $node->safe_psql('postgres', load_sql('t', $file, $options));
		finish_psql($second);
		$node->safe_psql('postgres', 'VACUUM t') if $n % 3 == 0;
	}
	foreach my $run (@runs)
	{
		ok($run->finish, "$name: clients have come to their end");
	}

	is( $node->safe_psql(
			'postgres', q{
SELECT count(*) FILTER (WHERE v = 'there'), count(*) FILTER (WHERE k = -2),
	count(*) FILTER (WHERE v LIKE 'row%') + (SELECT sum(n) FROM log), count(*) FILTER (WHERE v = 'second')
FROM t;
SET enable_seqscan = off;
SELECT count(*) = (SELECT count(*) FROM t WHERE k IS NOT NULL) FROM t WHERE id IS NOT NULL}),
		join('|', 2000, $nclients * $ninserts, $nrows * $nloads, 0) . "\nt",
		"$name: every row is counted");
	is($loaded, $nrows * $nloads, "$name: rows that loads have told of");
	check_clean($node, $name);

	# such a page may have been one that a load had added
	note("$name: pages whose first row is a client's: "
		  . $node->safe_psql(
			'postgres', q{
SELECT count(*) FROM t WHERE k = -2 AND (ctid::text::point)[1] = 1}));
}

#
# VACUUM within an index while a load splits pages there
#

$node->safe_psql('postgres', q{
CREATE TABLE u (id int PRIMARY KEY, k int, v text);
CREATE INDEX ON u (k)});

# Rows of a load that come in between those with dead entries.
my $between =
  write_file('between.csv', 1, 8000,
	sub { join ',', 10 * $_[0] + 5, 10 * $_[0] + 5, 'between' });

# Stops VACUUM while it sleeps within an index, not for the first time: it holds
# no page then, and has passed the first pages.  Whether it still sleeps shows
# when it has been stopped.  Ends when VACUUM has ended, too.
my $stop_sql = q{
DO $$
DECLARE
	asleep text := 'SELECT v.pid FROM pg_stat_progress_vacuum v JOIN pg_stat_activity a USING (pid)
		WHERE v.phase = ''vacuuming indexes'' AND a.wait_event = ''VacuumDelay''';
	vacuum int;
	still int;
	seen boolean := false;
BEGIN
	WHILE NOT seen OR EXISTS (SELECT FROM pg_stat_progress_vacuum) LOOP
		PERFORM pg_stat_clear_snapshot();
		EXECUTE asleep INTO vacuum;
		IF vacuum IS NOT NULL AND NOT seen THEN
			seen := true;
			PERFORM pg_sleep(0.35);
		ELSIF vacuum IS NOT NULL THEN
			EXECUTE format('COPY (SELECT) TO PROGRAM %L', 'cat >/dev/null; kill -STOP ' || vacuum);
			PERFORM pg_stat_clear_snapshot();
			EXECUTE asleep INTO still;
			IF still = vacuum THEN
				RAISE NOTICE 'stopped %', vacuum;
				RETURN;
			END IF;
			EXECUTE format('COPY (SELECT) TO PROGRAM %L', 'cat >/dev/null; kill -CONT ' || vacuum);
		END IF;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$};

# A table whose indexes have free pages at their beginning and dead entries all
# over.  Where a load splits a page behind the place where VACUUM is, half of the
# entries move to a page that VACUUM has passed.
sub start_vacuum
{
	$node->safe_psql(
		'postgres', q{
TRUNCATE u;
INSERT INTO u SELECT i - 10000, i - 10000, 'gone' FROM generate_series(1, 9000) i;
INSERT INTO u SELECT 10 * i, 10 * i, 'old' FROM generate_series(1, 8000) i;
DELETE FROM u WHERE id < 0});
	$node->safe_psql('postgres', 'VACUUM u') foreach 1 .. 3;
	$node->safe_psql('postgres', 'DELETE FROM u WHERE id % 20 = 0');

	my $watcher = start_psql($node, $stop_sql);
	my $vacuum = start_psql($node, q{
SET vacuum_cost_page_hit = 1; SET vacuum_cost_page_miss = 1; SET vacuum_cost_page_dirty = 0;
SET vacuum_cost_limit = 8; SET vacuum_cost_delay = '100ms';
VACUUM (INDEX_CLEANUP on, PARALLEL 0, TRUNCATE false) u});
	my ($stopped) = (finish_psql($watcher))[1] =~ /stopped (\d+)/;

	return ($vacuum, $stopped);
}

foreach my $way (ways())
{
	my ($name, $options) = @$way;
	my ($vacuum, $stopped) = start_vacuum();

	# on a busy machine it may have been too fast
	foreach (1 .. 10)
	{
		last if $stopped;
		finish_psql($vacuum);
		($vacuum, $stopped) = start_vacuum();
	}
	ok($stopped, "$name: VACUUM is within an index");
	is($node->safe_psql('postgres', load_sql('u', $between, $options)),
		8000, "$name: load while VACUUM is within an index");
	kill('CONT', $stopped) if $stopped;
	my ($out, $err) = finish_psql($vacuum);

	is($err, '', "$name: VACUUM comes to its end");

	# What VACUUM has freed is used by rows with other keys: an entry that it
	# missed would lead to one of them.
	is( $node->safe_psql(
			'postgres', q{
INSERT INTO u SELECT 1000000 + i, 1000000 + i, 'new' FROM generate_series(1, 4000) i;
SELECT count(*) FROM u WHERE (ctid::text::point)[0] < 30 AND v = 'new' HAVING count(*) > 100;
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT count(*) FROM u WHERE id BETWEEN 0 AND 100000 AND v IS NOT NULL;
SELECT count(*) FROM u WHERE k BETWEEN 0 AND 100000 AND v IS NOT NULL;
SELECT count(*) FROM u WHERE id > 100000 AND v IS NOT NULL}) =~ s/^\d+\n//r,
		"12000\n12000\n4000",
		"$name: no index entry was missed by VACUUM");
	check_clean($node, "$name, after VACUUM");
}

$node->stop;

done_testing();
