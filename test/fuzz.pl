#!/usr/bin/perl
#
# test/fuzz.pl
#	  The work of test/fuzz: makes cases, runs them, compares.
#
# A case is a table, options of COPY and a file, all made from the numbers of the
# seed and of the case.  The server's own COPY loads the file into the table, and
# then each of the ways in @ways does: strategy, processes, size of chunks,
# and whether the file is read by the server or sent by psql.  Data from the
# client are compared with the server's COPY of data from the client, for psql
# ends them where it sees a "\.".
#
# The rows must be the same (in whatever order), with the partitions they are in;
# or else SQLSTATE, message and line, the table being left as it was.  After a
# load amcheck, where there is one, looks at the B-trees.  Not compared is what
# README.md does not promise:
#
# - which duplicate key is named, and in which line.  An error that COPY would have
#   come to after its duplicate key may be met before.
# - which missing key of which foreign key is named.
# - how many bytes behind one that begins no character are named; nor, of data from
#   the client, the line of those bytes.  COPY tells that of the record it is
#   reading when they arrive, which depends on where the client's messages end.
#
# A server that crashes or a load that takes five minutes is a failure.

use strict;
use warnings;
use Getopt::Long;
use Time::HiRes 'time';

my ($dir, $server_log, $seed, $seconds, $cases, $only) = (undef, undef, 1, 60, undef, undef);
GetOptions(
	'dir=s' => \$dir,
	'log=s' => \$server_log,
	'seed=i' => \$seed,
	'seconds=i' => \$seconds,
	'cases=i' => \$cases,
	'case=i' => \$only) && defined $dir && defined $server_log
  or die "usage: test/fuzz\n";

$ENV{PGDATABASE} //= 'postgres';
my $version = `psql -XAtc 'SHOW server_version_num'`;
my ($passed, $failed) = (0, 0);
my %count;

# ----------
# Chance
# ----------

sub chance { return rand() < $_[0]; }
sub pick { return $_[ rand @_ ]; }
sub number { return $_[0] + int(rand($_[1] - $_[0] + 1)); }

# Some of the arguments, at least one, in a new order.
sub some
{
	my @from = @_;
	my @taken;
	for (1 .. number(1, scalar @from))
	{
		push @taken, splice(@from, rand @from, 1);
	}
	return @taken;
}

# ----------
# Tables
# ----------

# For each type fields that it takes, mostly, and how to make it comparable.
my %types = (
	int => sub { number(-5, pick(9, 300, 2147483647)) },
	bigint => sub { pick(number(0, 9), '9223372036854775807', '-9223372036854775808', ' 12 ') },
	smallint => sub { pick(number(-9, 99), 32767, 32768, '+3') },
	numeric => sub { pick('1.50', '-0.000001', '1e10', 'NaN', '123456789012345678901234567890.5', number(1, 9)) },
	'numeric(6,2)' => sub { pick('1.505', '-12', '9999.99', '9999.996', '.5') },
	text => \&word,
	'varchar(5)' => sub { pick('abc', 'abcde', 'abc    ', 'abcdefg', word()) },
	'char(4)' => sub { pick('ab', 'abcd', 'ab      ', word()) },
	bool => sub { pick('t', 'f', 'true', 'FALSE', 'on', 'of', '1', ' yes ') },
	date => sub { pick('2024-02-29', '2023-02-29', '01/02/2020', 'infinity', '20200101', '2001-1-1 BC', '99999-01-01') },
	timestamp => sub { pick('2024-02-29 12:34:56.789', '2024-02-29T24:00:00', '-infinity', '2020-01-01', 'Jan 5 2020 3 pm') },
	timestamptz => sub { pick('2024-02-29 12:34:56+02', '2024-02-29 12:34:56 Europe/Berlin', '2020-01-01 00:00:00Z') },
	time => sub { pick('12:34', '12:34:56.1234567', '25:00', '24:00:00') },
	interval => sub { pick('1 day', '-3:04', 'P1Y2M', '1 fortnight') },
	float8 => sub { pick('1.5', '-1e-300', '1e400', 'Infinity', 'nan', '0x10', number(1, 99)) },
	real => sub { pick('1.5', '1e39', '-0', ' 7 ') },
	uuid => sub { pick('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{a0eebc999c0b4ef8bb6d6bb9bd380a1' . number(0, 9) . '}', 'a0eebc') },
	bytea => sub { pick('\\x00ff', 'abc\\\\', '\\001', '\\x0') },
	jsonb => sub { pick('{"a": [1, null]}', '1', '"x"', '{"a"') },
	json => sub { pick('{"a": 1}', '[ ]', 'nul') },
	'int[]' => sub { pick('{1,2}', '{}', '{{1},{2}}', '{1,NULL}', '{1') },
	'text[]' => sub { pick('{a,"b,c"}', '{"\\""}', '{x}') },
	oid => sub { pick(number(1, 99), '-1', '4294967296') },
	name => sub { pick('abc', 'x' x 70) },
	'"char"' => sub { pick('a', '', '\\001', 'ab') },
	point => sub { pick('(1,2)', '3,4', '(1') },
	inet => sub { pick('10.0.0.1', '::1/64', '10.0.0.300') },
	int4range => sub { pick('[1,5)', 'empty', '[5,1]') },
	'bit(3)' => sub { pick('101', '1', 'x5') },
	fuzz_positive => sub { number(-1, 40) },
	fuzz_short => sub { pick('ab', 'abcdef', word()) },
	fuzz_enum => sub { pick('red', 'green', 'blue', 'grey') },
	fuzz_pair => sub { pick('(1,a)', '(,)', '(1,"b,c")', '(1') });
my @type_names = sort keys %types;

my %defaults = (int => '40 + 2', bigint => "length('abc')", text => "'d,\"' || current_database()",
	bool => 'true', numeric => '1.50', date => "'2020-01-01'", timestamp => "'2020-01-01'::date + time '3:00'");

my @names = ('a', 'b', 'c', 'd', 'e', 'f', '"G h"', '"select"');

# What cases use besides.
my $setup = <<'END';
CREATE DOMAIN fuzz_positive AS int CHECK (value > 0);
CREATE DOMAIN fuzz_short AS text NOT NULL CHECK (length(value) < 6);
CREATE TYPE fuzz_enum AS ENUM ('red', 'green', 'blue');
CREATE TYPE fuzz_pair AS (n int, t text);
CREATE TABLE fuzz_ref (id int PRIMARY KEY);
INSERT INTO fuzz_ref SELECT generate_series(-5, 30);
CREATE FUNCTION fuzz_trigger() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF hashtext(new::text) % 5 = 0 THEN RETURN NULL; END IF; RETURN new; END $$;
CREATE FUNCTION fuzz_after() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF hashtext(new::text) % 97 = 0 THEN RAISE EXCEPTION 'not this row'; END IF; RETURN NULL; END $$;
END

# Makes a table: a hash with the statements that create it, its columns in the
# order of a file that names none, and the type of each.
sub make_table
{
	my $n = pick(1, 1, 2, 2, 3, 4, 6, 8);
	my (@columns, %type, @defs, @after, @settable);

	for my $name (@names[ 0 .. $n - 1 ])
	{
		my $type = pick('int', 'int', 'text', 'text', 'text', @type_names);
		my $def = "$name $type";
		if ($type eq 'int' && chance(0.05))
		{
			$def .= ' GENERATED BY DEFAULT AS IDENTITY';
		}
		elsif (defined $defaults{$type} && chance(0.3))
		{
			$def .= " DEFAULT $defaults{$type}";
		}
		$def .= ' NOT NULL' if chance(0.12);
		$def .= " CHECK ($name < 100)" if $type eq 'int' && chance(0.1);
		$def .= " CHECK (length($name) < 12)" if $type eq 'text' && chance(0.1);
		$def .= ' COLLATE "C"' if $type eq 'text' && chance(0.1);
		push @columns, $name;
		$type{$name} = $type;
		push @defs, $def;
	}
	my @ints = grep { $type{$_} eq 'int' } @columns;
	my @texts = grep { $type{$_} eq 'text' } @columns;
	push @defs, "gen int GENERATED ALWAYS AS ($ints[0] + 1) STORED" if @ints && chance(0.08);
	splice @defs, rand @defs, 0, 'gone text' if my $gone = chance(0.12);

	my $partitioned = chance(0.3);
	my $kind = chance(0.05) ? 'TEMP ' : !$partitioned && chance(0.06) ? 'UNLOGGED ' : '';
	my $by = '';
	my $key = @ints ? pick(@ints) : pick(@columns);
	if ($partitioned)
	{
		if (@ints && chance(0.7))
		{
			if (chance(0.5))
			{
				$by = " PARTITION BY RANGE ($key)";
				my $sub = @texts && chance(0.3);
				push @after,
				  "CREATE ${kind}TABLE fuzz_1 PARTITION OF fuzz FOR VALUES FROM (MINVALUE) TO (5)",
				  "CREATE ${kind}TABLE fuzz_2 PARTITION OF fuzz FOR VALUES FROM (5) TO (60)"
				  . ($sub ? " PARTITION BY LIST (left($texts[0], 1))" : '');
				push @after, "CREATE ${kind}TABLE fuzz_21 PARTITION OF fuzz_2 FOR VALUES IN ('a', 'b', NULL)",
				  "CREATE ${kind}TABLE fuzz_22 PARTITION OF fuzz_2 DEFAULT"
				  if $sub;
			}
			else
			{
				$by = " PARTITION BY LIST ($key)";
				push @after,
				  "CREATE ${kind}TABLE fuzz_1 PARTITION OF fuzz FOR VALUES IN (" . join(', ', 0 .. 7) . ')';
			}
			push @after, "CREATE ${kind}TABLE fuzz_d PARTITION OF fuzz DEFAULT" if chance(0.7);
		}
		elsif ($type{$key} !~ /^(json|point|fuzz_pair|bit\(3\))$/)
		{
			$by = " PARTITION BY HASH ($key)";
			push @after,
			  map { "CREATE ${kind}TABLE fuzz_$_ PARTITION OF fuzz FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2;
		}
	}
	unshift @after, 'ALTER TABLE fuzz DROP COLUMN gone' if $gone;
	my $plain = join ', ', grep { $type{$_} !~ /^(json|point)$/ } @columns;
	push @after, "CREATE INDEX ON fuzz ($key)" if @ints && chance(0.25);
	push @after, "CREATE INDEX ON fuzz ($plain)" if $plain ne '' && chance(0.1);
	push @after, "CREATE INDEX ON fuzz ((lower($texts[0]))) WHERE $texts[0] > 'b'" if @texts && chance(0.15);
	push @after, 'CREATE UNIQUE INDEX ON fuzz (' . ($by ne '' ? $key : $ints[-1]) . ')'
	  . ($version >= 150000 && chance(0.3) ? ' NULLS NOT DISTINCT' : '')
	  if @ints && $by !~ /HASH/ && chance(0.15);
	push @after, "ALTER TABLE fuzz ADD FOREIGN KEY ($ints[0]) REFERENCES fuzz_ref"
	  . pick('', '', ' DEFERRABLE', ' DEFERRABLE INITIALLY DEFERRED')
	  if @ints && $kind ne 'TEMP ' && chance(0.12);
	push @after, 'CREATE TRIGGER before_row BEFORE INSERT ON fuzz FOR EACH ROW EXECUTE FUNCTION fuzz_trigger()'
	  if chance(0.05);
	push @after, 'CREATE TRIGGER after_row AFTER INSERT ON fuzz FOR EACH ROW EXECUTE FUNCTION fuzz_after()'
	  if chance(0.05);
	if (@ints && chance(0.3))
	{
		push @after, "INSERT INTO fuzz ($ints[0]) SELECT i FROM generate_series(1000, 1200) i";
	}
	return {
		ddl => [ "CREATE ${kind}TABLE fuzz (" . join(', ', @defs) . ")$by", @after ],
		columns => \@columns,
		type => \%type };
}

# ----------
# Options
# ----------

# A literal for COPY and for psql's \copy, which ends with the line.
sub literal
{
	my ($text) = @_;
	my %escape = ("\n" => '\\n', "\r" => '\\r', "\t" => '\\t', '\\' => '\\\\', "'" => "''");
	$text =~ s/([\n\r\t\\'])/$escape{$1}/g;
	return "E'$text'";
}

# Characters of some encodings, in bytes.
my %characters = (
	UTF8 => [ "\xc3\xa9", "\xe6\x97\xa5", "\xe2\x82\xac", "\xf0\x9d\x84\x9e" ],
	LATIN1 => [ "\xe9", "\xfc" ],
	SJIS => [ "\x93\xfa", "\x95\x5c", "\x83\x5c", "\xb1" ],
	SQL_ASCII => ["\xc3\xa9"],
	GB18030 => [ "\xc8\xd5", "\x81\x39\xef\x30" ],
	BIG5 => [ "\xa4\xe9", "\xa5\x5c" ],
	EUC_JP => [ "\xc6\xfc", "\x8e\xb1" ],
	GBK => [ "\xc8\xd5", "\x81\x5c" ],
	WIN1252 => [ "\xe9", "\x80" ]);

# What the file under construction is made of: delimiter and so on.
my %csv;

# Makes the options of COPY; leaves in %csv what the file has to follow.
sub make_options
{
	my ($columns) = @_;
	my @options = ('FORMAT csv');

	%csv = (delimiter => ',', quote => '"', null => '', default => undef, header => 0, encoding => 'UTF8');
	$csv{delimiter} = pick(';', '|', "\t", 'x', ' ', '\\', '.', 'a', '0') if chance(0.3);
	$csv{quote} = pick("'", '\\', 'q', '|', 'x', '.', "\r") if chance(0.25);
	$csv{escape} = pick('\\', '"', "'", 'e', ',', 'x', '.') if chance(0.25);
	$csv{null} = pick('', 'NULL', '\\N', 'x', '7', '\\.', 'a', ' ') if chance(0.35);
	push @options, 'DELIMITER ' . literal($csv{delimiter}) if $csv{delimiter} ne ',' || chance(0.1);
	push @options, 'QUOTE ' . literal($csv{quote}) if $csv{quote} ne '"' || chance(0.1);
	push @options, 'ESCAPE ' . literal($csv{escape}) if defined $csv{escape};
	push @options, 'NULL ' . literal($csv{null}) if $csv{null} ne '' || chance(0.1);
	$csv{escape} //= $csv{quote};
	if (chance(0.3))
	{
		$csv{header} = 1;
		push @options, 'HEADER' . pick('', ' true', ' match', ' match');
	}
	if (chance(0.2))
	{
		$csv{encoding} = pick(sort keys %characters);
		push @options, 'ENCODING ' . literal($csv{encoding});
	}
	my $all = $version >= 170000 && chance(0.05);
	push @options, 'FORCE_NOT_NULL ' . ($all ? '*' : '(' . join(', ', some(@$columns)) . ')') if chance(0.15);
	if (chance(0.2))
	{
		my @forced = $all ? @$columns : some(@$columns);
		$csv{force_null}{$_} = 1 for @forced;
		push @options, 'FORCE_NULL ' . ($all ? '*' : '(' . join(', ', @forced) . ')');
	}
	if ($version >= 160000 && chance(0.2))
	{
		$csv{default} = pick('DEF', 'x', '\\D', '7');
		push @options, 'DEFAULT ' . literal($csv{default});
	}
	push @options, 'FORCE_NULL (nosuch)' if chance(0.01);
	return \@options;
}

# ----------
# Files
# ----------

# A text with a liking for what has a meaning.
sub word
{
	my $text = '';
	for (1 .. number(0, pick(2, 4, 8, 40)))
	{
		my $r = rand();
		$text .=
			$r < 0.6 ? pick(qw(a b c x y z 0 1 7 9), ' ')
		  : $r < 0.7 ? pick(@{ $characters{ $csv{encoding} } })
		  : $r < 0.9 ? pick($csv{delimiter}, $csv{quote}, $csv{escape}, "\n", "\r", '\\', '"')
		  : $r < 0.93 ? pick('\\.', "\n\\.\n", "\r\n")
		  :            pick(' ', '');
	}
	$text .= pick('z', '"', ' ', ',') x number(100, 70000) if chance(0.003);
	return $text;
}

sub quoted
{
	my ($text) = @_;
	$text =~ s/([\Q$csv{quote}$csv{escape}\E])/$csv{escape}$1/g;
	return $csv{quote} . $text . $csv{quote};
}

sub field
{
	my ($type, $style) = @_;
	return $csv{null} if chance(0.07);
	return $csv{default} if defined $csv{default} && chance(0.1);
	my $text = chance(0.01) ? word() : $types{$type}->();
	return $text if $style == 0 && chance(0.5);
	return quoted($text)
	  if $style == 2 || $text =~ /[\Q$csv{quote}$csv{delimiter}$csv{escape}\E\r\n]/;
	return $text;
}

# Most rows repeat a few good ones, so that loads also come to their end.
sub make_file
{
	my ($columns, $type) = @_;
	my $end = pick("\n", "\n", "\n", "\r\n", "\r\n", "\r");
	my $rows = pick(0, 1, 2, 5, 12, 30, 100, 400);
	my $style = pick(0, 1, 1, 1, 2);
	my $file = '';

	if ($csv{header} && chance(0.9))
	{
		my @header = map { s/"//gr } @$columns;
		pop @header if chance(0.05);
		push @header, 'zz' if chance(0.05);
		$file .= join($csv{delimiter}, map { $style == 2 ? quoted($_) : $_ } @header) . $end;
	}
	my @good = map { good_row($columns, $type, $style) } 1 .. number(1, 20);
	my $bad = chance(0.6) ? 0 : 0.01;
	for my $row (1 .. $rows)
	{
		my $r = rand();
		$file .= '\\.' . pick('', ' ', "\r") . $end if $r < $bad / 5;
		if ($r < 1 - $bad)
		{
			my $fields = pick(@good)->();
			$file .= join $csv{delimiter}, @$fields;
		}
		elsif ($r < 1 - $bad / 2)
		{
			$file .= join $csv{delimiter}, map { field($type->{$_}, $style) } @$columns;
		}
		elsif ($r < 1 - $bad / 5)
		{
			$file .= join $csv{delimiter}, map { word() } 1 .. number(0, @$columns + 2);
		}
		$file .= !chance($bad / 5) ? $end : pick("\n", "\r", "\r\n") if $row < $rows || chance(0.8);
	}
	return mutated($file);
}

# A function that returns the fields of a row which is good, as far as fields of
# their types alone decide; integers differ from row to row.
sub good_row
{
	my ($columns, $type, $style) = @_;
	my @fields = map { good_field($_, $type->{$_}, $style) } @$columns;
	return sub {
		return [ map { ref $_ ? $_->() : $_ } @fields ];
	};
}

my %good = (
	bigint => sub { number(0, 9) }, smallint => sub { number(-9, 99) }, 'numeric(6,2)' => sub { '1.505' },
	'varchar(5)' => sub { pick('abc', 'abc     ') }, 'char(4)' => sub { pick('ab', 'abcd   ') },
	bool => sub { pick('t', 'FALSE', ' yes ') }, date => sub { pick('2024-02-29', '01/02/2020', 'infinity') },
	time => sub { '12:34:56.1234567' }, interval => sub { '1 day' }, float8 => sub { pick('1.5', 'nan') },
	real => sub { ' 7 ' }, uuid => sub { 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1' . number(0, 9) },
	bytea => sub { '\\x00ff' }, jsonb => sub { '{"a": [1, null]}' }, json => sub { '{"a": 1}' },
	'int[]' => sub { '{1,2}' }, oid => sub { number(1, 99) }, name => sub { 'abc' }, '"char"' => sub { 'a' },
	point => sub { '(1,2)' }, inet => sub { '10.0.0.1' }, int4range => sub { '[1,5)' }, 'bit(3)' => sub { '101' },
	fuzz_positive => sub { number(1, 40) }, fuzz_short => sub { 'ab' }, fuzz_enum => sub { pick('red', 'blue') },
	fuzz_pair => sub { '(1,"b,c")' });

sub good_field
{
	my ($name, $type, $style) = @_;
	return $csv{null} if chance(0.05);
	return quoted($csv{null}) if $csv{force_null}{$name} && chance(0.3);
	return $csv{default} if defined $csv{default} && chance(0.1);
	if ($type eq 'int')
	{
		my $max = pick(9, 99, 1000000);
		return sub {
			my $n = number(0, $max);
			return $style == 2 || $n =~ /[\Q$csv{quote}$csv{delimiter}$csv{escape}\E]/ ? quoted($n) : $n;
		};
	}
	my $text = ($good{$type} || $types{$type})->();
	return quoted($text)
	  if $style == 2 || $text eq $csv{null} || $text =~ /[\Q$csv{quote}$csv{delimiter}$csv{escape}\E\r\n]/;
	return $text;
}

# Some files get some damage.
sub mutated
{
	my ($file) = @_;

	for (1 .. (chance(0.65) ? 0 : number(1, 3)))
	{
		my $at = int rand(length($file) + 1);
		my $r = rand();
		if ($r < 0.2)
		{
			substr($file, $at, number(1, 3), '');
		}
		elsif ($r < 0.75)
		{
			substr($file, $at, number(0, 1),
				pick($csv{delimiter}, $csv{quote}, $csv{escape}, "\n", "\r", "\r\n", '\\', '\\.',
					"\\.\n", '"', ' ', 'a', "\n\\.\n", "\n\n"));
		}
		elsif ($r < 0.87)
		{
			substr($file, $at, 0, pick("\xff", "\xc3", "\xe3\x81", "\x80", "\0", "\xf0\x9f"));
		}
		else
		{
			substr($file, $at, 0, substr($file, $at, number(1, 60)));
		}
	}
	$file = "\xef\xbb\xbf$file" if chance(0.02);
	return $file;
}

# ----------
# Running
# ----------

# The ways to load, each compared with the COPY that gets its data from where this
# one does.
my @ways = (
	{ name => 'direct, 1 process', strategy => 'direct', workers => 1 },
	{ name => 'direct, 2 processes', strategy => 'direct', workers => 2 },
	{ name => 'direct, 4 processes', strategy => 'direct', workers => 4 },
	{ name => 'staged, 2 processes', strategy => 'staged', workers => 2 },
	{ name => 'online', strategy => 'online', workers => 1 },
	{ name => 'direct, 1 process, client', strategy => 'direct', workers => 1, client => 1 },
	{ name => 'direct, 2 processes, client', strategy => 'direct', workers => 2, client => 1 },
	{ name => 'online, client', strategy => 'online', workers => 1, client => 1 });

# What to say before a load in this way, the load, and what to say afterwards.
# How the strategy is given (in the command, by settings, by the function) is left
# to chance, so is a transaction that empties the table before it loads.
sub command
{
	my ($case, $way) = @_;
	my $from = ($way->{client} ? '\\copy' : 'COPY') . " fuzz$case->{list} FROM '$case->{file}'";
	my @options = @{ $case->{options} };
	my @before = "SET ingest_tools.chunk_size = " . pick(1, 2, 3, 7, 20, 100, 1000, 65536);

	if (!$way->{strategy})
	{
		return ([], "$from WITH (" . join(', ', @options) . ')');
	}
	push @before, 'SET ingest_tools.leaf_batches = ' . pick('on', 'on', 'off');
	if (!$way->{client} && chance(0.4))
	{
		my $columns = $case->{list} eq '' ? '' : ", columns $case->{list}";
		my $text = join(', ', map { lc((split ' ')[0]) eq 'header' ? lc : $_ } @options)
		  . ", strategy $way->{strategy}, workers $way->{workers}$columns";
		$text .= ', index_mode ' . pick('row', 'sorted', 'rebuild') if $way->{strategy} eq 'direct' && chance(0.5);
		return (\@before, "SELECT rows_loaded FROM ingest_load('fuzz', '$case->{file}', \$f\$$text\$f\$)");
	}
	if (chance(0.3))
	{
		push @before, "SET ingest_tools.strategy = $way->{strategy}", "SET ingest_tools.workers = $way->{workers}";
	}
	else
	{
		push @options, "STRATEGY $way->{strategy}", "WORKERS $way->{workers}";
	}
	push @options, 'INDEX_MODE ' . pick('row', 'sorted', 'rebuild') if $way->{strategy} eq 'direct' && chance(0.4);
	return (\@before, "$from WITH (" . join(', ', @options) . ')');
}

# Everything that psql is told for a case, and the part for each load.
sub script
{
	my ($case, @loads) = @_;
	my $text = "\\set VERBOSITY verbose\nSET client_min_messages = error;\nSET statement_timeout = '300s';\n"
	  . "SET ingest_tools.fallback = silent;\nSET timezone = 'UTC';\n";

	for my $n (0 .. $#loads)
	{
		my ($before, $load) = @{ $loads[$n] }{qw(before load)};
		# a table anew for each, so that sequences start where they started
		my $part = join '', map { "$_;\n" } 'DROP TABLE IF EXISTS fuzz', @{ $case->{table}{ddl} };
		$part .= join '', map { "$_;\n" } 'RESET ALL', "SET client_min_messages = error",
		  "SET statement_timeout = '300s'", "SET timezone = 'UTC'", 'SET ingest_tools.fallback = silent', @$before;
		$part .= "BEGIN;\nTRUNCATE fuzz RESTART IDENTITY;\n" if $case->{truncate};
		$loads[$n]{text} = "$part$load;\n" . ($case->{truncate} ? "COMMIT;\n" : '');
		$loads[$n]{text} =~ s/^(\\copy.*);$/$1/m;
		$text .= "\\echo \@\@begin $n\n$loads[$n]{text}\\echo \@\@end\n"
		  . "SELECT 'rows', count(*), sum(hashtextextended(tableoid::regclass::text || ' ' || fuzz::text, 0)::numeric) FROM fuzz;\n";
		$text .= "SELECT 'used', strategy_used FROM ingest_last_report();\n" if $loads[$n]{way}{strategy};
		$text .= "SELECT bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class ON oid = indexrelid "
		  . "WHERE relkind = 'i' AND relam = 403 AND indrelid IN (SELECT relid FROM pg_partition_tree('fuzz'));\n"
		  if $case->{amcheck} && $loads[$n]{way}{strategy};
		$text .= "\\echo \@\@checked\n";
	}
	return $text;
}

sub write_file
{
	my ($name, $content) = @_;
	open(my $file, '>:raw', $name) or die "$name: $!";
	print $file $content;
	close $file or die "$name: $!";
	chmod 0644, $name;
}

sub lines
{
	my ($name) = @_;
	open(my $file, '<', $name) or die "$name: $!";
	return <$file>;
}

# What came of a load: a hash with state, message, line, and rows.
sub result
{
	my ($output, $n) = @_;
	my ($load, $after) = $output =~ /^\@\@begin $n\n(.*?)^\@\@end\n(.*?)^\@\@checked\n/ms
	  or return { state => 'no result', message => '', line => '', rows => '', used => '', index => '' };
	my %result = (state => '00000', message => '', line => '', used => '', index => '');

	if ($load =~ /(?:ERROR|FATAL|PANIC):  (\w{5}): (.*?)\n(?=\w+:  |psql:|\z)/s)
	{
		@result{qw(state message)} = ($1, $2);
		$result{message} =~ s{(for encoding ".*?"): .*}{$1}s if $result{state} eq '22021';
		$result{message} =~ s{\nLINE \d+: .*}{}s;
		$result{line} = $1 if $load =~ /^(?:CONTEXT:  |)COPY \w+, line (\d+)/m;
	}
	elsif ($load =~ /ERROR/)
	{
		$result{state} = $load;
	}
	$result{rows} = $after =~ /^rows\|(.*)$/m ? $1 : "none: $after";
	$result{used} = $1 if $after =~ /^used\|(.*)$/m;
	$result{index} = $1 if $after =~ /ERROR:  (.*)/ && $after =~ /^rows/m;
	$result{output} = $load . $after;
	return \%result;
}

# What is different, or nothing.
sub difference
{
	my ($own, $ours, $client) = @_;

	return "no table, $own->{rows}" if $own->{rows} =~ /^none/;
	return "index: $ours->{index}" if $ours->{index} ne '';
	return "rows $own->{rows} and $ours->{rows}" if $own->{state} eq $ours->{state} && $own->{rows} ne $ours->{rows};
	if ($own->{state} eq '23505')
	{
		return '' if $ours->{state} eq '23505';
		return '' if $ours->{line} ne '' && $own->{line} ne '' && $ours->{line} > $own->{line};
	}
	return "SQLSTATE $own->{state} and $ours->{state}" if $own->{state} ne $ours->{state};
	return '' if $own->{state} eq '23503';
	return "line $own->{line} and $ours->{line}"
	  if $own->{line} ne $ours->{line} && !($client && $own->{state} eq '22021');
	return "messages \"$own->{message}\" and \"$ours->{message}\"" if $own->{message} ne $ours->{message};
	return '';
}

# A file's bytes, so that a terminal and printf(1) take them.
sub printable
{
	my ($bytes) = @_;
	$bytes =~ s/\\/\\\\/g;
	$bytes =~ s/([^ -~])/$1 eq "\n" ? '\\n' : $1 eq "\r" ? '\\r' : sprintf('\\%03o', ord $1)/ge;
	$bytes =~ s/'/\\047/g;
	$bytes =~ s/%/%%/g;
	return $bytes;
}

# Runs one case, and says what is different.
sub run_case
{
	my ($number) = @_;
	my %case = (file => "$dir/data", list => '', amcheck => $count{amcheck});

	srand($seed * 1000003 + $number);
	%csv = (delimiter => ',', quote => '"', escape => '"', null => '', encoding => 'UTF8');
	$case{table} = make_table();
	my @columns = @{ $case{table}{columns} };
	if (chance(0.3))
	{
		@columns = some(@columns);
		$case{list} = ' (' . join(', ', @columns) . ')';
	}
	$case{options} = make_options(\@columns);
	my $data = make_file(\@columns, $case{table}{type});
	$case{truncate} = chance(0.25);
	write_file($case{file}, $data);

	my @loads;
	for my $way ({ name => 'COPY' }, { name => 'COPY, client', client => 1 }, @ways)
	{
		my ($before, $load) = command(\%case, $way);
		push @loads, { way => $way, before => $before, load => $load };
	}
	write_file("$dir/script", script(\%case, @loads));
	my $output = `psql -XAtqf $dir/script 2>&1`;
	my @results = map { result($output, $_) } 0 .. $#loads;
	my @differences;
	for my $n (2 .. $#loads)
	{
		my $client = $loads[$n]{way}{client};
		my $own = $results[ $client ? 1 : 0 ];
		my $different = difference($own, $results[$n], $client);
		$count{loads}++;
		$count{used}{ $results[$n]{used} }++ if $results[$n]{state} eq '00000';
		push @differences, [ $n, $different, $own ] if $different ne '';
	}
	$count{errors}{ $results[0]{state} }++;

	print "$output\n" if defined $only;
	if (!@differences)
	{
		$passed++;
		return;
	}
	$failed++;
	print "\n== seed $seed, case $number: differs in ", scalar @differences, " of ", scalar @ways, " ways\n";
	print "printf '", printable($data), "' >$case{file}\n" if length $data < 5000;
	my ($n, $different, $own) = @{ $differences[0] };
	print "$loads[$n]{text}";
	print "   $loads[$_->[0]]{way}{name}: $_->[1]\n" for @differences;
	print "   COPY: ", substr($own->{output} // '', 0, 800), "\n";
	print "   ours: ", substr($results[$n]{output} // '', 0, 800), "\n";
	if ($results[-1]{state} eq 'no result')
	{
		print "   psql ended with: ", substr($output, -500), "\n";
		for (1 .. 100)
		{
			last if system("psql -XAtqc 'SELECT' >/dev/null 2>&1") == 0;
			sleep 1;
		}
	}
}

$| = 1;
write_file("$dir/setup", $setup);
system("psql -Xqf $dir/setup -v ON_ERROR_STOP=1") == 0 or die "the setup failed";
system("psql -Xqc 'CREATE EXTENSION ingest_tools'") == 0 or die "no extension";
$count{amcheck} = system("psql -Xqc 'CREATE EXTENSION amcheck' >/dev/null 2>&1") == 0;
print "== no amcheck, indexes are not looked at\n" unless $count{amcheck};

my $until = time() + $seconds;
if (defined $only)
{
	run_case($only);
}
else
{
	# so many at least that each strategy has its turn, on however slow a machine
	for (my $number = 1; $cases ? $number <= $cases : $number <= 20 || time() < $until; $number++)
	{
		run_case($number);
	}
}
if (my @crashes = grep { /TRAP: |terminated by signal (4|6|7|8|11):|PANIC: / } lines($server_log))
{
	print "== in the server log: $_" for @crashes;
	$failed++;
}
my $direct = $count{used}{direct} || 0;
print "== seed $seed: ", $passed + $failed, " cases, $count{loads} loads; COPY ended with ",
  join(', ', map { "$_ $count{errors}{$_} times" } sort keys %{ $count{errors} }), "\n";
print "== loads that succeeded, by strategy used: ",
  join(', ', map { ($_ || '?') . " $count{used}{$_}" } sort keys %{ $count{used} }), "\n";
if (!defined $only && (!$direct || !$count{used}{online}))
{
	print "== a strategy was never used\n";
	$failed++;
}
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
