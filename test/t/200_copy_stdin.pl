# COPY FROM STDIN by our strategies, message by message: however a client cuts
# its data, fails, goes away or talks nonsense, what comes back and what is in
# the table is the same as with the server's COPY.
#
# No client library sends single bytes, a CopyFail or a wrong message, so the
# test speaks the protocol itself.

use strict;
use warnings;

use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @strategies = qw(online insert_values direct auto copy);

my $node = PostgreSQL::Test::Cluster->new('copy_stdin');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'ingest_tools'\nautovacuum = off");
$node->start;
$node->safe_psql('postgres',
	q{CREATE TABLE t (id int PRIMARY KEY, name text, CHECK (id <> 13))});

# ------------------------------------------------------------------------
# The protocol
# ------------------------------------------------------------------------

sub message
{
	my ($type, $body) = @_;
	return $type . pack('N', length($body) + 4) . $body;
}

# A connection is a socket and what has been read but not used.
sub connect_server
{
	my $socket = IO::Socket::UNIX->new(
		Peer => $node->host . '/.s.PGSQL.' . $node->port)
	  or die "could not connect: $!";
	my $user = $ENV{PGUSER} // getpwuid($<);
	my $connection = { socket => $socket, buffer => '' };
	my $body =
	  pack('N', 196608) . "user\0$user\0database\0postgres\0client_encoding\0UTF8\0\0";

	put($connection, pack('N', length($body) + 4) . $body);
	receive($connection, 'Z');
	return $connection;
}

sub put
{
	my ($connection, $bytes) = @_;
	my $done = 0;

	local $SIG{PIPE} = 'IGNORE';
	while ($done < length($bytes))
	{
		my $n = syswrite($connection->{socket}, $bytes, length($bytes) - $done,
			$done);
		return 0 unless defined $n;
		$done += $n;
	}
	return 1;
}

# The next message as type and body; type is "gone" at the end.
sub next_message
{
	my ($connection) = @_;

	# a server that waits for us while we wait for it is a failure
	local $SIG{ALRM} = sub { die "no message from the server" };
	alarm($PostgreSQL::Test::Utils::timeout_default);
	for (;;)
	{
		if (length($connection->{buffer}) >= 5)
		{
			my ($type, $length) = unpack('a1 N', $connection->{buffer});
			if (length($connection->{buffer}) > $length)
			{
				my $body = substr($connection->{buffer}, 5, $length - 4);
				substr($connection->{buffer}, 0, $length + 1) = '';
				alarm(0);
				return ($type, $body);
			}
		}
		my $n = sysread($connection->{socket}, $connection->{buffer}, 65536,
			length($connection->{buffer}));
		next if $n;
		alarm(0);
		return ('gone', '');
	}
}

# Read messages until one of a type in $until; returns those that matter, each
# as one line of text.
sub receive
{
	my ($connection, $until) = @_;
	my @seen;

	for (;;)
	{
		my ($type, $body) = next_message($connection);
		if ($type eq 'E' || $type eq 'N')
		{
			my %field = map { substr($_, 0, 1) => substr($_, 1) }
			  grep { length } split(/\0/, $body);
			push @seen, join('|', $type, map { $_ // '' } @field{qw(C M D W)});
		}
		elsif ($type eq 'G' || $type eq 'D')
		{
			push @seen, "$type|" . unpack('H*', $body);
		}
		elsif ($type eq 'C' || $type eq 'Z')
		{
			push @seen, "$type|" . $body =~ s/\0//gr;
		}
		elsif ($type eq 'gone')
		{
			push @seen, 'gone';
		}
		return @seen if $type eq 'gone' || index($until, $type) >= 0;
	}
}

# Run COPY with messages after it, by the simple or the extended protocol;
# returns what the server says as text.
sub copy
{
	my ($connection, $sql, $extended, @messages) = @_;

	if ($extended)
	{
		put($connection,
			message('P', "\0$sql\0" . pack('n', 0))
			  . message('B', "\0\0" . pack('nnn', 0, 0, 0))
			  . message('E', "\0" . pack('N', 0))
			  . message('S', ''));
	}
	else
	{
		put($connection, message('Q', "$sql\0"));
	}
	my @seen = receive($connection, 'GZ');
	if ($seen[-1] =~ /^G/)
	{
		put($connection, join('', @messages));
		# the Sync sent before the data was used up by COPY
		put($connection, message('S', '')) if $extended;
		push @seen, receive($connection, 'Z');
	}
	return join("\n", @seen);
}

sub data { return map { message('d', $_) } @_; }

# ------------------------------------------------------------------------
# The same by COPY and by each strategy
# ------------------------------------------------------------------------

my $connection = connect_server();

sub query
{
	my ($sql) = @_;
	put($connection, message('Q', "$sql\0"));
	return join("\n", receive($connection, 'Z'));
}

# What is in the table now; empties it.
sub table_rows
{
	my $rows = query(q{SELECT id, name FROM t ORDER BY id});
	query('TRUNCATE t');
	return $rows;
}

# What a strategy, or "off", makes of it: messages and rows.
sub outcome
{
	my ($strategy, $options, $extended, @messages) = @_;

	query("SET ingest_tools.strategy = '$strategy'");
	my $said = copy($connection, "COPY t FROM STDIN ($options)", $extended,
		@messages);
	$connection = connect_server() if $said =~ /gone$/;
	return "$said\n" . table_rows();
}

# SQLSTATE, message and detail without the context.
sub without_context
{
	my ($outcome) = @_;

	$outcome =~ s/^(E(?:\|[^|\n]*){3})\|.*?(?=\n[A-Zg][|o])/$1/gms;
	return $outcome;
}

# What is to be equal: a strategy of SQL statements names a range of lines, as
# an error may be any of theirs.
sub compared
{
	my ($strategy, $outcome) = @_;
	return $strategy =~ /^insert/ ? without_context($outcome) : $outcome;
}

# It is our strategies that do it, not COPY in their place.
$node->safe_psql('postgres', 'CREATE EXTENSION ingest_tools');
foreach my $strategy (qw(online insert_values direct))
{
	outcome($strategy, 'FORMAT csv', 0, data("1,a\n"), message('c', ''));
	like(query('SELECT strategy_used FROM ingest_last_report()'),
		qr/^D\|[0-9a-f]{12}@{[unpack('H*', $strategy)]}$/m,
		"$strategy is used");
}

# name, options, data
my @files = (
	[ 'quotes and line ends', 'FORMAT csv',
		"1,\xe2\x82\xac\xc3\xa4\r\n2,\"a\"\"b\r\n,c\"\r\n3,\r\n4,\"\"\r\n" ],
	[ 'header and end mark', 'FORMAT csv, HEADER',
		"id,name\n5,\"\xf0\x9f\x90\x98\"\n6,x\n\\.\n" ],
	[ 'no line end at the end', 'FORMAT csv', "7,a\n8,b" ],
	[ 'a bad value', 'FORMAT csv', "1,a\n2x,b\n3,c\n" ],
	[ 'a bad encoding', 'FORMAT csv', "1,a\n2,\xe2\x28\xa1\n" ],
	[ 'an open quote', 'FORMAT csv', "1,a\n2,\"b\n3,c\n" ],
	[ 'too many fields', 'FORMAT csv', "1,a\n2,b,c\n" ],
	[ 'a failed check', 'FORMAT csv', "1,a\n13,b\n" ],
	[ 'nothing', 'FORMAT csv', '' ],
	[ 'text', 'FORMAT text', "1\ta\\tb\n2\t\\N\n3\t\xc3\xa4\n\\.\n" ]);

foreach my $file (@files)
{
	my ($name, $options, $bytes) = @$file;
	my %expected;

	foreach my $extended (0, 1)
	{
		$expected{$extended} = outcome('off', $options, $extended,
			data($bytes), message('c', ''));
	}
	foreach my $strategy (@strategies)
	{
		my ($simple, $extended) =
		  map { compared($strategy, $expected{$_}) } (0, 1);
		my @wrong;

		foreach my $at (0 .. length($bytes))
		{
			my $got = compared(
				$strategy,
				outcome($strategy, $options, 0,
					data(substr($bytes, 0, $at), substr($bytes, $at)),
					message('c', '')));
			push @wrong, "cut at $at: $got" if $got ne $simple;
		}
		is(join("\n", @wrong), '', "$name by $strategy, cut anywhere");

		is( compared(
				$strategy,
				outcome($strategy, $options, 0, data(split(//, $bytes)),
					message('c', ''))),
			$simple,
			"$name by $strategy, byte by byte");
		is( compared(
				$strategy,
				outcome($strategy, $options, 1, data($bytes),
					message('c', ''))),
			$extended,
			"$name by $strategy, extended protocol");
	}
}

# Messages that end the data otherwise.  Data is received ahead of the line that
# is being read, so the line an error of the connection is said to be in is not
# COPY's.
my @talks = (
	[ 'CopyFail', data("1,a\n"), message('f', "changed my mind\0") ],
	[ 'CopyFail at once', message('f', "never mind\0") ],
	[ 'Flush and Sync in between', data("1,a"), message('H', ''),
		message('S', ''), data("\n2,b\n"), message('c', '') ],
	[ 'empty CopyData', data('', "1,a\n", ''), message('c', '') ],
	[ 'CopyData after an error', data("x,a\n", ("2,b\n") x 1000),
		message('c', '') ],
	[ 'a wrong message', data("1,a\n"), message('Q', "SELECT 1\0") ]);

foreach my $talk (@talks)
{
	my ($name, @messages) = @$talk;
	my $expected = outcome('off', 'FORMAT csv', 0, @messages);

	foreach my $strategy (@strategies)
	{
		is( without_context(outcome($strategy, 'FORMAT csv', 0, @messages)),
			without_context($expected),
			"$name by $strategy");
		is( query('SELECT 1'),
			"D|00010000000131\nC|SELECT 1\nZ|I",
			"after $name by $strategy the connection goes on");
	}
}

# ------------------------------------------------------------------------
# Data that comes while it is loaded.  Processes begin with the first bytes, 16
# chunks of them, and wait for those that follow.
# ------------------------------------------------------------------------

my $stream = join('', map { qq($_,"name ,\n$_"\n) } 1000 .. 100000);
my $half = index($stream, "\n60000,") + 1;

sub pieces { return data(unpack('(a50000)*', $_[0])); }

my @streams = (
	[ 'a stream', pieces($stream), message('c', '') ],
	[ 'a stream with a bad row at its begin',
		pieces("1000,a\n1001x,b\n$stream"), message('c', '') ],
	[ 'a stream with a bad row in it',
		pieces(substr($stream, 0, $half) . "13,b\n" . substr($stream, $half)),
		message('c', '') ],
	[ 'a stream with a bad row at its end', pieces($stream . "x,a\n"),
		message('c', '') ],
	[ 'a stream with an open quote',
		pieces(substr($stream, 0, $half) . '7,"b' . substr($stream, $half)),
		message('c', '') ],
	[ 'a stream with an end mark',
		pieces(substr($stream, 0, $half) . "\\.\n" . substr($stream, $half)),
		message('c', '') ],
	[ 'a stream and CopyFail', pieces($stream), message('f', "no\0") ]);

foreach my $stream (@streams)
{
	my ($name, @messages) = @$stream;
	my %said;

	foreach my $strategy ('off', 'direct', 'staged')
	{
		foreach my $workers ($strategy eq 'off' ? 1 : (1, 2, 4))
		{
			query("SET ingest_tools.workers = $workers");
			query("SET ingest_tools.chunk_size = '8kB'");
			query("SET ingest_tools.strategy = '$strategy'");
			my $said = join("\n",
				copy($connection, 'COPY t FROM STDIN (FORMAT csv)', 0,
					@messages),
				query('SELECT count(*), sum(hashtext(t::text)) FROM t'));
			query('TRUNCATE t');
			$said{$strategy} //= $said;
			next if $strategy eq 'off';

			# the server says so where a worker has met the error
			$said =~ s/^parallel worker\n//m;

			# what the end of the connection is said to be in is not COPY's
			$_ = $name =~ /CopyFail/ ? without_context($_) : $_
			  foreach $said, $said{off};
			is($said, $said{off}, "$name by $strategy with $workers processes");
			next if $said !~ /^C\|COPY/m;
			like(
				query('SELECT strategy_used, workers_used FROM ingest_last_report()'),
				qr/@{[unpack('H*', $strategy)]}0000000[0-9a-f]3$workers$/m,
				"$name is loaded by $strategy in $workers processes");
		}
	}
}
query('RESET ALL');

# The same from programs, which have an exit status.
foreach my $command (
	'seq 1000 100000 | sed s/$/,x/',
	'seq 1000 100000 | sed s/$/,x/; exit 3',
	'seq 1000 100000 | sed s/$/,x/; echo y,x',
	'seq 1000 100000 | sed s/$/,x/; kill -9 $$')
{
	my %said;

	foreach my $strategy ('off', 'direct')
	{
		query("SET ingest_tools.workers = 2");
		query("SET ingest_tools.chunk_size = '8kB'");
		query("SET ingest_tools.strategy = '$strategy'");
		my $said = join("\n",
			query("COPY t FROM PROGRAM \$\$$command\$\$ (FORMAT csv)"),
			query('SELECT count(*), sum(hashtext(t::text)) FROM t'));
		query('TRUNCATE t');
		$said{$strategy} = without_context($said);
	}
	is($said{direct}, $said{off}, "direct from program $command");
}
query('RESET ALL');

# ------------------------------------------------------------------------
# The client goes away
# ------------------------------------------------------------------------

foreach my $strategy (@strategies)
{
	my $gone = connect_server();

	put($gone,
		message('Q', "SET ingest_tools.strategy = '$strategy'; "
			  . "SET application_name = 'gone'\0"));
	receive($gone, 'Z');
	put($gone, message('Q', "COPY t FROM STDIN (FORMAT csv)\0"));
	receive($gone, 'G');
	put($gone, join('', data(map { "$_,x\n" } 100 .. 2000)));
	close($gone->{socket});
	ok( $node->poll_query_until(
			'postgres',
			q{SELECT count(*) = 0 FROM pg_stat_activity
			  WHERE application_name = 'gone'}),
		"the server process ends when the client goes away, by $strategy");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'),
		0, "nothing is loaded when the client goes away, by $strategy");
}

# ------------------------------------------------------------------------
# Others' hooks before and after ours.  The library loaded last is asked first,
# and a COPY that we take does not come to those loaded before us.
# ------------------------------------------------------------------------

my @others = grep {
	my ($status) = $node->psql('postgres', "LOAD '$_'");
	note("$_ is not installed") if $status != 0;
	$status == 0;
} qw(auto_explain pg_stat_statements);

foreach my $libraries (
	join(', ', reverse(@others), 'ingest_tools'),
	join(', ', 'ingest_tools', @others))
{
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = '$libraries'");
	$node->restart;
	$node->safe_psql('postgres', 'TRUNCATE t');
	my $counts = grep { $_ eq 'pg_stat_statements' } @others;
	$node->safe_psql('postgres',
		'CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
	  if $counts;
	$connection = connect_server();
	foreach my $strategy ('off', @strategies)
	{
		query('SELECT pg_stat_statements_reset()') if $counts;
		query("SET ingest_tools.strategy = '$strategy'");
		like(
			copy($connection, 'COPY t FROM STDIN (FORMAT csv)', 0,
				data("1,a\n2,b\n"), message('c', '')),
			qr/^C\|COPY 2$/m,
			"the tag is right by $strategy with $libraries");
		if ($counts
			&& ($libraries =~ /^ingest_tools/ || $strategy =~ /^(off|copy)$/))
		{
			is( $node->safe_psql(
					'postgres', q{SELECT calls, rows FROM pg_stat_statements
					WHERE query = 'COPY t FROM STDIN (FORMAT csv)'}),
				'1|2',
				"pg_stat_statements counts the rows by $strategy with $libraries"
			);
		}
		query('TRUNCATE t');
	}
}

$node->stop;

done_testing();
