# Under wal_level = minimal what goes into a table of the same transaction is
# not logged but synced at commit.  A load into such a table, followed by
# updates and deletes, survives a crash right after the commit.
#
# Rows are counted: where a load writes WAL for a table the server does not log,
# recovery puts old pages over new ones, and no error says so.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

my $nrows = 20_000;

my $node = safety_node(
	'minimal', q{
wal_level = minimal
max_wal_senders = 0
});
my $file = write_file(
	'rows.csv', 1, $nrows,
	sub {
		my ($i) = @_;

		return join ',', $i, $i * 7919 % 1009,
		  $i % 200 == 0 ? "$i wide " x 1000 : "row $i";
	});

my $columns = '(id int PRIMARY KEY, k int, v text)';
my $index = 'CREATE INDEX ON %s (k); ALTER TABLE %s ALTER v SET STORAGE external';

# What the table goes through before its rows come, in the same transaction.
my %begins = (
	'new table' => "CREATE TABLE %s $columns; $index",
	'truncated table' => 'TRUNCATE %s',
	'table with new storage' => 'ALTER TABLE %s ALTER k TYPE bigint',
	'partitioned table' =>
	  "CREATE TABLE %s $columns PARTITION BY RANGE (id);"
	  . "CREATE TABLE %s_1 PARTITION OF %s FOR VALUES FROM (0) TO (9000);"
	  . "CREATE TABLE %s_2 PARTITION OF %s DEFAULT; CREATE INDEX ON %s (k)",
	'savepoint' => "CREATE TABLE %s $columns; $index; SAVEPOINT s; LOAD;"
	  . 'UPDATE %s SET k = 1; ROLLBACK TO s');
my $changes = q{
UPDATE %s SET k = k + 1 WHERE id %% 3 = 0;
DELETE FROM %s WHERE id %% 7 = 0;
UPDATE %s SET v = v || 'x' WHERE id %% 400 = 0};

my %expected;
my $n = 0;

$node->safe_psql('postgres', 'CHECKPOINT');

foreach my $begin (sort keys %begins)
{
	foreach my $way (ways())
	{
		# small relations are logged whole at commit, large ones synced
		foreach my $threshold ('0', '1GB')
		{
			my ($name, $options) = @$way;
			my $table = 'm' . $n++;
			my $load = load_sql($table, $file, $options);
			my $sql = "BEGIN; $begins{$begin}; LOAD; $changes; COMMIT";

			$sql =~ s/%s/$table/g;
			$sql =~ s/%%/%/g;
			$sql =~ s/LOAD/$load/g;
			$node->safe_psql('postgres',
				"CREATE TABLE $table $columns;" . ($index =~ s/%s/$table/gr))
			  if $begins{$begin} !~ /CREATE TABLE/;
			$node->safe_psql('postgres',
				"SET wal_skip_threshold = '$threshold'; $sql");
			$expected{$table} = [
				"$begin, $name, wal_skip_threshold $threshold",
				$node->safe_psql('postgres', sum_sql($table))
			];
		}
	}
}

# No checkpoint has been since, so recovery passes over all of them.
crash_server($node);
$node->start;
foreach my $table (sort keys %expected)
{
	my ($what, $sum) = @{ $expected{$table} };
	my $left = $nrows - int($nrows / 7);

	is($node->safe_psql('postgres', sum_sql($table)), $sum, "$what: rows");
	is( $node->safe_psql(
			'postgres', qq{
SET enable_seqscan = off;
SELECT count(*) FROM $table WHERE id > 0;
SELECT count(*) FROM $table WHERE k >= 0}),
		"$left\n$left",
		"$what: rows that indexes lead to");
}
check_clean($node, 'all tables');

$node->stop;

done_testing();
