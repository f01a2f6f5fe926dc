# What the library costs where it is loaded and ingest_tools.strategy is off: the
# instructions of a plain COPY and of small statements, as valgrind counts them,
# with the library and without.
#
# See 080_overhead.pl for why instructions are counted.  Two runs of the same
# server differ by up to 0.3 %: what a row finds on its page is not the same.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($rows, $statements) = (20_000, 400);

system('valgrind --version >/dev/null 2>&1') == 0
  or plan skip_all => 'valgrind is not installed';

my $node = PostgreSQL::Test::Cluster->new('off');
my $csv = PostgreSQL::Test::Utils::tempdir() . '/off.csv';

$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off");
$node->start;
foreach my $name ('with', 'without')
{
	$node->safe_psql(
		'postgres', qq{
CREATE TABLE copied_$name (id int PRIMARY KEY, k int, v text);
CREATE INDEX ON copied_$name (k);
CREATE TABLE account_$name (id int PRIMARY KEY, balance int);
INSERT INTO account_$name SELECT g, 0 FROM generate_series(1, 10000) g;
VACUUM FREEZE ANALYZE account_$name});
}
$node->safe_psql('postgres',
	'COPY (SELECT g, g::bigint * 7919 % 1000003, \'row number \' || g'
	  . " FROM generate_series(1, $rows) g) TO '$csv' (FORMAT csv)");
$node->stop;

# Instructions of a server process that starts, executes statements and ends.
sub instructions
{
	my ($load, @sql) = @_;
	my $out = PostgreSQL::Test::Utils::tempdir() . '/callgrind.off';
	my ($bindir) = map { chomp; $_ } `pg_config --bindir`;
	my $input = join '', map { "$_;\n\n" } ($load ? "LOAD 'ingest_tools'" : (), @sql);
	my ($stdout, $stderr) = ('', '');

	IPC::Run::run(
		[
			'valgrind', '--tool=callgrind',
			"--callgrind-out-file=$out", "$bindir/postgres",
			'--single', '-j',
			'-D', $node->data_dir,
			'postgres'
		],
		'<', \$input,
		'>', \$stdout,
		'2>', \$stderr)
	  or die "failed: $stdout $stderr";
	die "failed: $stderr" if $stderr =~ /ERROR|FATAL|PANIC/;
	$stderr =~ /Collected : (\d+)/ or die "no count in: $stderr";
	return $1;
}

# The work of a COPY, or of reads and writes of single rows.
sub work
{
	my ($what, $name) = @_;

	return "COPY copied_$name FROM '$csv' (FORMAT csv)" if $what eq 'COPY';
	return map {
		my $id = $_ * 7 % 10000 + 1;

		(   "SELECT balance FROM account_$name WHERE id = $id",
			"UPDATE account_$name SET balance = balance + 1 WHERE id = $id")
	} 1 .. $statements;
}

my %start = map { $_ => instructions($_, 'SELECT 1') } (0, 1);

foreach my $what ('COPY', 'single rows')
{
	my $without = instructions(0, work($what, 'without')) - $start{0};
	my $with = instructions(1, work($what, 'with')) - $start{1};

	note(sprintf('%s: %.1f M instructions, with the library %+.3f %%',
			$what, $without / 1e6, 100 * ($with / $without - 1)));
	cmp_ok($with, '<', 1.01 * $without, "$what: off costs nothing");
}

$node->start;
is( $node->safe_psql(
		'postgres',
		'SELECT (SELECT count(*) FROM copied_with), (SELECT count(*) FROM copied_without),'
		  . ' (SELECT sum(balance) FROM account_with), (SELECT sum(balance) FROM account_without)'
	),
	"$rows|$rows|$statements|$statements",
	'all of it was done');
$node->stop;

done_testing();
