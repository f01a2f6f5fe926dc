# What the tests of safety share: servers, rows, ways to load, crashes, and
# checks that nothing is wrong with a table and nothing is left behind.

package Safety;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  check_clean check_unchanged_directory crash_server data_files finish_psql
  load_sql note_seed poll_ok safety_node start_held start_psql sum_sql ways write_file
);

# The ways to load that every promise holds for: a name, and options of
# ingest_load().  With several processes a chunk is small, so that each gets
# many of a small file.
my @ways = (
	[ 'direct',    'strategy direct' ],
	[ 'direct x3', 'strategy direct, workers 3' ],
	[ 'staged x3', 'strategy staged, workers 3' ]);

sub ways
{
	return @ways;
}

# A running server with data checksums, the extension and amcheck.
sub safety_node
{
	my ($name, $conf, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => ['--data-checksums'], %params);
	$node->append_conf(
		'postgresql.conf', q{
autovacuum = off
checkpoint_timeout = '1h'
max_wal_size = '2GB'
max_worker_processes = 16
max_parallel_workers = 16
shared_buffers = '32MB'
ingest_tools.chunk_size = '64kB'
} . ($conf // ''));
	$node->start;
	$node->safe_psql('postgres',
		'CREATE EXTENSION ingest_tools; CREATE EXTENSION amcheck');
	return $node;
}

# Write lines to a file of that name, where only tests of this run look.
# $line is called with the numbers $from .. $to.
sub write_file
{
	my ($name, $from, $to, $line) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$name";

	open(my $fh, '>', $file) or die "could not create $file: $!";
	print $fh $line->($_), "\n" foreach $from .. $to;
	close($fh) or die "could not write $file: $!";
	return $file;
}

# SQL of a load.
sub load_sql
{
	my ($table, $file, $options) = @_;

	return "SELECT rows_loaded FROM"
	  . " ingest_load('$table', '$file', 'format csv, $options')";
}

# SQL whose result is the same for the same rows in any order.
sub sum_sql
{
	my ($relation) = @_;

	return "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)"
	  . " FROM $relation t";
}

# The seed of what is left to chance; the same again with SEED=... .
sub note_seed
{
	my $seed = $ENV{SEED} || time;

	srand($seed);
	note("SEED=$seed");
	return;
}

sub poll_ok
{
	my ($node, $sql, $what) = @_;

	ok($node->poll_query_until('postgres', $sql), $what)
	  or note($node->safe_psql('postgres',
			'SELECT pid, backend_type, state, wait_event, query FROM pg_stat_activity'
	  ));
	return;
}

my $npsql = 0;

# Start SQL in a connection of its own, called "loader".
sub start_psql
{
	my ($node, $sql) = @_;
	my %psql = (out => '', err => '');
	my $file = PostgreSQL::Test::Utils::tempdir() . '/psql' . $npsql++ . '.sql';

	append_to_file($file, $sql);
	$psql{run} = IPC::Run::start(
		[
			'psql', '--no-psqlrc', '--quiet', '--tuples-only', '--no-align',
			'--set', 'VERBOSITY=verbose', '--set', 'ON_ERROR_STOP=1',
			'--dbname', $node->connstr('postgres') . ' application_name=loader',
			'--file', $file
		],
		'<', \undef, '>', \$psql{out}, '2>', \$psql{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%psql;
}

# Wait for it to end; returns what it wrote to stdout and stderr.
sub finish_psql
{
	my ($psql) = @_;

	$psql->{run}->finish;
	return ($psql->{out}, $psql->{err});
}

# Processes whose parent is the given one.
sub children
{
	my ($parent) = @_;
	my @pids;

	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		open(my $fh, '<', $file) or next;
		my $line = <$fh> // next;

		# pid (name) state ppid
		push @pids, $1 if $line =~ /^(\d+) \(.*\) \S (\d+) / && $2 == $parent;
	}
	return @pids;
}

# Kill the whole server, the postmaster and all its processes, and wait until
# they are gone.  It can be started then.
sub crash_server
{
	my ($node) = @_;
	my $postmaster = $node->{_pid};
	my @pids = children($postmaster);

	kill(9, $postmaster, @pids);
	$node->{_pid} = undef;
	foreach my $pid ($postmaster, @pids)
	{
		my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;

		# A process that its parent has yet to collect counts as one for
		# whoever reads the postmaster's lock file.
		while (-e "/proc/$pid" && $tries-- > 0)
		{
			usleep(100_000);
		}
		die "process $pid does not end" if -e "/proc/$pid";
	}
	return;
}

# amcheck finds nothing in any table of the user's, TOAST table or B-tree.
sub check_clean
{
	my ($node, $what) = @_;
	my $parent_check =
	  $node->pg_version >= 17
	  ? 'bt_index_parent_check(c.oid, true, true, true)'
	  : 'bt_index_parent_check(c.oid, true, true)';

	my ($status, $out, $err) = $node->psql(
		'postgres', qq{
SELECT c.relname, v.* FROM pg_class c, LATERAL verify_heapam(c.oid) v
WHERE c.relkind IN ('r', 't') AND c.oid >= 16384 AND c.relpersistence <> 't';
DO \$\$
BEGIN
	PERFORM $parent_check FROM pg_class c JOIN pg_am a ON a.oid = c.relam
	WHERE c.relkind = 'i' AND a.amname = 'btree' AND c.oid >= 16384
		AND c.relpersistence <> 't';
END \$\$});
	is("$out$err", '', "$what: verify_heapam, bt_index_parent_check");
	return;
}

# Start a load that stands at the gate, of which the holder keeps the lock.
sub start_held
{
	my ($node, $holder, $sql) = @_;

	$holder->query_safe('SELECT pg_advisory_lock(1)');
	my $loader = start_psql($node, $sql);

	$node->poll_query_until(
		'postgres', q{
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'advisory')})
	  or die 'timed out waiting for a load to reach the gate';
	return $loader;
}

# Files of relations, without segments and forks, and temporary files, below
# the data directory and the given other ones.
sub data_files
{
	my ($node, @others) = @_;
	my $dir = $node->data_dir;
	my %files;

	foreach my $file (
		glob("$dir/base/[0-9]*/*"), glob("$dir/base/pgsql_tmp/*"),
		map { (glob("$_/PG_*/[0-9]*/*"), glob("$_/PG_*/pgsql_tmp/*")) } @others)
	{
		next if $file =~ /pg_internal\.init|PG_VERSION|pg_filenode\.map/;
		$file =~ s/(_fsm|_vm|_init)?(\.\d+)?$// unless $file =~ /pgsql_tmp/;
		$files{$file} = 1;
	}
	return join "\n", sort keys %files;
}

# That of a relation which is dropped stays, empty, until the next checkpoint.
sub check_unchanged_directory
{
	my ($node, $before, $what, @others) = @_;
	my %before = map { $_ => 1 } split /\n/, $before;
	my %after = map { $_ => 1 } split /\n/, data_files($node, @others);
	my @come = grep { !$before{$_} && -s $_ } sort keys %after;
	my @gone = grep { !$after{$_} } sort keys %before;

	is("@come @gone", ' ', "$what: no file has come or gone");
	return;
}

1;
