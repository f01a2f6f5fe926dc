# Mode replace (strategy staged) when something goes wrong: killed at any moment
# it leaves the old rows or the new ones; a load that fails or is cancelled,
# also while it waits to publish, leaves the old ones and no table, file or
# lock; what it has published under wal_level = minimal or has prepared for a
# two-phase commit outlives a crash; and under wal_level = logical it is refused.
#
# It takes crashes, several connections, settings of a server, and a small file
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
use Time::HiRes qw(usleep time);

note_seed();

my $nrows = 20_000;
my $row = sub {
	my ($i) = @_;

	return join ',', $i, $i * 7919 % 1009,
	  $i % 100 == 0 ? "$i wide " x 1000 : "row $i";
};
my $old = write_file('old.csv', 1, 3_000, $row);
my $new = write_file('new.csv', 2_001, $nrows, $row);
my $table = q{
CREATE TABLE t (id int PRIMARY KEY, k int, v text) PARTITION BY RANGE (id);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (9000);
CREATE TABLE t_2 PARTITION OF t DEFAULT;
ALTER TABLE t_2 ALTER v SET STORAGE external;
CREATE INDEX ON t (k);
CREATE INDEX ON t USING gin (to_tsvector('simple', left(v, 50)));
};

my $node = safety_node(
	'replacing', q{
wal_consistency_checking = 'all'
max_prepared_transactions = 2
});

$node->safe_psql('postgres', "$table COPY t FROM '$old' (FORMAT csv);"
	  . "CREATE TABLE loaded (LIKE t); COPY loaded FROM '$new' (FORMAT csv)");
my $old_sum = $node->safe_psql('postgres', sum_sql('t'));
my $new_sum = $node->safe_psql('postgres', sum_sql('loaded'));

# Rows by heap, by B-tree and by GIN: the sum, and "all" for each index that
# leads to as many.
sub look
{
	my ($server) = @_;
	my $sum = $server->safe_psql('postgres', sum_sql('t'));
	my ($count) = split /\|/, $sum;

	return "$sum " . $server->safe_psql('postgres', qq{
SET enable_seqscan = off;
SELECT (SELECT count(*) = $count FROM t WHERE id > 0) AND
	(SELECT count(*) = $count FROM t WHERE k >= 0) AND
	(SELECT count(*) = $count FROM t
	 WHERE to_tsvector('simple', left(v, 50)) @@ 'row | wide'::tsquery)});
}

sub replace_sql
{
	my ($file, $workers) = @_;

	return load_sql('t', $file, "strategy staged, mode replace, workers $workers");
}

# ---------------------------------------------------------------------------
# Crashes
# ---------------------------------------------------------------------------

my $start = time();
$node->safe_psql('postgres', 'BEGIN; ' . replace_sql($new, 3) . '; ROLLBACK');
my $duration = time() - $start;
my %seen;

foreach my $try (1 .. 10)
{
	my $workers = $try % 2 ? 1 : 3;
	my $psql = start_psql($node, replace_sql($new, $workers));
	my $pause = rand($duration);

	usleep(1_000_000 * $pause);
	crash_server($node);
	eval { finish_psql($psql) };
	$node->start;
	my $rows = look($node);
	my $which =
	    $rows eq "$old_sum t" ? 'old'
	  : $rows eq "$new_sum t" ? 'new'
	  :                         $rows;

	like($which, qr/^(old|new)$/,
		sprintf('killed after %.3f s: all the rows of one of them', $pause));
	$seen{$which}++;
	check_clean($node, "crash $try");
	$node->safe_psql('postgres', replace_sql($old, $workers));
	is(look($node), "$old_sum t", "crash $try: the next load");
}
note("$_ rows: $seen{$_} times") foreach sort keys %seen;

$node->safe_psql('postgres',
	'BEGIN; ' . replace_sql($new, 3) . "; PREPARE TRANSACTION 'p'");
crash_server($node);
$node->start;
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");
is(look($node), "$new_sum t", 'prepared, crash, committed');
check_clean($node, 'prepared');
$node->safe_psql('postgres',
	'BEGIN; ' . replace_sql($old, 1) . "; PREPARE TRANSACTION 'p'");
$node->safe_psql('postgres', "ROLLBACK PREPARED 'p'");
is(look($node), "$new_sum t", 'prepared and rolled back');

# ---------------------------------------------------------------------------
# Failures
# ---------------------------------------------------------------------------

# locks of others, relations, loads that are shown
my $state_sql = q{
SELECT (SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()),
	(SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_index),
	(SELECT count(*) FROM ingest_progress)};

# A load fails with that SQLSTATE and leaves nothing.
sub check_fails
{
	my ($what, $sql, $state, $message) = @_;

	$node->safe_psql('postgres', 'CHECKPOINT');
	my $before = $node->safe_psql('postgres', $state_sql);
	my $rows = look($node);
	my $files = data_files($node);
	my ($out, $err) = finish_psql(start_psql($node, $sql));

	like($err, qr/ERROR:  $state: $message/, "$what: fails");
	poll_ok(
		$node,
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'loader'},
		"$what: no process left");
	is($node->safe_psql('postgres', $state_sql), $before,
		"$what: no lock, relation or load left");
	is(look($node), $rows, "$what: the rows");
	$node->safe_psql('postgres', 'CHECKPOINT');
	check_unchanged_directory($node, $files, $what);
	return;
}

my $bad = write_file('bad.csv', 1, $nrows + 1,
	sub { return $_[0] > $nrows ? 'x,1,last row' : $row->(@_) });
my $dup = write_file('dup.csv', 1, $nrows + 1,
	sub { return $row->($_[0] > $nrows ? 17 : $_[0]) });

foreach my $workers (1, 3)
{
	check_fails("error in the last row, $workers",
		replace_sql($bad, $workers), '22P02', 'invalid input syntax');
	check_fails("duplicate, $workers", replace_sql($dup, $workers), '23505',
		'duplicate key value violates unique constraint "t_1_pkey"\s+DETAIL:  Key \(id\)=\(17\) already exists');
	check_fails("statement_timeout, $workers",
		"SET statement_timeout = '1ms'; " . replace_sql($new, $workers),
		'57014', 'canceling statement due to statement timeout');

	# it has staged all rows and waits for a reader
	my $reader = $node->background_psql('postgres');
	$reader->query_safe('BEGIN; SELECT count(*) FROM t_2');
	check_fails("lock_timeout at publishing, $workers",
		"SET lock_timeout = '10ms'; " . replace_sql($new, $workers),
		'55P03', 'canceling statement due to lock timeout');
	$reader->quit;
}
my ($out, $err) = finish_psql(start_psql($node, replace_sql($dup, 3)));
unlike($err, qr/pg_temp_/, 'no error speaks of a staging table');

SKIP:
{
	my $disk = $ENV{INGEST_TEST_SMALL_DISK};

	skip 'no small file system: INGEST_TEST_SMALL_DISK names none', 1
	  unless $disk;
	mkdir("$disk/replacing") or die "could not create $disk/replacing: $!";

	my $big = write_file('big.csv', 1001, 21_000, sub {
		my ($i) = @_;

		return join ',', $i, $i * 7919 % 20011,
		  join '', map { md5_hex("$i $_") } 1 .. 50;
	});
	my %full = (
		'the table' => 'CREATE TABLE full_t (id int PRIMARY KEY, k int, v text) TABLESPACE small',
		'the TOAST table' => 'CREATE TABLE full_t (id int PRIMARY KEY, k int, v text) TABLESPACE small;'
		  . 'ALTER TABLE full_t ALTER v SET STORAGE external; ALTER TABLE full_t SET (toast_tuple_target = 200)',
		'an index' => 'CREATE TABLE full_t (id int PRIMARY KEY, k int, v text);'
		  . 'CREATE INDEX full_i ON full_t (left(v, 1000)) TABLESPACE small');

	$node->safe_psql('postgres',
		"CREATE TABLESPACE small LOCATION '$disk/replacing'");
	foreach my $what (sort keys %full)
	{
		$node->safe_psql('postgres',
			"$full{$what}; INSERT INTO full_t SELECT i, i, 'there' FROM generate_series(1, 1000) i"
		);
		my $sum = $node->safe_psql('postgres', sum_sql('full_t'));

		foreach my $workers (1, 3)
		{
			check_fails(
				"full disk, $what, $workers",
				load_sql(
					'full_t', $big,
					"strategy staged, mode replace, workers $workers"),
				'53100',
				'');
			is($node->safe_psql('postgres', sum_sql('full_t')),
				$sum, "full disk, $what, $workers: the table's rows");
		}
		$node->safe_psql('postgres', 'DROP TABLE full_t; CHECKPOINT');
	}
	$node->safe_psql('postgres', 'DROP TABLESPACE small');
	rmdir("$disk/replacing");
}

$node->safe_psql('postgres', replace_sql($old, 3));
is(look($node), "$old_sum t", 'a load after all that failed');
check_clean($node, 'after failures');

# ---------------------------------------------------------------------------
# Other levels of WAL
# ---------------------------------------------------------------------------

$node->append_conf('postgresql.conf', 'wal_level = logical');
$node->restart;
my $before = $node->safe_psql('postgres', $state_sql);
($out, $err) = finish_psql(start_psql($node, replace_sql($new, 3)));
like($err, qr/ERROR:  0A000: the rows of table "t" cannot be replaced/,
	'wal_level = logical: refused');
like($err, qr/rows must be fit for logical decoding/,
	'wal_level = logical: the reason');
is(look($node), "$old_sum t", 'wal_level = logical: the rows');
is($node->safe_psql('postgres', $state_sql), $before,
	'wal_level = logical: nothing is left');
$node->safe_psql('postgres', 'ALTER TABLE t_1 SET UNLOGGED;'
	  . load_sql('t_1', $old, 'strategy staged, mode replace'));
$node->stop;

my $minimal = safety_node(
	'replacing_minimal', q{
wal_level = minimal
max_wal_senders = 0
});
$minimal->safe_psql('postgres', "$table COPY t FROM '$old' (FORMAT csv)");

# small relations are logged whole at commit, large ones synced
foreach my $threshold ('0', '1GB')
{
	foreach my $workers (1, 3)
	{
		my $what = "wal_skip_threshold $threshold, $workers";
		my $load = replace_sql($new, $workers);

		$minimal->safe_psql('postgres', 'CHECKPOINT');
		$minimal->safe_psql(
			'postgres', qq{
SET wal_skip_threshold = '$threshold';
BEGIN;
SAVEPOINT s;
$load;
UPDATE t SET k = 1 WHERE id > 3000;
ROLLBACK TO s;
$load;
UPDATE t SET k = k + 1 WHERE id % 3 = 0;
DELETE FROM t WHERE id % 7 = 0;
UPDATE t SET v = v || ' x' WHERE id % 400 = 0;
COMMIT});
		my $rows = look($minimal);
		like($rows, qr/ t$/, "$what: rows and indexes");
		crash_server($minimal);
		$minimal->start;
		is(look($minimal), $rows, "$what: the same after a crash");
		check_clean($minimal, $what);
	}
}
$minimal->stop;

done_testing();
