# What measuring costs: the instructions that a COPY takes, against those of
# ingest_load() with strategy copy, as valgrind counts them.
#
# A count is the same on a busy machine and on a quiet one, which times are not:
# single loads of a file differ by many times the 2 % that measuring may cost.
# Only instructions of the process are counted, not those of the kernel on its
# behalf: test/bench/overhead.sql compares times.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 50_000;

system('valgrind --version >/dev/null 2>&1') == 0
  or plan skip_all => 'valgrind is not installed';

my $node = PostgreSQL::Test::Cluster->new('overhead');
my $csv = PostgreSQL::Test::Utils::tempdir() . '/overhead.csv';

$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION ingest_tools');
foreach my $table ('by_copy', 'by_load')
{
	$node->safe_psql('postgres',
		"CREATE TABLE $table (id int PRIMARY KEY, k int, v text);"
		  . "CREATE INDEX ON $table (k)");
}
$node->safe_psql('postgres',
	'COPY (SELECT g, g::bigint * 7919 % 1000003, \'row number \' || g'
	  . " FROM generate_series(1, $rows) g) TO '$csv' (FORMAT csv)");
$node->stop;

# Instructions of a server process that starts, executes a statement and ends.
sub instructions
{
	my ($name, $statement) = @_;
	my $out = PostgreSQL::Test::Utils::tempdir() . "/callgrind.$name";
	my ($bindir) = map { chomp; $_ } `pg_config --bindir`;
	my ($stdout, $stderr) = ('', '');

	IPC::Run::run(
		[
			'valgrind', '--tool=callgrind',
			"--callgrind-out-file=$out", "$bindir/postgres",
			'--single', '-j',
			'-D', $node->data_dir,
			'postgres'
		],
		'<', \"LOAD 'ingest_tools';\n\n$statement;\n\n",
		'>', \$stdout,
		'2>', \$stderr)
	  or die "$name failed: $stdout $stderr";
	die "$name failed: $stderr" if $stderr =~ /ERROR|FATAL|PANIC/;
	$stderr =~ /Collected : (\d+)/ or die "no count in: $stderr";
	return $1;
}

my $start = instructions('start', 'SELECT 1');
my $copy =
  instructions('copy', "COPY by_copy FROM '$csv' (FORMAT csv)") - $start;
my $load = instructions('load',
	"SELECT ingest_load('by_load', '$csv', 'format csv, strategy copy')") -
  $start;

$node->start;
is( $node->safe_psql(
		'postgres',
		'SELECT (SELECT count(*) FROM by_copy), (SELECT count(*) FROM by_load)'
	),
	"$rows|$rows",
	'both have the rows');
note(sprintf('COPY takes %.1f M instructions, ingest_load() %+.2f %%',
		$copy / 1e6, 100 * ($load / $copy - 1)));
cmp_ok($load, '>', $copy, 'a load measures, which is not for nothing');
cmp_ok($load, '<', 1.02 * $copy, 'measuring costs under 2 %');
$node->stop;

done_testing();
