# The workloads psql_30k (six ways to insert) and commit_write (four commit
# modes) of two published studies, small, by ingest_bench: commits and syncs are
# as many as each way must have, and every way leaves the same rows.  How the
# times compare is told but not tested; test/bench/run does that.
#
# It takes a server with fsync on, where nobody else writes WAL.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('workloads');

$node->init;
$node->append_conf(
	'postgresql.conf', q{
fsync = on
autovacuum = off
checkpoint_timeout = '1h'
track_wal_io_timing = on
ingest_tools.wait_sample_interval = '1ms'
session_preload_libraries = 'ingest_tools'
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION ingest_tools');

# Run a bench with one run; returns its figures by name.
sub bench
{
	my ($arguments) = @_;
	my @columns = qw(verified rows_loaded commits wal_sync elapsed_ms
	  wal_sync_time commit_rows);
	my $list = join(', ', @columns);
	my $result = $node->safe_psql(
		'postgres', qq{
SELECT $list, coalesce((SELECT sum((w->>'samples')::int)
		FROM jsonb_array_elements(waits) w
		WHERE lower(w->>'event') = 'walsync'), 0)
FROM ingest_bench($arguments)});
	my %figures;

	@figures{ @columns, 'sync_samples' } = split /\|/, $result;
	return \%figures;
}

# Tell the time of a run.
sub note_time
{
	my ($what, $figures) = @_;

	note(sprintf '%-45s %9.1f ms, %6d syncs',
		$what, $figures->{elapsed_ms}, $figures->{wal_sync});
	return;
}

#
# psql_30k
#

my $nrows = 1000;

$node->safe_psql(
	'postgres', qq{
CREATE SEQUENCE seq;
CREATE TABLE psql_30k (id bigint DEFAULT nextval('seq'), n bigint,
	x double precision, y double precision, t timestamp);
CREATE TABLE psql_30k_source AS
SELECT g AS id, g * 7919 % 30000 AS n, g / 7.0::float8 AS x, sqrt(g) AS y,
	timestamp '2002-06-01' + g * interval '1 second' AS t
FROM generate_series(1, $nrows) g});

my $with_ids = q{'psql_30k', 'SELECT * FROM psql_30k_source', };
my $without_ids = q{'psql_30k', 'SELECT n, x, y, t FROM psql_30k_source',
	'columns (n, x, y, t)', };

foreach my $way (
	[
		'one INSERT per transaction',
		$without_ids . q{strategies => '{insert}', commit_rows => '{1}'}, $nrows
	],
	[
		'all INSERTs in one transaction',
		$without_ids . q{strategies => '{insert}'}, 1
	],
	[
		'same, ids computed beforehand', $with_ids . q{strategies => '{insert}'},
		1
	],
	[
		'prepared INSERT, one transaction',
		$with_ids . q{strategies => '{insert_prepared}'}, 1
	],
	[ 'COPY, ids in the data', $with_ids . q{strategies => '{copy}'}, 1 ],
	[
		'COPY, ids from the sequence', $without_ids . q{strategies => '{copy}'},
		1
	])
{
	my ($what, $arguments, $commits) = @$way;
	my $figures = bench($arguments);

	note_time($what, $figures);
	is($figures->{verified}, 't', "$what: verified");
	is($figures->{rows_loaded}, $nrows, "$what: rows");
	is($figures->{commits}, $commits, "$what: commits");
	cmp_ok($figures->{wal_sync}, '>=', $commits,
		"$what: at least a sync for each commit");
	cmp_ok($figures->{wal_sync}, '<', $nrows / 4, "$what: few syncs")
	  if $commits == 1;
}
is($node->safe_psql('postgres', 'SELECT is_called FROM seq'),
	'f', 'the sequence of the target is not advanced');

#
# commit_write
#

$nrows = 500;
$node->safe_psql(
	'postgres', qq{
CREATE TABLE commit_write (n numeric, v varchar(500));
CREATE TABLE commit_write_source AS
SELECT g::numeric AS n,
	(SELECT string_agg(chr(65 + (random() * 25)::int), '')
	 FROM generate_series(1, 500) WHERE g > 0) AS v
FROM generate_series(1, $nrows) g});

my %runs;

foreach my $mode (qw(immediate_wait batch_wait immediate_nowait batch_nowait))
{
	my $figures = bench(
		q{'commit_write', 'SELECT * FROM commit_write_source',
		strategies => '{insert_prepared}', commit_rows => '{1}', }
		  . "commit_modes => '{$mode}'");

	note_time($mode, $figures);
	is($figures->{verified}, 't', "$mode: verified");
	is($figures->{commits}, $nrows, "$mode: one commit per row");
	if ($mode =~ /nowait/)
	{
		cmp_ok($figures->{wal_sync}, '<', $nrows / 4, "$mode: few syncs");
	}
	else
	{
		cmp_ok($figures->{wal_sync}, '>=', $nrows,
			"$mode: a sync for each commit");
	}
	$runs{$mode} = $figures;
}

# Each commit of batch_wait waits for the delay, which nothing cuts short.
cmp_ok($runs{batch_wait}->{elapsed_ms}, '>=', $nrows * 0.1,
	'batch_wait: the delay is there');

SKIP:
{
	# On a disk that is no disk there is nothing to see for samples.
	skip 'syncs take no time here', 2
	  if $runs{immediate_wait}->{wal_sync_time} < 100;

	cmp_ok($runs{immediate_wait}->{sync_samples},
		'>', 0, 'immediate_wait: waits of syncs are seen');
	cmp_ok(
		$runs{immediate_nowait}->{sync_samples},
		'<',
		$runs{immediate_wait}->{sync_samples},
		'immediate_nowait: fewer of them');
}

# A source written to commit in batches is the control.
my $batches = bench(
	q{'commit_write', 'SELECT * FROM commit_write_source',
	strategies => '{insert_prepared}', commit_rows => '{100}'});

note_time('immediate_wait, a commit every 100 rows', $batches);
is($batches->{commits}, $nrows / 100, 'commits in batches');
cmp_ok($batches->{wal_sync}, '<', $nrows / 4, 'commits in batches: few syncs');

$node->stop;

done_testing();
