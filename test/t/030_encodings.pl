# In databases of several encodings, with clients and files of others, every
# strategy leaves the rows that COPY leaves, or raises the error that COPY
# raises; also where table, columns and query have names that are not ASCII.
#
# It takes databases of other encodings than that of a regression test, and
# scripts whose bytes are not text in one encoding.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('encodings');

$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;

my @strategies = qw(insert insert_prepared insert_values copy online direct);

foreach my $encoding ('UTF8', 'LATIN1', 'SQL_ASCII', 'EUC_JP')
{
	my $database = lc $encoding;

	$node->safe_psql('postgres',
		"CREATE DATABASE $database ENCODING '$encoding' LOCALE 'C' TEMPLATE template0"
	);
	$node->safe_psql($database, 'CREATE EXTENSION ingest_tools');
}

# A new file with these bytes.
sub file_of
{
	my ($bytes) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/bytes';

	open(my $fh, '>:raw', $file) or die "could not create $file: $!";
	print $fh $bytes;
	close($fh);
	return $file;
}

# Run a script, which may be any bytes; returns bytes of stdout and stderr.
sub run_script
{
	my ($database, $client_encoding, $script) = @_;
	my ($out, $err) = ('', '');

	local $ENV{PGCLIENTENCODING} = $client_encoding;
	IPC::Run::run(
		[
			'psql', '--no-psqlrc', '--quiet', '--tuples-only', '--no-align',
			'--set', 'VERBOSITY=verbose',
			'--dbname', $node->connstr($database),
			'--file', file_of($script)
		],
		'>', \$out, '2>', \$err);
	return ($out, $err);
}

# What an error is: SQLSTATE and line of the input.
sub error_of
{
	my ($err) = @_;
	my ($sqlstate) = $err =~ /ERROR:  (\w{5}):/;
	my ($line) = $err =~ /, line (\d+)/;

	return ($sqlstate // 'no error') . ' at line ' . ($line // 'unknown');
}

# Load bytes by COPY and by every strategy, by one process and by sessions;
# compare what the tables hold, or the errors.  The table is to be called
# $names->[0] and its columns $names->[1] and [2], all in the client's encoding.
sub check
{
	my ($what, $database, $client_encoding, $names, $options, $bytes, $expected)
	  = @_;
	my ($table, $a, $b) = @$names;
	my $file = file_of($bytes);
	my $setup = qq{
SET client_min_messages = error;
DROP TABLE IF EXISTS "$table", copied;
CREATE TABLE "$table" ("$a" int PRIMARY KEY, "$b" text);
CREATE TABLE copied (LIKE "$table");
};
	my $compare = qq{
SELECT count(*), sum(length("$b")), md5(string_agg(md5("$b"), '' ORDER BY "$a"))
FROM };
	my ($copied, $err) = run_script(
		$database, $client_encoding, qq{$setup
COPY copied FROM '$file' WITH ($options);
$compare copied;
});
	my $oracle = $err ? error_of($err) : $copied;

	if ($expected =~ /^\w{5}$/)
	{
		like($oracle, qr/^$expected /, "$what: COPY raises $expected");
	}
	else
	{
		like($oracle, qr/^$expected\|/, "$what: COPY loads $expected rows");
	}

	foreach my $strategy (@strategies)
	{
		foreach my $more ('', ', workers 2')
		{
			(my $out, $err) = run_script(
				$database,
				$client_encoding,
				qq{$setup
SELECT ingest_load('"$table"', '$file', \$\$$options, strategy $strategy$more\$\$) IS NULL;
$compare "$table";
});
			my $got = $err ? error_of($err) : $out =~ s/^f\n//r;
			my $wanted = $oracle;

			# Of two sessions, the second may be the first to find an error.
			s/ at line .*// foreach $more ? ($got, $wanted) : ();
			is($got, $wanted, "$what, $strategy$more: as COPY");
		}
	}
	return;
}

# Bench the table that check() has left; every run must be like COPY.
sub check_bench
{
	my ($what, $database, $client_encoding, $names, $source) = @_;
	my ($table, $a, $b) = @$names;
	my ($out, $err) = run_script(
		$database,
		$client_encoding, qq{
SELECT string_agg(strategy, ' '), bool_and(verified), min(rows_loaded),
	bool_and(target LIKE '%$table%'), count(DISTINCT source)
FROM ingest_bench('"$table"', \$\$$source\$\$, workers => '{1,2}', checkpoint => false);
SELECT count(*) FROM ingest_history
WHERE function = 'ingest_bench' AND source = \$\$$source\$\$ AND target LIKE '%$table%';
});

	is( "$out$err",
		join(' ', map { ($_) x 2 } @strategies) . "|t|2|t|1\n12\n",
		"$what: bench");
	return;
}

# Names in an encoding of one byte, and in UTF-8.
my $plain = [ 'plain', 'a', 'b' ];
my $latin1 = [ "gr\xf6\xdfe", "n\xe9", "tr\xe8s \xe0 \"\"part" ];
my $utf8 = [
	"gr\xc3\xb6\xc3\x9fe", "n\xc3\xa9",
	"\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80"
];

my $latin1_rows = join '', map { sprintf "%d,x%sy\n", $_, chr($_) } 0xa0 .. 0xff;
my $utf8_rows = "1,\xc3\xa9\n2,\"\xc3\x9f\n\"\"\xc3\xbc\"\n3,ascii\n";
my $wide_rows = "1,\xe6\x97\xa5\xe6\x9c\xac\n2,\xf0\x9f\x98\x80\n3,\xe2\x82\xac\n";
my $broken_rows = "1,\xc3\xa9\n2,ab\xe6\x97\n3,c\n";

# One byte that is text in no encoding but SQL_ASCII comes late in a long file.
my $long_rows = join('', map { "$_,\xc3\xa9 row $_\n" } 1 .. 8_000)
  . "8001,\xff\n8002,x\n";

# Second bytes of these are "|" and "\" if taken alone.
my $sjis_rows = "1|\x83\x7c\x83\x7c\n2|\x95\x5c\n3|\"\x95\x5c\"\n";

#
# Server and client alike
#

check('UTF8', 'utf8', 'UTF8', $utf8, 'FORMAT csv', $wide_rows, 3);
check('LATIN1', 'latin1', 'LATIN1', $latin1, 'FORMAT csv', $latin1_rows, 96);
check('SQL_ASCII', 'sql_ascii', 'SQL_ASCII', $latin1, 'FORMAT csv',
	$latin1_rows . "1,\xff\xfe\xc3\n2,\x80\n", 98);
check('SQL_ASCII, as UTF8', 'sql_ascii', 'SQL_ASCII', $utf8, 'FORMAT csv',
	$wide_rows, 3);

check_bench('SQL_ASCII', 'sql_ascii', 'SQL_ASCII', $utf8,
	"SELECT 1, '\xff\xe9' UNION ALL SELECT 2, '\xc3\xa9'");

check('UTF8, broken', 'utf8', 'UTF8', $plain, 'FORMAT csv', $broken_rows, '22021');
check('UTF8, broken late', 'utf8', 'UTF8', $plain, 'FORMAT csv', $long_rows,
	'22021');
check('UTF8, zero byte', 'utf8', 'UTF8', $plain, 'FORMAT csv', "1,a\n2,b\0c\n",
	'22021');
check('LATIN1, zero byte', 'latin1', 'LATIN1', $plain, 'FORMAT csv',
	"1,\xe9\n2,b\0c\n", '22021');
check('SQL_ASCII, zero byte', 'sql_ascii', 'SQL_ASCII', $plain, 'FORMAT csv',
	"1,a\n2,b\0c\n", '22021');

#
# The client's encoding is not the server's
#

check('UTF8 for LATIN1', 'utf8', 'LATIN1', $latin1, 'FORMAT csv',
	$latin1_rows, 96);
check_bench('UTF8 for LATIN1', 'utf8', 'LATIN1', $latin1,
	"SELECT 1, '\xe9' UNION ALL SELECT 2, '\xff'");
check('LATIN1 for UTF8', 'latin1', 'UTF8',
	[ "gr\xc3\xb6\xc3\x9fe", "n\xc3\xa9", "\xc3\xa0" ],
	'FORMAT csv', $utf8_rows, 3);
check_bench('LATIN1 for UTF8', 'latin1', 'UTF8',
	[ "gr\xc3\xb6\xc3\x9fe", "n\xc3\xa9", "\xc3\xa0" ],
	"SELECT 1, '\xc3\xa9' UNION ALL SELECT 2, '\xc3\xbf'");
check('LATIN1 for UTF8, no such character', 'latin1', 'UTF8', $plain,
	'FORMAT csv', $wide_rows, '22P05');
check('LATIN1 for UTF8, broken', 'latin1', 'UTF8', $plain, 'FORMAT csv',
	$broken_rows, '22021');
check('SQL_ASCII for UTF8', 'sql_ascii', 'UTF8', $plain, 'FORMAT csv',
	$wide_rows, 3);
check('SQL_ASCII for UTF8, broken', 'sql_ascii', 'UTF8', $plain, 'FORMAT csv',
	$broken_rows, '22021');

#
# The file's encoding is neither
#

check('UTF8, LATIN1 file', 'utf8', 'UTF8', $plain,
	q{FORMAT csv, ENCODING 'LATIN1'}, $latin1_rows, 96);
check('LATIN1, UTF8 file broken late', 'latin1', 'LATIN1', $plain,
	q{FORMAT csv, ENCODING 'UTF8'}, $long_rows, '22021');
check('SQL_ASCII, UTF8 file broken late', 'sql_ascii', 'SQL_ASCII', $plain,
	q{FORMAT csv, ENCODING 'UTF8'}, $long_rows, '22021');
check('UTF8, SJIS file', 'utf8', 'UTF8', $plain,
	q{FORMAT csv, DELIMITER '|', ENCODING 'SJIS'}, $sjis_rows, 3);
check('EUC_JP, SJIS file', 'euc_jp', 'UTF8', $plain,
	q{FORMAT csv, DELIMITER '|', ESCAPE '\\', ENCODING 'SJIS'}, $sjis_rows, 3);
check('EUC_JP for UTF8', 'euc_jp', 'UTF8', $plain, 'FORMAT csv',
	"1,\xe6\x97\xa5\xe6\x9c\xac\n", 1);
check('EUC_JP for UTF8, no such character', 'euc_jp', 'UTF8', $plain,
	'FORMAT csv', "1,a\n2,\xf0\x9f\x98\x80\n", '22P05');

#
# Errors that carry such text
#

# The sessions' messages come in the client's encoding, as the caller's do.
my ($out, $err) = run_script(
	'utf8', 'LATIN1', qq{
CREATE TABLE "\xe4\xf6" ("\xfc" int CHECK ("\xfc" > 0));
SELECT ingest_load('"\xe4\xf6"', 'SELECT 0', 'workers 2');
SELECT ingest_bench('"\xe4\xf6"', 'SELECT 0');
});
my @messages =
  $err =~ /ERROR:  23514: (new row for relation "\xe4\xf6" violates check .*)/g;
is(scalar(@messages), 2, 'messages of sessions come in the client\'s encoding');

# A character that the client's encoding lacks takes no session down.  Where the
# message shows it, the server tells the client that instead, as it always does.
($out, $err) = run_script(
	'utf8', 'LATIN1', q{
CREATE TABLE euro (a int PRIMARY KEY, t text);
SELECT ingest_load('euro', $$SELECT 1, U&'\20ac' FROM generate_series(1, 2)$$, 'workers 2');
SELECT ingest_bench('euro', $$SELECT g, U&'\20ac' FROM generate_series(-1, 1) g, generate_series(0, abs(g))$$);
SELECT verified FROM ingest_bench('euro', $$SELECT 1, U&'\20ac'$$, strategies => '{online}');
});
is_deeply(
	[ $err =~ /ERROR:  (\w+):/g ],
	[ '23505', '22P05' ],
	'a message that has no such character in the client\'s encoding');
is($out, "t\n", 'and the next bench works');

$node->stop;

done_testing();
