# However a bench ends (cancel, timeout, death of the caller, of a session or
# of the server), its sessions end, its clones go, and the next bench works;
# and sessions neither wait for ever nor fail without a word when they meet
# locks or find no free slot.
#
# It takes several connections, signals to processes, crashes and restarts,
# which a regression test cannot do.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# What has to be over soon may take this long on a busy machine, in seconds.
my $soon = 20;

my $nrows = 300;

my $node = PostgreSQL::Test::Cluster->new('sessions');

$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
restart_after_crash = on
max_worker_processes = 12
deadlock_timeout = '200ms'
});
$node->start;

# Every row of held_test passes a gate, which lets so many through before it
# waits for an advisory lock that hold_gate() takes.  Rows are counted over all
# loads of a bench, so the gate can stop any of them in the middle, however
# fast they are.
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION ingest_tools;
CREATE SEQUENCE gate_count MINVALUE -1000000000;
CREATE FUNCTION gate() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('public.gate_count') > 0 THEN
		PERFORM pg_advisory_lock_shared(1);
		PERFORM pg_advisory_unlock_shared(1);
	END IF;
	RETURN true;
END $$;
CREATE TABLE parent (id int PRIMARY KEY);
INSERT INTO parent SELECT generate_series(0, 9);
CREATE TABLE held_test (id int PRIMARY KEY, k int, b text, CHECK (gate()));
CREATE INDEX ON held_test (k);
CREATE TABLE child (id int PRIMARY KEY, k int REFERENCES parent);
});

# The server's statistics and locks, in words.
my $sessions_sql = q{
SELECT pid FROM pg_stat_activity WHERE backend_type = 'ingest_tools session'};
my $keeper_sql = q{
SELECT pid FROM pg_stat_activity WHERE backend_type = 'ingest_tools session'
ORDER BY backend_start LIMIT 1};
my $loading_sql = q{
SELECT pid FROM pg_stat_activity
WHERE backend_type = 'ingest_tools session' AND wait_event = 'advisory'};
my $caller_sql = q{
SELECT pid FROM pg_stat_activity WHERE application_name = 'caller'};
my $clones_sql = q{
SELECT count(*) FROM pg_class WHERE relname LIKE 'ingest\_clone%'};

my $holder;

# Let rows of so many loads pass, and a few more, then let none.
sub hold_gate
{
	my ($loads) = @_;

	$holder = $node->background_psql('postgres', on_error_stop => 0);
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	$node->safe_psql('postgres',
		sprintf(q{SELECT setval('gate_count', %d)}, -$loads * $nrows - 5));
	return;
}

sub open_gate
{
	$holder->query_safe('SELECT pg_advisory_unlock_all()');
	$holder->quit;
	leave_gate_open();
	return;
}

sub leave_gate_open
{
	$node->safe_psql('postgres',
		q{SELECT setval('gate_count', -1000000000)});
	return;
}

# SQL of a bench of the given target.
sub bench_sql
{
	my ($target, $strategies, $arguments) = @_;

	return
	    "SELECT strategy, workers_used, rows_loaded, verified FROM"
	  . " ingest_bench('$target',"
	  . " 'SELECT g, g % 10, ''row '' || g FROM generate_series(1, $nrows) g',"
	  . " strategies => '{$strategies}', checkpoint => false"
	  . ($arguments ? ", $arguments" : '') . ')';
}

# The same for the table with the gate.
sub held_bench_sql
{
	my ($arguments) = @_;

	return bench_sql('held_test', 'insert_prepared,copy,online', $arguments);
}

# Start SQL in a connection of its own.
sub start_caller
{
	my ($sql) = @_;
	my %caller = (out => '', err => '');
	my $file = PostgreSQL::Test::Utils::tempdir() . '/caller.sql';

	append_to_file($file, $sql);
	$caller{run} = IPC::Run::start(
		[
			'psql', '--no-psqlrc', '--quiet', '--tuples-only', '--no-align',
			'--set', 'VERBOSITY=verbose',
			'--dbname', $node->connstr('postgres') . ' application_name=caller',
			'--file', $file
		],
		'<', \undef, '>', \$caller{out}, '2>', \$caller{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%caller;
}

# Wait for it to end; returns what it wrote to stdout and stderr.
sub finish_caller
{
	my ($caller) = @_;

	$caller->{run}->finish;
	return ($caller->{out}, $caller->{err});
}

# Run SQL to its end in a connection of its own.
sub call
{
	my ($sql) = @_;

	return finish_caller(start_caller($sql));
}

# Start a bench and wait until so many of its sessions stand at the gate.
sub start_held
{
	my ($sql, $nsessions) = @_;
	my $caller = start_caller($sql);

	$node->poll_query_until('postgres',
		"SELECT count(*) = $nsessions FROM ($loading_sql) s")
	  or die 'timed out waiting for sessions to reach the gate';
	return $caller;
}

# One bench that goes well.
sub check_works
{
	my ($what) = @_;
	my ($out, $err) = call(bench_sql('held_test', 'online'));

	is("$out$err", "online|1|$nrows|t\n", "$what: the next bench works");
	return;
}

# Nothing of a bench is left: process, clone, lock, file.
sub check_nothing_left
{
	my ($what, $since) = @_;

	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM ($sessions_sql) s");
	cmp_ok(time - $since, '<', $soon, "$what: the sessions end soon");
	is($node->safe_psql('postgres', $clones_sql), 0, "$what: no clone is left");
	is( $node->safe_psql(
			'postgres', q{
SELECT count(*) FROM pg_locks
WHERE relation IN ('held_test'::regclass, 'child'::regclass, 'parent'::regclass)}
		),
		0,
		"$what: no lock is left");
	is( $node->safe_psql(
			'postgres', q{
SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false)}),
		0,
		"$what: no temporary file is left");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM ingest_progress'),
		0, "$what: no progress is shown");
	return;
}

# Stop a bench in the given load by SQL, which is run as superuser.
sub check_end
{
	my ($what, $loads, $workers, $sql, $sqlstate) = @_;

	hold_gate($loads);
	my $caller = start_held(held_bench_sql("workers => '{$workers}'"),
		$loads == 0 ? 1 : $workers);
	my $since = time;

	$node->safe_psql('postgres', $sql);
	my ($out, $err) = finish_caller($caller);

	like($err, qr/(ERROR|FATAL):  $sqlstate:/, "$what: error $sqlstate");
	unlike($err, qr/ingest_clone|WARNING/, "$what: no word of clones");
	check_nothing_left($what, $since);
	open_gate();
	check_works($what);
	return;
}

#
# The caller, a session or the keeper is told to stop
#

my $cancel_caller = "SELECT pg_cancel_backend(pid) FROM ($caller_sql) s";

check_end('cancel in the reference', 0, 3, $cancel_caller, '57014');
check_end('cancel in insert_prepared', 1, 3, $cancel_caller, '57014');
check_end('cancel in copy', 2, 3, $cancel_caller, '57014');
check_end('cancel in online', 3, 3, $cancel_caller, '57014');
check_end('termination of the caller',
	1, 3, "SELECT pg_terminate_backend(pid) FROM ($caller_sql) s", '57P01');
check_end('cancel of a session', 1, 3,
	"SELECT pg_cancel_backend(pid) FROM ($loading_sql LIMIT 1) s", '57014');
check_end('termination of a session',
	1, 3, "SELECT pg_terminate_backend(pid) FROM ($loading_sql LIMIT 1) s",
	'57P01');
check_end('termination of the keeper',
	1, 2, "SELECT pg_terminate_backend(pid) FROM ($keeper_sql) s", '57P01');

# The keeper has nothing to cancel while others load.
hold_gate(1);
my $caller = start_held(held_bench_sql(), 1);

$node->safe_psql('postgres',
	"SELECT pg_cancel_backend(pid) FROM ($keeper_sql) s");
open_gate();
my ($out, $err) = finish_caller($caller);

is( "$out$err",
	"insert_prepared|1|$nrows|t\ncopy|1|$nrows|t\nonline|1|$nrows|t\n",
	'cancel of the keeper does not matter');

# Timeouts of the caller hold for its sessions, too.
foreach my $timeout ('statement_timeout', 'lock_timeout')
{
	hold_gate(1);
	($out, $err) =
	  call("SET $timeout = '1500ms';\n" . held_bench_sql("workers => '{2}'"));
	my $since = time;
	my $sqlstate = $timeout eq 'lock_timeout' ? '55P03' : '57014';

	like($err, qr/ERROR:  $sqlstate:.* due to .* timeout/, "$timeout: error");
	check_nothing_left($timeout, $since);
	open_gate();
	check_works($timeout);
}

# A connection that is closed in the middle of a cursor.
hold_gate(2);
$caller = start_caller(
	q{
BEGIN;
DECLARE c CURSOR FOR SELECT (b).strategy, (b).verified
FROM (} . (held_bench_sql() =~ s/^SELECT .*? FROM (.*)/SELECT $1 AS b OFFSET 0/r)
	  . q{) s;
FETCH 1 FROM c;
});
($out, $err) = finish_caller($caller);
is("$out$err", "insert_prepared|t\n",
	'one row of a cursor, and the end of the connection');
check_nothing_left('end of the connection', time);
open_gate();

#
# Errors within subtransactions
#

hold_gate(1);
$caller = start_held(
	q{
DO $$
DECLARE
	state text;
BEGIN
	BEGIN
		PERFORM * FROM (} . held_bench_sql("workers => '{3}'") . q{) b;
	EXCEPTION WHEN query_canceled OR admin_shutdown THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
		PERFORM setval('gate_count', -1000000000);
		RAISE NOTICE 'caught %, % session left', state,
			(SELECT count(*) FROM pg_stat_activity
			 WHERE backend_type = 'ingest_tools session');
	END;
	PERFORM * FROM (} . bench_sql('held_test', 'online') . q{) b;
END $$;
SELECT verified FROM ingest_last_report()}, 3);
$node->safe_psql('postgres',
	"SELECT pg_terminate_backend(pid) FROM ($loading_sql LIMIT 1) s");
($out, $err) = finish_caller($caller);
like($err, qr/NOTICE: .*: caught 57P01, 0 session left/,
	'EXCEPTION catches the death of a session');
is($out, "t\n", 'and another bench works in the same transaction');
check_nothing_left('EXCEPTION', time);
open_gate();

($out, $err) = call(
	'BEGIN; SAVEPOINT s;'
	  . q{SELECT ingest_bench('child', 'SELECT g, 99 FROM generate_series(1, 10) g',
	strategies => '{copy,online}', workers => '{2}', checkpoint => false);}
	  . 'ROLLBACK TO s;'
	  . "SELECT count(*) FROM ($sessions_sql) s;"
	  . bench_sql('held_test', 'copy')
	  . '; COMMIT;');
like($err, qr/ERROR:  23503:/, 'savepoint: error of a foreign key');
is($out, "0\ncopy|1|$nrows|t\n", 'savepoint: the next bench works after it');
check_nothing_left('savepoint', time);

#
# Locks of others, and the caller's own
#

my $child_sql = q{'SELECT g, g % 10 FROM generate_series(1, 100) g'};
my %calls = (
	bench => "SELECT verified FROM ingest_bench('child', $child_sql,"
	  . " strategies => '{online}', checkpoint => false)",
	load => "SELECT rows_loaded FROM ingest_load('child', $child_sql,"
	  . " 'strategy online, workers 6')",
	'load in the caller' =>
	  "SELECT rows_loaded FROM ingest_load('child', $child_sql,"
	  . " 'strategy online')");
my $blocker = $node->background_psql('postgres', on_error_stop => 0);

# No session goes on when the lock becomes free as the load fails.
sub check_no_rows
{
	my ($what, $since) = @_;

	check_nothing_left($what, $since);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM child'),
		0, "$what: no row has been loaded");
	$node->safe_psql('postgres', 'TRUNCATE child');
	return;
}

foreach my $call (sort keys %calls)
{
	foreach my $lock (
		'LOCK TABLE child',
		'LOCK TABLE parent',
		'DELETE FROM parent WHERE id = 5')
	{
		# Rows of the parent are the business of each load, but not of making
		# a clone; both get in the way of a foreign key.
		my $since = time;

		$blocker->query_safe("BEGIN; $lock");
		($out, $err) = call("SET lock_timeout = '100ms'; $calls{$call}");
		like($err, qr/ERROR:  55P03:.* due to lock timeout/,
			"$call, another has done \"$lock\": lock_timeout");
		$blocker->query_safe('ROLLBACK');
		check_no_rows("$call, \"$lock\", lock_timeout", $since);
	}
}
$blocker->quit;

foreach my $call ('bench', 'load')
{
	foreach my $lock ('LOCK TABLE parent', 'DELETE FROM parent WHERE id = 5')
	{
		my $since = time;

		($out, $err) = call("BEGIN; $lock; $calls{$call}");
		like($err, qr/ERROR:  40P01:.*deadlock detected/,
			"$call, own \"$lock\": deadlock");
		check_no_rows("$call, own \"$lock\"", $since);
	}
	($out, $err) = call("BEGIN; LOCK TABLE child; $calls{$call}");
	like($err, qr/ERROR:  55006:/, "$call, target locked by the caller: error");
}
is( $node->safe_psql(
		'postgres', "BEGIN; LOCK TABLE parent; $calls{'load in the caller'}"),
	100,
	'in the caller\'s own transaction its locks do not matter');

#
# The server stops or crashes
#

# All sessions and the postmaster are gone by themselves.
sub check_processes_gone
{
	my ($what, @pids) = @_;
	my $deadline = time + $soon;

	usleep(10_000) while time < $deadline && grep { kill(0, $_) } @pids;
	is(scalar(grep { kill(0, $_) } @pids), 0, "$what: no process is left");
	return;
}

sub session_pids
{
	return split /\n/, $node->safe_psql('postgres', $sessions_sql);
}

hold_gate(1);
$caller = start_held(held_bench_sql("workers => '{3}'"), 3);
my @pids = session_pids();
my $since = time;

is(scalar(@pids), 4, 'fast shutdown: a keeper and three sessions');
$node->stop('fast');
cmp_ok(time - $since, '<', $soon, 'fast shutdown: soon');
check_processes_gone('fast shutdown', @pids);
($out, $err) = finish_caller($caller);
like($err, qr/57P01|server closed the connection/, 'fast shutdown: error');
$node->start;
is($node->safe_psql('postgres', $clones_sql), 0, 'fast shutdown: no clone is left');
check_nothing_left('fast shutdown', time);
leave_gate_open();
check_works('fast shutdown');

# Crashes leave clones, which ingest_cleanup() drops; but not those of a bench
# that is running.
sub check_crash
{
	my ($what, $loads, $crash) = @_;

	hold_gate($loads);
	my $crashed = start_held(held_bench_sql("workers => '{2}'"),
		$loads == 0 ? 1 : 2);
	my @processes = session_pids();

	$crash->();
	check_processes_gone($what, @processes);
	($out, $err) = finish_caller($crashed);
	isnt($err, '', "$what: error");
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	is($node->safe_psql('postgres', "SELECT count(*) FROM ($sessions_sql) s"),
		0, "$what: no session after the restart");

	# The crash ended the one who held the gate, too.
	leave_gate_open();
	hold_gate(1);
	my $running = start_held(held_bench_sql(), 1);
	my $clones = $node->safe_psql('postgres', $clones_sql);

	is( $node->safe_psql('postgres',
			'SELECT count(*) FROM ingest_cleanup() c'
			  . " WHERE c ~ '^public.ingest_clone_\\d+_\\d+\$'"),
		1,
		"$what: ingest_cleanup() drops a clone");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM ingest_cleanup()'),
		0, "$what: and none the next time");
	cmp_ok($node->safe_psql('postgres', $clones_sql),
		'>', 0, "$what: the clone of a running bench is there");
	open_gate();
	($out, $err) = finish_caller($running);
	is( "$out$err",
		"insert_prepared|1|$nrows|t\ncopy|1|$nrows|t\nonline|1|$nrows|t\n",
		"$what: and the bench goes on");
	check_nothing_left($what, time);
	return;
}

my $kill_session = sub {
	my $pid =
	  $node->safe_psql('postgres', "SELECT min(pid) FROM ($loading_sql) s");

	kill('KILL', $pid);
};
my $kill_keeper = sub {
	kill('KILL', $node->safe_psql('postgres', $keeper_sql));
};
my $stop_immediately = sub {
	$node->stop('immediate');
	$node->start;
};
my $kill_postmaster = sub {
	$node->kill9;

	# Its children hold on to shared memory until they notice.
	my $deadline = time + $soon;
	until ($node->start(fail_ok => 1) || time > $deadline)
	{
		usleep(100_000);
		$node->stop('fast', fail_ok => 1);
	}
};

check_crash('crash of a session', 1, $kill_session);
check_crash('crash of the keeper', 1, $kill_keeper);
check_crash('immediate shutdown', 3, $stop_immediately);
check_crash('immediate shutdown in the reference', 0, $stop_immediately);
check_crash('death of the postmaster', 2, $kill_postmaster);

#
# Slots of background workers
#

# One of them is the launcher of logical replication.
foreach my $slots (1, 2)
{
	$node->adjust_conf('postgresql.conf', 'max_worker_processes', $slots);
	$node->restart;
	($out, $err) = call(held_bench_sql());
	like($err, qr/ERROR:  53000: no background worker slot is free\n.*HINT: /s,
		"$slots slots: error");
	check_nothing_left("$slots slots", time);
}
($out, $err) = call($calls{load});
is($out, "100\n", '2 slots: a load by one session');
like($err, qr/NOTICE:  00000: loading with 1 of 6 processes/,
	'2 slots: it says so');

$node->adjust_conf('postgresql.conf', 'max_worker_processes', 4);
$node->restart;
($out, $err) = call(held_bench_sql("workers => '{1,5}'"));
is( $out,
	join('',
		map { "$_|1|$nrows|t\n$_|2|$nrows|t\n" }
		  qw(insert_prepared copy online)),
	'4 slots: workers_used says how many there were');
like($err, qr/NOTICE:  00000: loading with 2 of 5 processes\n/,
	'4 slots: a notice says so');
check_nothing_left('4 slots', time);

# No server has warned of something that was left or leaked.
unlike(slurp_file($node->logfile),
	qr/WARNING: .*(leak|left behind)/, 'no warning in the server log');

$node->stop;

done_testing();
