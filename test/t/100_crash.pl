# The whole server is killed at ten moments of a load and right after its
# COMMIT: after a plain restart all rows of the load are there or none, table
# and indexes are sound, data checksums right, and the next load works.
#
# It takes crashes and restarts.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

my $moments = 10;
my $nbase = 5_000;
my $nrows = 40_000;

note_seed();

my $node = safety_node('crash', q{
full_page_writes = on
});
my $gist = $node->pg_version >= 16;

# Some rows have a value in the TOAST table; keys come in no order.
my $row = sub {
	my ($i) = @_;
	my $v = $i % 500 == 0 ? "$i wide " x 1000 : "row $i";

	return join ',', $i, $i * 7919 % 1009, $v, '"{' . $i % 13 . ",$i}\"";
};
my $base = write_file('base.csv', 1, $nbase, $row);
my $file =
  write_file('load.csv', 1, $nrows, sub { $row->($nbase + $_[0] * 7919 % $nrows + 1) });

$node->safe_psql(
	'postgres', qq{
CREATE TABLE t (id int PRIMARY KEY, k int, v text, w int[]) PARTITION BY RANGE (id);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (20000);
CREATE TABLE t_2 PARTITION OF t DEFAULT;
ALTER TABLE t_2 ALTER v SET STORAGE external;
CREATE INDEX ON t (k);
CREATE INDEX ON t (lower(left(v, 20)), k) WHERE id % 2 = 0;
CREATE INDEX ON t USING gin (w);
CREATE TABLE base (LIKE t);
COPY base FROM '$base' (FORMAT csv);
CREATE TABLE loaded (LIKE t);
COPY loaded FROM '$base' (FORMAT csv);
COPY loaded FROM '$file' (FORMAT csv)});

sub look_sql
{
	my ($table) = @_;

	return sum_sql($table) . qq{;
SET enable_seqscan = off;
SELECT count(*) FROM $table WHERE id >= 0;
SELECT count(*) FROM $table WHERE k >= 0;
SELECT count(*) FROM $table WHERE lower(left(v, 20)) >= '' AND id % 2 = 0;
SELECT count(*) FROM $table WHERE w @> '{3}'};
}

my $none = $node->safe_psql('postgres', look_sql('base'));
my $all = $node->safe_psql('postgres', look_sql('loaded'));

# The table as it is before each load, and a checkpoint, so that recovery
# begins with the load.
sub reset_table
{
	$node->safe_psql('postgres',
		'BEGIN; TRUNCATE t; INSERT INTO t TABLE base; COMMIT');
	$node->safe_psql('postgres', 'CHECKPOINT');
	return;
}

# Rows by sequential scans, and rows that each kind of index leads to.
sub check_rows
{
	my ($what, $expected) = @_;

	is($node->safe_psql('postgres', look_sql('t')),
		$expected, "$what: rows, and what indexes lead to");
	return;
}

# After a crash: sound; a load works; the checksums of all files are right.
sub check_after_crash
{
	my ($what, $options, $done) = @_;

	check_rows($what, $done ? $all : $none);
	check_clean($node, $what);
	$node->safe_psql('postgres', "DELETE FROM t WHERE id > $nbase") if $done;
	is( $node->safe_psql('postgres', load_sql('t', $file, $options)),
		$nrows, "$what: the next load works");
	check_rows("$what, the next load", $all);
	check_clean($node, "$what, the next load");
	$node->stop;
	$node->command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		"$what: checksums");
	$node->start;
	return;
}

# How much WAL a load writes, the measure of how far one is.
sub wal_of_load
{
	my ($options) = @_;

	reset_table();
	my ($start, $loaded, $end) = split /\n/, $node->safe_psql(
		'postgres', 'SELECT pg_current_wal_insert_lsn();'
		  . load_sql('t', $file, $options)
		  . ';SELECT pg_current_wal_insert_lsn()');

	return $node->safe_psql('postgres', "SELECT '$end'::pg_lsn - '$start'");
}

# Kill the server when a load has written so much WAL; returns whether it had
# been told that the load is done.
sub crash_at
{
	my ($options, $bytes) = @_;

	reset_table();
	my $watcher = $node->background_psql('postgres');
	my $target = $watcher->query_safe(
		"SELECT pg_current_wal_insert_lsn() + $bytes");
	my $loader = start_psql($node, load_sql('t', $file, $options));

	$watcher->query_safe(
		qq{
DO \$\$
BEGIN
	WHILE pg_current_wal_insert_lsn() < '$target' LOOP
		IF clock_timestamp() > statement_timestamp() + interval '${PostgreSQL::Test::Utils::timeout_default}s' THEN
			RAISE EXCEPTION 'the load does not go on';
		END IF;
		PERFORM pg_sleep(0.0002);
	END LOOP;
END \$\$});
	crash_server($node);
	my ($out, $err) = finish_psql($loader);

	$watcher->{run}->kill_kill;
	$node->start;
	return $out eq "$nrows\n";
}

my $interrupted = 0;
my %wal;

foreach my $moment (0 .. $moments - 1)
{
	my ($way, $options) = @{ (ways())[ $moment % scalar(ways()) ] };
	my $wal = $wal{$way} //= wal_of_load($options);
	my $share = ($moment + rand) / $moments * 0.98;
	my $what = sprintf '%s, killed at %.1f %%', $way, 100 * $share;
	my $told = crash_at($options, int($wal * $share));
	my $done = $node->safe_psql('postgres', 'SELECT count(*) FROM t') > $nbase;

	$interrupted++ unless $done;
	ok($done || !$told, "$what: what the client was told of is there");
	check_after_crash($what, $options, $done);
}
cmp_ok($interrupted, '>', 0, "loads were interrupted, of $moments: $interrupted");

# Right after COMMIT, what recovery makes of each record compared with what the
# server had.  The server of 15 makes other GiST pages than it had, so there is
# no such index.
$node->safe_psql(
	'postgres', q{
CREATE INDEX ON t USING hash (k);
CREATE INDEX ON t USING brin (k);
CREATE INDEX ON t USING spgist (left(v, 20));
ALTER SYSTEM SET wal_consistency_checking = 'all';
SELECT pg_reload_conf()});
$node->safe_psql('postgres',
	'CREATE INDEX ON t USING gist (int4range(k, k + 1))') if $gist;

foreach my $way (ways())
{
	my ($name, $options) = @$way;
	my $what = "$name, killed after COMMIT";

	reset_table();
	is( $node->safe_psql(
			'postgres',
			'BEGIN; ' . load_sql('t', $file, $options) . '; COMMIT'),
		$nrows,
		"$what: load");
	crash_server($node);
	$node->start;
	check_after_crash($what, $options, 1);
}
ok(!$node->log_contains('inconsistent page found'),
	'recovery makes the pages the server had');

$node->stop;

done_testing();
