# Every way to fill indexes, over what an aborted load has left, while VACUUM
# and updates go on: amcheck finds nothing wrong, the rows are COPY's, and
# after a crash the replay of the WAL finds the pages as they were.  One of two
# serializable transactions that depend on each other fails, whatever the way.
#
# It takes crashes, amcheck and several sessions.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

my $nbase = 3_000;
my $nrows = 5_000;
my @ways = (
	[ 'row', '' ],
	[ 'sorted', '' ],
	[ 'sorted', 'SET ingest_tools.leaf_batches = off' ],
	[ 'rebuild', '' ],
	[ 'auto', '' ]);

# GiST pages cannot be checked on PostgreSQL 15, so there is no GiST index.
my $node = safety_node('index_modes', q{
ingest_tools.chunk_size = '16kB'
wal_consistency_checking = 'heap,heap2,btree,generic,hash,gin,spgist,brin'
});

my $line = sub {
	my ($i) = @_;

	return join ',', $i, $i * 7919 % 100_003, $i % 11, 'v' . $i % 977,
	  '"{' . $i % 13 . '}"';
};
my $base = write_file('base.csv', 1, $nbase, $line);
my $file = write_file('load.csv', $nbase + 1, $nbase + $nrows, $line);
my $bad = write_file('bad.csv', $nbase + 1, $nbase + $nrows + 1,
	sub { $_[0] > $nbase + $nrows ? '1,-1,0,v,{}' : $line->($_[0]) });

$node->safe_psql(
	'postgres', qq{
CREATE TABLE base (id int, k int, few int, v text, w int[]);
COPY base FROM '$base' (FORMAT csv);
CREATE TABLE loaded (LIKE base);
COPY loaded FROM '$base' (FORMAT csv);
COPY loaded FROM '$file' (FORMAT csv);
CREATE TABLE t (id int PRIMARY KEY, k int, few int, v text, w int[], hits int);
CREATE UNIQUE INDEX ON t (k DESC) INCLUDE (v);
CREATE INDEX ON t (few);
CREATE INDEX ON t (lower(v), id) WHERE few < 6;
CREATE INDEX ON t USING hash (v);
CREATE INDEX ON t USING gin (w);
CREATE INDEX ON t USING brin (id)});
my $columns = 'SELECT id, k, few, v, w FROM';
my $all = $node->safe_psql('postgres', sum_sql('loaded'));

foreach my $way (@ways)
{
	my ($mode, $setting) = @$way;
	my $name = $mode . ($setting ? ', leaf batches off' : '');
	my $load =
	  "columns (id, k, few, v, w), strategy direct, workers 2, index_mode $mode";

	$node->safe_psql('postgres',
		"TRUNCATE t; INSERT INTO t (id, k, few, v, w) $columns base");
	$node->safe_psql('postgres', 'CHECKPOINT');
	my ($status, $out, $err) =
	  $node->psql('postgres', "$setting; " . load_sql('t', $bad, $load));
	like($err, qr/duplicate key value violates unique constraint "t_pkey"/,
		"$name: a key that is there");

	# Updates leave dead entries, VACUUM takes them away, the load goes on.
	my @others = map { start_psql($node, "$_;\n" x 8) }
	  ('VACUUM (INDEX_CLEANUP on) t',
		'UPDATE t SET hits = coalesce(hits, 0) + 1 WHERE id % 50 = 7 AND id < 1500');
	$node->safe_psql('postgres', "$setting; " . load_sql('t', $file, $load));
	is((finish_psql($_))[1], '', "$name: others go on") foreach @others;
	is($node->safe_psql('postgres',
			"CREATE TEMP VIEW x AS $columns t; " . sum_sql('x')),
		$all, "$name: the rows");
	check_clean($node, $name);

	crash_server($node);
	$node->start;
	is($node->safe_psql('postgres',
			"CREATE TEMP VIEW x AS $columns t; " . sum_sql('x')),
		$all, "$name: the rows after a crash");
	check_clean($node, "$name, after a crash");

	# Each reads what the other writes.  A rebuild would wait for the reader,
	# which has the index locked.
	next if $mode eq 'rebuild';
	$node->safe_psql('postgres',
		'TRUNCATE t; DROP TABLE IF EXISTS other; CREATE TABLE other (a int)');
	my $reader = $node->background_psql('postgres', on_error_stop => 0);
	$reader->query_safe('BEGIN ISOLATION LEVEL SERIALIZABLE');
	$reader->query_safe('SELECT count(*) FROM t WHERE k = 7');
	($status, $out, $err) = $node->psql(
		'postgres', "$setting; BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other; " . load_sql('t', $file, $load) . '; COMMIT');
	my $error = $err;
	$reader->query('INSERT INTO other VALUES (1)');
	$reader->query('COMMIT');
	$error .= $reader->{stderr};
	$reader->quit;
	like($error, qr/could not serialize access/, "$name: write skew is found");
}

$node->stop;
done_testing();
