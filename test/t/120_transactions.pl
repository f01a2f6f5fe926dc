# Within transactions a load does what COPY does at its place: rollback,
# savepoints, blocks with EXCEPTION, functions and procedures, open cursors,
# tables created or truncated in the same transaction.
#
# Each script runs with COPY and with every way to load, and what it shows has
# to be the same.  TAP, because the ways are a list that the tests of safety
# share.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Safety;
use Test::More;

my $node = safety_node('transactions', "max_prepared_transactions = 5\n");

my $row = sub { my ($i) = @_; return join ',', $i, $i % 97, "row $i" };
my $rows = write_file('rows.csv', 1001, 9000, $row);
my $more = write_file('more.csv', 9001, 12_000, $row);
my $bad = write_file('bad.csv', 1001, 9000,
	sub { $_[0] == 9000 ? '9000,x,y' : $row->($_[0]) });
my $dup = write_file('dup.csv', 1001, 9000,
	sub { $row->($_[0] == 9000 ? 1001 : $_[0]) });

$node->safe_psql(
	'postgres', q{
CREATE TABLE first (id int PRIMARY KEY, k int, v text);
INSERT INTO first SELECT i, i % 97, 'there' FROM generate_series(1, 1000) i});

# "LOAD name" is the load of a file, as a statement or within PL/pgSQL.
my $show = 'SELECT count(*), sum(hashtextextended(t::text, 0)), count(*) FILTER (WHERE v = \'x\') FROM t';
my %scripts = (
	'rollback' => "BEGIN; LOAD rows; $show; ROLLBACK; $show; LOAD rows",
	'rollback to savepoint, and again' =>
	  "BEGIN; SAVEPOINT s; LOAD rows; $show; ROLLBACK TO s; $show; LOAD rows; RELEASE s; COMMIT",
	'savepoints within savepoints' =>
	  "BEGIN; SAVEPOINT a; LOAD rows; SAVEPOINT b; LOAD more; $show; ROLLBACK TO b; LOAD more; RELEASE b; $show; ROLLBACK TO a; LOAD more; COMMIT",
	'an error within a savepoint' =>
	  "BEGIN; LOAD more; SAVEPOINT s; LOAD bad; ROLLBACK TO s; $show; LOAD dup; ROLLBACK TO s; LOAD rows; COMMIT",
	'an error fails the transaction' =>
	  "BEGIN; LOAD more; LOAD bad; $show; COMMIT; $show",
	'changes before and after' =>
	  "BEGIN; UPDATE t SET v = 'x' WHERE id % 2 = 0; LOAD rows; UPDATE t SET v = 'x' WHERE id % 3 = 0; $show; DELETE FROM t WHERE id % 5 = 0; LOAD more; UPDATE t SET v = 'x' WHERE id > 10000; COMMIT",
	'a row deleted before its key comes again' =>
	  "BEGIN; LOAD rows; DELETE FROM t WHERE id > 1000; LOAD rows; DELETE FROM t; LOAD rows; COMMIT",
	'EXCEPTION' => q{
DO $$
BEGIN
	BEGIN
		LOAD rows;
		LOAD dup;
	EXCEPTION WHEN unique_violation THEN
		RAISE NOTICE 'caught %, % rows', SQLSTATE, (SELECT count(*) FROM t);
	END;
	LOAD more;
	BEGIN
		LOAD bad;
	EXCEPTION WHEN OTHERS THEN
		RAISE NOTICE 'caught %, % rows', SQLSTATE, (SELECT count(*) FROM t);
	END;
	LOAD rows;
END $$},
	'EXCEPTION, uncaught' => q{
DO $$
BEGIN
	LOAD more;
	BEGIN
		LOAD bad;
	EXCEPTION WHEN unique_violation THEN
		RAISE NOTICE 'not reached';
	END;
END $$},
	'function' => qq{
CREATE FUNCTION load_it() RETURNS bigint LANGUAGE plpgsql AS \$\$
DECLARE
	n bigint;
BEGIN
	LOAD rows;
	SELECT count(*) FROM t INTO n;
	LOAD more;
	RETURN n;
END \$\$;
SELECT load_it();
$show;
DROP FUNCTION load_it},
	'procedure that commits' => q{
DO $$
BEGIN
	LOAD rows;
	COMMIT;
	LOAD more;
	ROLLBACK;
	DELETE FROM t WHERE id > 5000;
END $$},
	'cursor' =>
	  "BEGIN; DECLARE c CURSOR FOR SELECT count(*) OVER (), id FROM t ORDER BY id; FETCH 2 FROM c; LOAD rows; FETCH 2 FROM c; MOVE ALL FROM c; CLOSE c; $show; COMMIT",
	'cursor not yet read' =>
	  "BEGIN; DECLARE c CURSOR FOR SELECT id FROM t; LOAD rows; MOVE 500 FROM c; LOAD more; MOVE 600 FROM c; FETCH 1 FROM c; COMMIT",
	'held cursor' =>
	  "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT max(id) FROM t; LOAD rows; COMMIT; LOAD more; FETCH 1 FROM c",
	'cursor of a loop' => q{
DO $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT id FROM t WHERE id IN (1, 2) ORDER BY id LOOP
		n := n + 1;
		IF r.id = 1 THEN
			LOAD rows;
		ELSE
			LOAD more;
		END IF;
	END LOOP;
	RAISE NOTICE '% rows in the loop', n;
END $$},
	'created in the same transaction' =>
	  "BEGIN; DROP TABLE t; CREATE TABLE t (LIKE first INCLUDING ALL); LOAD rows; $show; SAVEPOINT s; LOAD more; ROLLBACK TO s; COMMIT",
	'created and rolled back' =>
	  "BEGIN; ALTER TABLE t RENAME TO t_old; CREATE TABLE t (LIKE first INCLUDING ALL); LOAD rows; $show; ROLLBACK; LOAD more",
	'truncated in the same transaction' =>
	  "BEGIN; TRUNCATE t; LOAD rows; $show; TRUNCATE t; LOAD more; COMMIT",
	'truncated in a savepoint' =>
	  "BEGIN; LOAD more; SAVEPOINT s; TRUNCATE t; LOAD rows; $show; ROLLBACK TO s; $show; LOAD rows; COMMIT",
	'column and index in the same transaction' =>
	  "BEGIN; ALTER TABLE t ALTER k TYPE bigint; CREATE INDEX ON t (v); LOAD rows; ALTER TABLE t ADD CHECK (id > 0), ADD UNIQUE (k, id); LOAD more; COMMIT",
	'repeatable read' =>
	  "BEGIN ISOLATION LEVEL REPEATABLE READ; $show; LOAD rows; $show; SAVEPOINT s; LOAD more; ROLLBACK TO s; COMMIT",
	'serializable' =>
	  "BEGIN ISOLATION LEVEL SERIALIZABLE; $show; LOAD rows; $show; COMMIT",
	'read only' => 'BEGIN READ ONLY; LOAD rows; COMMIT',
	'two phases' =>
	  "BEGIN; LOAD rows; PREPARE TRANSACTION 'p'; $show; COMMIT PREPARED 'p'; BEGIN; LOAD more; PREPARE TRANSACTION 'q'; ROLLBACK PREPARED 'q'",
	'temporary table' =>
	  "BEGIN; CREATE TEMP TABLE tt (LIKE first INCLUDING ALL); ALTER TABLE t RENAME TO t_old; CREATE TEMP TABLE t (LIKE first INCLUDING ALL) ON COMMIT DROP; LOAD rows; $show; SAVEPOINT s; LOAD more; ROLLBACK TO s; $show; ROLLBACK",
	'CHECK that runs a query' => q{
CREATE FUNCTION runs_query(id int) RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
	RETURN id > (SELECT min(f.id) - 1 FROM first f);
END $$;
ALTER TABLE t ADD CHECK (runs_query(id));
LOAD rows;
DROP TABLE t;
DROP FUNCTION runs_query;
CREATE TABLE t (LIKE first INCLUDING ALL);
CREATE INDEX ON t (k)},
	'deferred constraint' =>
	  "BEGIN; ALTER TABLE t ADD CONSTRAINT u UNIQUE (v, id) DEFERRABLE INITIALLY DEFERRED; COMMIT; BEGIN; LOAD rows; UPDATE t SET v = 'x' WHERE id < 50; COMMIT");

my %files = (rows => $rows, more => $more, bad => $bad, dup => $dup);

# What a script shows, and the table it leaves.
sub run_script
{
	my ($script, $top, $inner) = @_;

	$node->safe_psql(
		'postgres', q{
DROP TABLE IF EXISTS t;
CREATE TABLE t (LIKE first INCLUDING ALL);
CREATE INDEX ON t (k);
INSERT INTO t TABLE first});
	$script =~ s{^(\t+)LOAD (\w+);}{$1 . $inner->($files{$2}) . ';'}gme;
	$script =~ s{LOAD (\w+)(;|$)}{$top->($files{$1}) . "\n"}ge;

	my ($status, $out, $err) = $node->psql(
		'postgres',
		"\\set VERBOSITY sqlstate\n$script;\n",
		on_error_stop => 0);

	# where a message comes from differs, and so does its line of the script
	$err =~ s/^psql:<stdin>:\d+: //gm;
	return "$out\n$err";
}

foreach my $name (sort keys %scripts)
{
	my $expected = run_script($scripts{$name},
		sub { "COPY t FROM '$_[0]' (FORMAT csv);" },
		sub { "COPY t FROM '$_[0]' (FORMAT csv)" });
	my $rows = $node->safe_psql('postgres', sum_sql('t'));

	foreach my $way (ways())
	{
		my ($way_name, $options) = @$way;
		my $call = sub {
			"FROM ingest_load('t', '$_[0]', 'format csv, $options')"
		};

		is( run_script($scripts{$name},
				sub { 'SELECT ' . $call->(@_) . ' \g /dev/null' },
				sub { 'PERFORM ' . $call->(@_) }),
			$expected,
			"$name, $way_name: what is shown");
		is( $node->safe_psql(
				'postgres', sum_sql('t') . q{;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE k >= 0;
SELECT count(*) FROM t WHERE id >= 0}),
			join("\n", $rows, ($rows =~ /^(\d+)/) x 2),
			"$name, $way_name: what is left, and what indexes lead to");
		check_clean($node, "$name, $way_name");
	}
}

$node->stop;

done_testing();
