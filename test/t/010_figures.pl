# The figures of a load against the server's and the kernel's own instruments:
# WAL against pg_waldump, buffers against pg_stat_statements and pg_statio, CPU
# time against /proc; for one process and for three, in the caller's transaction
# and in sessions.
#
# It takes a server where nothing else happens, settings of its own, and the
# server's files, none of which a regression test has.

use strict;
use warnings;

use IPC::Run;
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('figures');

# Hint bits are not logged without checksums: a reader writes no WAL.
$node->init(no_data_checksums => 1);
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = '1h'
max_wal_size = '4GB'
wal_keep_size = '2GB'
shared_buffers = '256MB'
wal_log_hints = off
track_wal_io_timing = on
max_worker_processes = 16
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track = 'all'
pg_stat_statements.track_planning = on
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION ingest_tools');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');

my $wal_dir = $node->data_dir . '/pg_wal';

# A CSV file of n rows (id, k, b); b has the given length.
sub csv_file
{
	my ($name, $n, $length) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$name.csv";

	open(my $fh, '>', $file) or die "could not create $file: $!";
	foreach my $i (1 .. $n)
	{
		my $b = substr(sprintf('row %d ', $i) x ($length / 6 + 1), 0, $length);

		printf $fh "%d,%d,%s\n", $i, $i * 7919 % $n, $b;
	}
	close($fh);
	return $file;
}

# A table for such rows, and what was done to it on disk.
sub make_table
{
	my ($name, $definition) = @_;

	$node->safe_psql('postgres', "DROP TABLE IF EXISTS $name; $definition");
	$node->safe_psql('postgres', 'CHECKPOINT');
	return;
}

# SQL that loads and returns the report as JSON.
sub load_sql
{
	my ($table, $file, $options) = @_;

	return "SELECT pg_catalog.to_jsonb(r) FROM"
	  . " ingest_load('$table', '$file', 'format csv, $options') r";
}

# Load; returns the report.
sub load
{
	return decode_json($node->safe_psql('postgres', load_sql(@_)));
}

# Output of pg_waldump.  It is told the files: of a mere directory it looks at
# any file for the size of segments, which may be one not yet used.
sub run_waldump
{
	my ($start, $end, @options) = @_;
	my ($out, $err);

	IPC::Run::run(
		[
			'pg_waldump', '--path', $wal_dir, '--start', $start, '--end', $end,
			@options, wal_file($start, 0), wal_file($end, 1)
		],
		'>', \$out, '2>', \$err)
	  or die "pg_waldump failed: $err";
	return split /\n/, $out;
}

# Name of the file with the position, or with so many bytes before it.
sub wal_file
{
	my ($lsn, $before) = @_;
	my ($high, $low) = map { hex } split m{/}, $lsn;
	my $segment = ($high << 32 | $low) - $before >> 24;

	return sprintf '00000001%08X%08X', $segment >> 8, $segment & 0xFF;
}

# What pg_waldump shows from start to end: the sums of records, their bytes and
# full page images, and the same by relation, as "records bytes images".  A
# record's bytes belong to the first relation it names.
#
# RUNNING_XACTS is what a background process notes down every 15 seconds; no
# load writes it, so it is left out.
sub waldump
{
	my ($start, $end) = @_;
	my ($records, $bytes, $fpi) = (0, 0, 0);
	my %relations;

	foreach my $line (run_waldump($start, $end))
	{
		next unless $line =~ m{ len \(rec/tot\): +\d+/ *(\d+), };
		my $length = $1;
		my %seen;

		next if $line =~ /RUNNING_XACTS/;
		$records++;
		$bytes += $length;

		# "FPW" marks the image of a block; "FPI" ones are of full pages that
		# were logged as such.
		while ($line =~ m{blkref #\d+: rel (\S+) (?:fork \S+ )?blk \d+( FPW)?}g)
		{
			my $relation = $relations{$1} //= [ 0, 0, 0 ];

			$relation->[1] += $length unless %seen;
			$relation->[0]++ unless $seen{$1}++;
			if ($2)
			{
				$relation->[2]++;
				$fpi++;
			}
		}
	}
	return ($records, $bytes, $fpi,
		{ map { $_ => "@{ $relations{$_} }" } keys %relations });
}

# The same sums from "pg_waldump --stats", which is what people look at.
sub waldump_stats
{
	my ($start, $end) = @_;
	my ($records, $bytes) = (0, 0);

	foreach my $line (run_waldump($start, $end, '--stats=record'))
	{
		# type, count, record size, image size, both; each with a percentage
		next
		  unless $line =~
		  m{^(\S+/\S+) +(\d+) \( *[\d.]+\) +\d+ \( *[\d.]+\) +\d+ \( *[\d.]+\) +(\d+) \(};
		next if $1 eq 'Standby/RUNNING_XACTS';
		$records += $2;
		$bytes += $3;
	}
	return ($records, $bytes);
}

# The files of all relations as pg_waldump names them, by kind and name; a TOAST
# table has the name of its table.
sub relation_paths
{
	my $paths = $node->safe_psql(
		'postgres', q{
SELECT k.kind || ' ' || c.relname || '|' ||
	coalesce(nullif(f.reltablespace, 0), d.dattablespace) ||
	'/' || d.oid || '/' || pg_relation_filenode(f.oid)
FROM pg_database d, pg_class c
	LEFT JOIN pg_index ti ON ti.indrelid = c.reltoastrelid,
	LATERAL (VALUES
		(CASE c.relkind WHEN 'i' THEN 'index' ELSE 'heap' END, c.oid),
		('toast', c.reltoastrelid),
		('toast index', ti.indexrelid)) k(kind, oid)
	JOIN pg_class f ON f.oid = k.oid
WHERE c.oid >= 16384 AND c.relkind IN ('r', 'i')
	AND c.relnamespace = 'public'::regnamespace
	AND d.datname = current_database()});

	return map { split /\|/ } split /\n/, $paths;
}

# Compare a report with pg_waldump; returns what that has by relation.
sub check_wal
{
	my ($report, $what) = @_;
	my ($start, $end) = ($report->{start_lsn}, $report->{end_lsn});
	my ($records, $bytes, $fpi, $relations) = waldump($start, $end);
	my ($stats_records, $stats_bytes) = waldump_stats($start, $end);

	cmp_ok($records, '>', 0, "$what: there is WAL");
	is($report->{wal_records}, $records, "$what: WAL records");
	is($report->{wal_bytes}, $bytes, "$what: WAL bytes");
	is($report->{wal_fpi}, $fpi, "$what: full page images");
	is($stats_records, $records, "$what: records of pg_waldump --stats");
	is($stats_bytes, $bytes, "$what: bytes of pg_waldump --stats");
	return $relations;
}

# Records, bytes and images of a relation in a report.
sub relation_wal
{
	my ($relation) = @_;

	return join ' ',
	  map { $_ // 'NULL' } @$relation{qw(wal_records wal_bytes wal_fpi)};
}

# Compare the figures by relation of a load of a table that is still there.
# Others may write to it, so only a strategy that keeps books of its own knows
# its part.
sub check_relations_of_load
{
	my ($report, $relations, $known, $what) = @_;
	my %paths = relation_paths();

	foreach my $relation (@{ $report->{relations} })
	{
		my $name = "$relation->{kind} $relation->{relation}";

		is( relation_wal($relation),
			$known ? $relations->{ $paths{$name} } // '0 0 0' : 'NULL NULL NULL',
			"$what: records, bytes and images of $name");
	}
	return;
}

# Compare those of a run of a bench.  Its clone is gone and so are the names of
# the clone's files; but each relation has a number of records of its own, and
# nobody has written to any other table meanwhile.
sub check_relations_of_run
{
	my ($report, $relations, $what) = @_;
	my @dumped = map { $relations->{$_} }
	  grep { m{^\d+/\d+/(\d+)$} && $1 >= 16384 } keys %$relations;
	my @reported = grep { $_ ne '0 0 0' }
	  map { relation_wal($_) } @{ $report->{relations} };
	my $sum = 0;

	is( join(', ', sort @reported),
		join(', ', sort @dumped),
		"$what: records, bytes and images by relation");

	foreach my $relation (@{ $report->{relations} })
	{
		cmp_ok($relation->{page_updates} // -1,
			'>=', $relation->{wal_records},
			"$what: page updates of a $relation->{kind}");
		$sum += $relation->{wal_bytes};
	}
	cmp_ok($sum, '<=', $report->{wal_bytes},
		"$what: relations' bytes within the total");
	cmp_ok($sum, '>', 0.95 * $report->{wal_bytes},
		"$what: relations' bytes nearly all");
	return;
}

# Load in three sessions; returns the report, and the CPU time of the sessions
# by /proc: 0 if one of them was not met while it worked.
sub load_in_three
{
	my ($table_sql, $file) = @_;
	my ($out, $used) = ('', 0);
	my %cpu;

	make_table('cpu_test', $table_sql =~ s/%s/cpu_test/gr);
	my $psql = IPC::Run::start(
		[
			'psql', '--no-psqlrc', '--quiet', '--tuples-only', '--no-align',
			'--dbname', $node->connstr('postgres'),
			'--command',
			load_sql('cpu_test', $file, 'strategy insert_prepared, workers 3')
		],
		'>', \$out);

	while ($psql->pumpable && keys %cpu < 3)
	{
		$cpu{$_} = 0 foreach split /\n/, $node->safe_psql(
			'postgres', q{
SELECT pid FROM pg_stat_activity WHERE backend_type = 'ingest_tools session'});
		$psql->pump_nb;
	}
	while ($psql->pumpable)
	{
		foreach my $session (keys %cpu)
		{
			my $ms = cpu_ms($session);

			$cpu{$session} = $ms if defined $ms;
		}
		usleep(2_000);
		$psql->pump_nb;
	}
	$psql->finish;
	return (decode_json($out), 0) if keys %cpu < 3 || grep { !$_ } values %cpu;
	$used += $_ foreach values %cpu;
	return (decode_json($out), $used);
}

# Benches the ways to load and compares each run's WAL.
sub check_bench_wal
{
	my ($table, $file, $arguments, $expected, $what) = @_;
	my @runs = split /\n/, $node->safe_psql(
		'postgres', qq{
SELECT pg_catalog.to_jsonb(r) FROM ingest_bench('$table', '$file', $arguments) r});

	is(scalar(@runs), $expected, "$what: $expected runs");
	foreach my $run (@runs)
	{
		my $report = decode_json($run);
		my $run_what = "$what, $report->{strategy}, $report->{workers} "
		  . ($report->{workers} > 1 ? 'processes' : 'process');
		my $relations = check_wal($report, $run_what);

		# A small file is one chunk, which direct gives to one process.
		is( $report->{workers_used},
			$report->{strategy} =~ /^(direct|staged)$/ ? 1 : $report->{workers},
			"$run_what: workers used");
		check_relations_of_run($report, $relations, $run_what);
	}
	return;
}

# Is a figure at least the instrument's, and at most a little more?
sub between
{
	my ($figure, $instrument, $slack, $what) = @_;

	cmp_ok($figure, '>=', $instrument, "$what, not less");
	cmp_ok($figure, '<=', $instrument + $slack, "$what, not much more");
	return;
}

# Compare a report's buffers and WAL with those pg_stat_statements has of the
# INSERT statements.  What is more is catalogs: looking up the target, parsing.
sub check_statements
{
	my ($report, $table, $what) = @_;
	my @names = qw(shared_blks_hit shared_blks_read shared_blks_dirtied
	  shared_blks_written wal_records wal_bytes);
	my $sums = join(', ', map { "sum($_)" } @names);
	my @statements = split /\|/, $node->safe_psql(
		'postgres', qq{
SELECT $sums FROM pg_stat_statements WHERE query LIKE 'INSERT INTO %$table%'});
	my %slack = (
		shared_blks_hit => 5000,
		shared_blks_read => 300,
		shared_blks_dirtied => 50,
		shared_blks_written => 50,
		wal_records => 50,
		wal_bytes => 200_000);

	foreach my $i (0 .. $#names)
	{
		between($report->{ $names[$i] },
			$statements[$i], $slack{ $names[$i] }, "$what: $names[$i]");
	}
	return;
}

# Compare page requests per relation with those the server hands over to its
# statistics as the loading processes end; the table has none before.
sub check_statio
{
	my ($report, $what) = @_;

	$node->poll_query_until(
		'postgres', q{
SELECT count(*) = 0 FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND
	backend_type IN ('client backend', 'ingest_tools session')})
	  or die 'timed out waiting for the loading processes to end';

	my %statio = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql(
		'postgres', q{
SELECT 'heap ' || relname, heap_blks_hit, heap_blks_read FROM pg_statio_user_tables
UNION ALL
SELECT 'toast ' || relname, toast_blks_hit, toast_blks_read FROM pg_statio_user_tables
UNION ALL
SELECT 'toast index ' || relname, tidx_blks_hit, tidx_blks_read FROM pg_statio_user_tables
UNION ALL
SELECT 'index ' || indexrelname, idx_blks_hit, idx_blks_read FROM pg_statio_user_indexes});

	foreach my $relation (@{ $report->{relations} })
	{
		my $name = "$relation->{kind} $relation->{relation}";

		is("$relation->{blks_hit}|$relation->{blks_read}",
			$statio{$name}, "$what: hits and reads of $name");
	}
	return;
}

# CPU time of a process so far, in milliseconds; undef if there is no such.
sub cpu_ms
{
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/stat") or return;
	my $line = <$fh>;
	close($fh);
	return unless defined $line;

	# What follows the command's name: state is field 3, utime 14, stime 15.
	$line =~ s/^.*\) //;
	my @fields = split / /, $line;
	my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());

	return ($fields[11] + $fields[12]) * 1000 / $ticks;
}

my $table_sql = 'CREATE TABLE %s (id int PRIMARY KEY, k int, b text);'
  . 'CREATE INDEX %s_k ON %s (k)';
my $nrows = 10_000;
my $file = csv_file('rows', $nrows, 40);

#
# WAL
#

# Rows that are there at the checkpoint before a run, or before a load, are on
# pages that will be logged as images.
make_table('wal_test', $table_sql =~ s/%s/wal_test/gr);
$node->safe_psql('postgres',
	q{INSERT INTO wal_test SELECT -i, i % 7, 'before' FROM generate_series(1, 1000) i}
);
check_bench_wal('wal_test', $file, q{workers => '{1,3}', preload => 1000},
	2 * $node->safe_psql('postgres',
		q{SELECT count(*) FROM ingest_strategies() WHERE strategy NOT IN ('auto', 'staged')}),
	'bench');
$node->safe_psql('postgres', 'CHECKPOINT');

foreach my $strategy (qw(insert copy online))
{
	foreach my $workers (1, 3)
	{
		my $what = "load, $strategy, $workers "
		  . ($workers > 1 ? 'processes' : 'process');

		make_table('wal_test', ($table_sql =~ s/%s/wal_test/gr) . q{;
INSERT INTO wal_test SELECT -i, i % 7, 'before' FROM generate_series(1, 1000) i});
		my $report =
		  load('wal_test', $file, "strategy $strategy, workers $workers");
		my $relations = check_wal($report, $what);

		is($report->{workers_used}, $workers, "$what: workers used");
		cmp_ok($report->{wal_fpi}, '>', 0, "$what: there are page images");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM wal_test'),
			$nrows + 1000, "$what: rows");
		check_relations_of_load($report, $relations, $strategy eq 'online',
			$what);
	}
}

# Values that go to a TOAST table, and partitions.
make_table(
	'wide_test', q{
CREATE TABLE wide_test (id int, k int, b text) PARTITION BY RANGE (id);
CREATE TABLE wide_test_1 PARTITION OF wide_test FOR VALUES FROM (0) TO (200);
CREATE TABLE wide_test_2 PARTITION OF wide_test DEFAULT;
ALTER TABLE wide_test_1 ALTER b SET STORAGE external;
ALTER TABLE wide_test_2 ALTER b SET STORAGE external;
CREATE INDEX ON wide_test (k)});
check_bench_wal('wide_test', csv_file('wide', 800, 6_000),
	q{strategies => '{insert_values,copy,online}'},
	3, 'bench, wide rows');

#
# Buffers
#

foreach my $strategy (qw(insert_prepared insert_values))
{
	foreach my $workers (1, 3)
	{
		my $what = "$strategy, $workers " . ($workers > 1 ? 'processes' : 'process');

		make_table('buffer_test', $table_sql =~ s/%s/buffer_test/gr);
		$node->safe_psql('postgres',
			'SELECT pg_stat_reset(), pg_stat_statements_reset()');
		my $report =
		  load('buffer_test', $file, "strategy $strategy, workers $workers");

		check_statio($report, $what);
		check_statements($report, 'buffer_test', $what);
	}
}

# COPY as a command of its own, into a table alike, is the instrument for
# strategy copy.
make_table('copy_test', $table_sql =~ s/%s/copy_test/gr);
$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
$node->safe_psql('postgres', "COPY copy_test FROM '$file' (FORMAT csv)");
my @copied = split /\|/, $node->safe_psql(
	'postgres', q{
SELECT shared_blks_dirtied, shared_blks_written, wal_records, wal_bytes
FROM pg_stat_statements WHERE query LIKE 'COPY copy_test%'});

make_table('copy_test', $table_sql =~ s/%s/copy_test/gr);
my $copy_report = load('copy_test', $file, 'strategy copy');
my @names = qw(shared_blks_dirtied shared_blks_written wal_records wal_bytes);

foreach my $i (0 .. $#names)
{
	my $figure = $copy_report->{ $names[$i] };

	cmp_ok(
		abs($figure - $copied[$i]), '<=', 0.02 * $copied[$i] + 10,
		"copy: $names[$i] as COPY has it ($figure, $copied[$i])");
}

#
# CPU time
#

SKIP:
{
	skip 'there is no /proc here', 1 unless -r '/proc/self/stat';
	require POSIX;

	my $cpu_file = csv_file('cpu', 60_000, 40);

	# One process: the backend itself, asked before and after.
	make_table('cpu_test', $table_sql =~ s/%s/cpu_test/gr);
	my ($in, $out) = ('', '');
	my $psql = IPC::Run::start(
		[
			'psql', '--no-psqlrc', '--quiet', '--tuples-only', '--no-align',
			'--set', 'ON_ERROR_STOP=1',
			'--dbname', $node->connstr('postgres')
		],
		'<', \$in, '>', \$out);

	$in = "SELECT 'pid', pg_backend_pid();\n";
	$psql->pump until $out =~ /pid\|(\d+)\n/;
	my $pid = $1;
	my $before = cpu_ms($pid);

	$out = '';
	$in = load_sql('cpu_test', $cpu_file, 'strategy insert_prepared')
	  . ";\nSELECT 'done';\n";
	$psql->pump until $out =~ /^done$/m;
	my $used = cpu_ms($pid) - $before;

	$in = "\\q\n";
	$psql->finish;
	my $report = decode_json($out =~ s/\ndone\n//r);
	my $figure = $report->{cpu_user_ms} + $report->{cpu_system_ms};

	# The clock of /proc ticks every 10 ms; outside of the load there is the
	# report.
	cmp_ok($figure, '>', 200, 'one process: load is long enough to compare');
	cmp_ok(abs($figure - $used), '<=', 0.05 * $used + 40,
		"one process: CPU time ($figure ms, $used ms by /proc)");

	# Three sessions.  They are gone when the load returns, so look at them
	# all the while; what they do before their jobs begin is little.  On a busy
	# machine they can be gone before one looks: then once more.
	for my $attempt (1 .. 10)
	{
		($report, $used) = load_in_three($table_sql, $cpu_file);
		last if $used > 0;
	}
	$figure = $report->{cpu_user_ms} + $report->{cpu_system_ms};
	is($report->{workers_used}, 3, 'three processes: workers used');
	cmp_ok(abs($figure - $used), '<=', 0.10 * $used + 120,
		"three processes: CPU time ($figure ms, $used ms by /proc)");
}

$node->stop;

done_testing();
