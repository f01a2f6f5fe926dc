# However a load fails, the target is unchanged, no process, lock or file is
# left, and the next load works: an error in the last row, a duplicate, cancel,
# termination of the leader or of a worker, timeouts, a full disk, and the
# death of one worker by signal 9, which makes the server start anew.
#
# It takes several connections, signals to processes, a crash, and a small file
# system: test/check makes one and names it in INGEST_TEST_SMALL_DISK.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use Digest::MD5 qw(md5_hex);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;
use Time::HiRes qw(usleep);

my $nrows = 20_000;

# keys spill to files from 1 MB on
my $node = safety_node(
	'failures', q{
restart_after_crash = on
maintenance_work_mem = '1MB'
log_temp_files = 0
});

# Where the row with this key is, a load waits for an advisory lock if somebody
# holds that.
my $gate = int($nrows * 0.9);
my $row = sub {
	my ($i) = @_;

	return join ',', $i, $i * 7919 % 1009,
	  $i % 500 == 0 ? "$i wide " x 1000 : "row $i";
};
my $file = write_file('rows.csv', 1001, $nrows, $row);
my $columns = '(id int PRIMARY KEY, k int NOT NULL, v text, CHECK (gate(id)))';

$node->safe_psql(
	'postgres', qq{
CREATE FUNCTION gate(id int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS \$\$
BEGIN
	IF id = $gate THEN
		PERFORM pg_advisory_xact_lock_shared(1);
	END IF;
	RETURN true;
END \$\$;
CREATE TABLE t $columns PARTITION BY RANGE (id);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10000);
CREATE TABLE t_2 PARTITION OF t DEFAULT;
ALTER TABLE t_2 ALTER v SET STORAGE external;
CREATE INDEX ON t (k);
CREATE INDEX ON t (left(v, 100));
INSERT INTO t SELECT i, i, 'there' FROM generate_series(1, 1000) i;
CREATE TABLE copied (LIKE t INCLUDING ALL)});

my $before = $node->safe_psql('postgres', sum_sql('t'));

# locks of others, relations, loads that are shown
my $state_sql = q{
SELECT (SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()),
	(SELECT count(*) FROM pg_class),
	(SELECT count(*) FROM ingest_progress);};
my $state = $node->safe_psql('postgres', $state_sql);
my $files = data_files($node);
my $others_sql = q{
FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.backend_type NOT IN ('checkpointer',
	'background writer', 'walwriter', 'logical replication launcher',
	'autovacuum launcher', 'io worker', 'startup')};

# Nothing of a load is there; the next one works, and is undone.
sub check_nothing_left
{
	my ($what, $options) = @_;

	poll_ok($node, "SELECT count(*) = 0 $others_sql",
		"$what: no process is left");
	is( $node->safe_psql('postgres', "$state_sql" . sum_sql('t')),
		"$state\n$before",
		"$what: no lock, relation or progress is left, and the target unchanged");

	# After a crash files of tables made in the transaction stay behind, empty
	# ones of unlogged tables, as after any CREATE TABLE.
	check_unchanged_directory($node, $files, $what)
	  unless $what =~ /^signal 9/ && $options =~ /staged/;
	check_clean($node, $what);
	is( $node->safe_psql(
			'postgres',
			'BEGIN; ' . load_sql('t', $file, $options) . '; ROLLBACK'),
		$nrows - 1000,
		"$what: the next load works");
	return;
}

# Errors, and where they are, without the names of objects.
sub error_of
{
	my ($err) = @_;
	my ($state) = $err =~ /(?:ERROR|FATAL):  (\w{5}):/;
	my ($line) = $err =~ /CONTEXT:.*?line (\d+)/s;

	return join ' ', $state // "no error in: $err", $line // '';
}

#
# Errors in the input
#

my %bad = (
	'bad value in the last row' => $nrows + 1 . ',x,y',
	'NULL in the last row' => $nrows + 1 . ',,y',
	'missing column in the last row' => $nrows + 1 . ',1',
	'unterminated quote at the end' => $nrows + 1 . ',1,"y',
	'duplicate of the table in the last row' => '7,1,y',
	'duplicate of the file in the last row' => '1001,1,y',
	'no partition for the last row' => '-1,1,y');

$node->safe_psql('postgres', q{
ALTER TABLE t_2 ADD CHECK (id >= 0);
INSERT INTO copied TABLE t});
foreach my $bad (sort keys %bad)
{
	my $bad_file = write_file('bad.csv', 1001, $nrows + 1,
		sub { $_[0] > $nrows ? $bad{$bad} : $row->($_[0]) });
	my ($status, $out, $copy_err) = $node->psql('postgres',
		"\\set VERBOSITY verbose\nCOPY t FROM '$bad_file' (FORMAT csv)");
	my $expected = error_of($copy_err);

	# a key that is there twice may be noticed at any of its rows
	$expected =~ s/ .*// if $bad =~ /duplicate/;
	foreach my $way (ways())
	{
		my ($name, $options) = @$way;
		my ($out, $err) =
		  finish_psql(start_psql($node, load_sql('t', $bad_file, $options)));

		like(error_of($err), qr/^$expected/, "$bad, $name: COPY's error, $expected");
		check_nothing_left("$bad, $name", $options);
	}
}

#
# Somebody or something ends it
#

my $holder = $node->background_psql('postgres');

my $leader_sql =
  q{SELECT pid FROM pg_stat_activity WHERE application_name = 'loader' AND backend_type = 'client backend'};
my $waiting_sql = q{SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'};
my $worker_sql =
  q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND wait_event IS DISTINCT FROM 'advisory'};
my %ends = (
	'cancel' =>
	  [ "SELECT pg_cancel_backend(pid) FROM ($leader_sql) s", '57014' ],
	'termination of the leader' =>
	  [ "SELECT pg_terminate_backend(pid) FROM ($leader_sql) s", '57P01' ],
	'termination of who waits' =>
	  [ "SELECT pg_terminate_backend(pid) FROM ($waiting_sql) s", '57P01' ],
	'termination of another worker' => [
		"SELECT pg_terminate_backend(pid) FROM ($worker_sql LIMIT 1) s",
		'57P01', 'parallel' ]);

foreach my $end (sort keys %ends)
{
	foreach my $way (ways())
	{
		my ($name, $options) = @$way;
		my ($sql, $state, $parallel) = @{ $ends{$end} };

		next if $parallel && $options !~ /workers/;
		my $loader = start_held($node, $holder, load_sql('t', $file, $options));

		is($node->safe_psql('postgres', $sql), 't', "$end, $name: signal sent");
		my ($out, $err) = finish_psql($loader);

		# the leader may be gone before it could tell
		like(error_of($err), qr/^$state/, "$end, $name: error $state");
		$holder->query_safe('SELECT pg_advisory_unlock_all()');
		$holder->quit;
		check_nothing_left("$end, $name", $options);
		$holder = $node->background_psql('postgres');
	}
}

foreach my $timeout ('statement_timeout', 'lock_timeout')
{
	foreach my $way (ways())
	{
		my ($name, $options) = @$way;

		# on a busy machine it strikes before the gate
		$holder->query_safe('SELECT pg_advisory_lock(1)');
		my ($out, $err) = finish_psql(start_psql($node,
				"SET $timeout = '1500ms'; " . load_sql('t', $file, $options)));
		my $state = $timeout eq 'lock_timeout' ? '55P03' : '57014';

		like(error_of($err), qr/^$state/, "$timeout, $name: error $state");
		$holder->query_safe('SELECT pg_advisory_unlock_all()');
		$holder->quit;
		check_nothing_left("$timeout, $name", $options);
		$holder = $node->background_psql('postgres');
	}
}

#
# The server starts anew when a process of it dies
#

# A psql that is refused must not be written to, as poll_query_until() does.
sub await_server
{
	for my $attempt (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return
		  if run_log(
			[
				'psql', '--no-psqlrc', '--dbname',
				$node->connstr('postgres'), '--command', 'SELECT true'
			]);
		usleep(100_000);
	}
	die 'timed out waiting for the server to start anew';
}

foreach my $way (grep { $_->[1] =~ /workers/ } ways())
{
	my ($name, $options) = @$way;
	my $loader = start_held($node, $holder, load_sql('t', $file, $options));
	my $pid = $node->safe_psql('postgres', "$worker_sql LIMIT 1");

	# waits, and ends when the server does
	kill(9, $pid);
	my ($out, $err) = finish_psql($loader);

	is($out, '', "signal 9 to a worker, $name: the load fails");
	eval { $holder->quit };
	await_server();
	check_nothing_left("signal 9 to a worker, $name", $options);
	$holder = $node->background_psql('postgres');
}
$holder->quit;

#
# Full disk
#

SKIP:
{
	my $disk = $ENV{INGEST_TEST_SMALL_DISK};

	skip 'no small file system: INGEST_TEST_SMALL_DISK names none', 1
	  unless $disk;

	mkdir("$disk/failures") or die "could not create $disk/failures: $!";
	$node->safe_psql('postgres',
		"CREATE TABLESPACE small LOCATION '$disk/failures'");

	# Twice as much as fits, which cannot be compressed, and what makes it full.
	my $big = write_file('big.csv', 1001, 21_000, sub {
		my ($i) = @_;

		return join ',', $i, $i * 7919 % 20011,
		  join '', map { md5_hex("$i $_") } 1 .. 50;
	});
	my $index = 'CREATE INDEX full_i ON full_t (left(v, 1000))';
	my %full = (
		'full disk, the table' => 'CREATE TABLE full_t (id int PRIMARY KEY, k int, v text) TABLESPACE small',
		'full disk, the TOAST table' => 'CREATE TABLE full_t (id int PRIMARY KEY, k int, v text) TABLESPACE small;'
		  . 'ALTER TABLE full_t ALTER v SET STORAGE external; ALTER TABLE full_t SET (toast_tuple_target = 200)',
		'full disk, an index' => 'CREATE TABLE full_t (id int PRIMARY KEY, k int, v text);'
		  . "$index TABLESPACE small",
		'full disk, temporary files' => 'CREATE TABLE full_t (id int PRIMARY KEY, k int, v text);'
		  . $index);

	foreach my $what (sort keys %full)
	{
		$node->safe_psql('postgres',
			"$full{$what}; INSERT INTO full_t SELECT i, i, 'there' FROM generate_series(1, 1000) i"
		);
		my $full_before = $node->safe_psql('postgres', sum_sql('full_t'));

		foreach my $way (ways())
		{
			my ($name, $options) = @$way;

			my $full_files = data_files($node, $disk . '/failures');
			my $temp = $what =~ /temporary/ ? 'SET temp_tablespaces = small; ' : '';
			my ($out, $err) =
			  finish_psql(
				start_psql($node, $temp . load_sql('full_t', $big, $options)));

			like(error_of($err), qr/^53100/, "$what, $name: error 53100");
			poll_ok($node, "SELECT count(*) = 0 $others_sql",
				"$what, $name: no process is left");
			is($node->safe_psql('postgres', sum_sql('full_t')),
				$full_before, "$what, $name: the target is unchanged");
			check_unchanged_directory($node, $full_files, "$what, $name",
				$disk . '/failures');

			# what fits goes in, once VACUUM has given back the rest, which it
			# cannot of an index
			$node->safe_psql('postgres', 'DROP INDEX full_i')
			  if $what =~ /an index/;
			$node->safe_psql('postgres', 'VACUUM full_t');
			$node->safe_psql('postgres', "$index TABLESPACE small")
			  if $what =~ /an index/;
			is( $node->safe_psql(
					'postgres',
					'BEGIN; '
					  . load_sql('full_t',
						write_file('fits.csv', 1001, 2000, sub { "$_[0],1,x" }),
						$options)
					  . '; ROLLBACK'),
				1000,
				"$what, $name: a load that fits works");
			check_clean($node, "$what, $name");
		}
		$node->safe_psql('postgres', 'DROP TABLE full_t; CHECKPOINT');
	}
	$node->safe_psql('postgres', 'DROP TABLESPACE small');
	rmdir("$disk/failures");
}

$node->stop;

done_testing();
