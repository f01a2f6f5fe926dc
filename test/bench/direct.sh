#!/bin/bash
#
# test/bench/direct.sh
#	  Strategy direct against the server's COPY, on the table of workload W1.
#
#	test/bench/direct.sh DIR ROWS REPEAT [CASE ...]
#
# test/bench/run calls this as the server's owner; DIR is for files, and PGHOST and
# PGPORT name a server that has the library preloaded.  ROWS is the number of rows
# to add, four times as many are there before; all other sizes follow from it.
#
# Prints a row for each figure as soon as there is one: medians of REPEAT, ours
# against COPY's of the same run, and what is required of their ratio at 2,000,000
# rows.  A load that another strategy did in place of direct is shown as that,
# without a ratio.  The exit status is not 0 if a load failed or left other rows
# than the others did.
#
# How a load is measured.  Each begins with a fresh file copy of a template
# database, its indexes read into shared buffers, and a checkpoint, so that none
# finds what another left.  The clock runs in one session from before BEGIN to after
# COMMIT.  Ours and COPY take turns, and the order changes from one repetition to
# the next.  After each load the rows are counted and the new ones hashed.

set -u -o pipefail

DIR=$1 ROWS=$2 REPEAT=$3
shift 3
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

ALL_CASES="empty append1 append2 append3 shuffled indexed toast text two numeric
	expression partial null distinct scale partitions beside"

WIDTH=$((ROWS / 2))			# keys of one of the ten partitions
KEY_ROWS=$((ROWS * 3 / 16))	# rows to add in the cases of key types
LONG_ROWS=$((ROWS / 40))	# rows of 4 kB
NEW_ROWS="(k - 1) % $WIDTH >= $WIDTH / 10 * 8"
RUNS=$DIR/runs				# a line for each load, see record
MEMORY=256MB				# maintenance_work_mem of our loads
COPIED=						# the template that database "bench" is a copy of
SAMPLE=						# a postmaster's pid: watch its processes' memory
BAD=0

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# What is going on, beside the table.
note()
{
	printf '  .. %s\n' "$*" >&2
}

# psql on a database; values come out bare.
sql()
{
	PGOPTIONS='-c client_min_messages=warning' psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$@"
}


# ----------
# Data
# ----------

# Makes a database from another one and runs a command in it; without a command
# just the copy.  "CREATE DATABASE" syncs what it copies.
database()
{
	local name=$1 template=$2 command=${3:-}

	sql postgres -c "DROP DATABASE IF EXISTS $name" \
		-c "CREATE DATABASE $name TEMPLATE $template STRATEGY file_copy" || die "no database $name"
	[ -z "$command" ] || sql "$name" -c "$command" || die "could not fill database $name"
}

# The database that has the functions, and the empty tables.
make_base()
{
	note "making the functions and empty tables"
	sql postgres -c "CREATE DATABASE base" || die "no database"
	sql base -v seed=1 -f "$HERE/direct.sql" || die "direct.sql failed"
	database t_empty base "
		CREATE TABLE w1_flat3 (LIKE w1_flat);
		CALL w1_index('w1_flat3', 1); CALL w1_index('w1_flat3', 2); CALL w1_index('w1_flat3', 3)"
}

exists()
{
	[ "$(sql postgres -c "SELECT count(*) FROM pg_database WHERE datname = '$1'")" = 1 ]
}

# Makes the template database of a case unless it is there.
need()
{
	local n=${1#t_w1_}

	exists "$1" && return
	case $1 in
		t_w1_0)
			note "making $((4 * ROWS)) rows"
			database t_w1_0 base "CALL w1_table('w1', 10, $WIDTH); INSERT INTO w1 SELECT * FROM w1_part(0, $WIDTH)" ;;
		t_w1_*)
			need "t_w1_$((n - 1))"
			note "making index $n"
			database "$1" "t_w1_$((n - 1))" "CALL w1_index('w1', $n)" ;;
		t_keys)
			note "making $((3 * KEY_ROWS)) rows of other types"
			database t_keys base "INSERT INTO keys SELECT * FROM key_rows(1, 3 * $KEY_ROWS)" ;;
		*) die "no template $1" ;;
	esac
}

# Makes a CSV file unless it is there.  A large one is made by two processes.
need_file()
{
	local file=$DIR/$1.csv n=$((10 * ROWS)) half=$((5 * ROWS)) pid

	[ -e "$file" ] && return
	note "making $1.csv"
	case $1 in
		add) query base "SELECT * FROM w1_part(1, $WIDTH)" >"$file" ;;
		shuffled) query base "SELECT * FROM w1_part(1, $WIDTH) ORDER BY bits(k, 99)" >"$file" ;;
		spread) query base "SELECT * FROM w1_rows(1, $ROWS)" >"$file" ;;
		spread_shuffled) query base "SELECT * FROM w1_rows(1, $ROWS) ORDER BY bits(k, 99)" >"$file" ;;
		keys) query base "SELECT * FROM key_rows(3 * $KEY_ROWS + 1, 4 * $KEY_ROWS)" >"$file" ;;
		long) query base "SELECT * FROM long_rows(1, $LONG_ROWS)" >"$file" ;;
		scale_large)
			query base "SELECT * FROM w1_rows($half + 1, $n)" >"$file.2" &
			pid=$!
			query base "SELECT * FROM w1_rows(1, $half)" >"$file.1" && wait $pid &&
				cat "$file.2" >>"$file.1" && mv "$file.1" "$file" && rm "$file.2" ;;
		scale_middle) head -n $((5 * ROWS / 2)) "$DIR/scale_large.csv" >"$file" ;;
		scale_small) head -n $((ROWS / 2)) "$DIR/scale_large.csv" >"$file" ;;
	esac || die "could not make $file"
}

query()
{
	sql "$1" -c "COPY ($2) TO STDOUT (FORMAT csv)"
}


# ----------
# One load
# ----------

# A fresh copy of a template in database "bench", its indexes in shared buffers.
# Where the table is empty in the template, emptying it is as good.
fresh()
{
	local template=$1 table=$2

	if [ "$template" = "$COPIED" ] && [[ $template = t_@(empty|parts|scale_*) ]]; then
		sql bench -c "TRUNCATE $table"
	else
		database bench "$template" "SELECT sum(pg_prewarm(oid::regclass)) FROM pg_class
			WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace" >/dev/null
		COPIED=$template
	fi
	sql postgres -c "CHECKPOINT"
}

# The command of a way: "copy", or "direct:PROCESSES:INDEX_MODE", which both leave
# the psql variables used, workers and reason.
load_command()
{
	local table=$1 file=$2 way=$3 workers mode

	case $way in
		copy)
			echo "SELECT 'copy' AS used, 1 AS workers, '' AS reason \\gset"
			echo "COPY $table FROM '$file' (FORMAT csv);" ;;
		direct:*)
			IFS=: read -r _ workers mode <<<"$way"
			echo "SELECT strategy_used AS used, workers_used AS workers, coalesce(reason, '') AS reason"
			echo "FROM ingest_load('$table', '$file', 'format csv, strategy direct, workers $workers, index_mode $mode') \\gset" ;;
	esac
}

# Loads and prints seconds|WAL bytes|strategy|processes|reason|begun|ended.
timed_load()
{
	sql bench -f - 2>"$DIR/error" <<-END
		SET maintenance_work_mem = '$MEMORY';
		SELECT pg_current_wal_insert_lsn() AS lsn, extract(epoch FROM clock_timestamp()) AS begun
		\\gset
		BEGIN;
		$(load_command "$@")
		COMMIT;
		SELECT extract(epoch FROM clock_timestamp()) AS ended
		\\gset
		SELECT :ended - :begun, pg_current_wal_insert_lsn() - :'lsn', :'used', :workers, :'reason', :begun, :ended;
	END
}

# The same, and leaves the peak of memory in DIR/memory if that is asked for.
watched_load()
{
	local pid status

	if [ -z "$SAMPLE" ]; then
		timed_load "$@"
		return
	fi
	"$HERE/memory" "$SAMPLE" >"$DIR/memory" &
	pid=$!
	sleep 1
	timed_load "$@"
	status=$?
	kill $pid
	wait $pid
	return $status
}

# How many rows there are, the hash of the new ones, and the size of the indexes.
table_state()
{
	sql bench -c "SELECT count(*) || ':' || coalesce(sum(hashtext(t::text)) FILTER (WHERE $2), 0) FROM $1 t" \
		-c "SELECT coalesce(sum(pg_relation_size(oid)), 0) FROM pg_class
			WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace AND relname !~ '^ingest_'" | paste -s -d '|'
}

# Does and records a load: case|way|rows|index bytes|what timed_load prints.
record()
{
	local name=$1 table=$2 file=$3 new=$4 way=$5 result

	if result=$(watched_load "$table" "$DIR/$file.csv" "$way"); then
		echo "$name|$way|$(table_state "$table" "$new")|$result" >>"$RUNS"
	else
		note "$name, $way: $(head -n 1 "$DIR/error")"
		echo "$name|$way|failed" >>"$RUNS"
		BAD=1
	fi
}

# Says what the loads of some cases must leave; the last argument is that.
expect()
{
	while [ $# -gt 1 ]; do
		echo "$1|expected|${*: -1}" >>"$RUNS"
		shift
	done
}

# Loads by several ways in turn, REPEAT times, each into a fresh copy.
compare()
{
	local name=$1 template=$2 table=$3 file=$4 new=$5 i way ways order
	shift 5

	need "$template"
	need_file "$file"
	ways=("$@")
	for ((i = 0; i < REPEAT; i++)); do
		order=("${ways[@]}")
		[ $((i % 2)) -eq 0 ] || mapfile -t order < <(printf '%s\n' "${ways[@]}" | tac)
		for way in "${order[@]}"; do
			fresh "$template" "$table"
			record "$name" "$table" "$file" "$new" "$way"
		done
	done
	[ "$(grep "^$name|" "$RUNS" | grep -v '|failed$' | cut -d '|' -f 3 | sort -u | wc -l)" -le 1 ] || {
		note "$name: the loads left different rows"
		BAD=1
	}
}


# ----------
# The table
# ----------

# Median of a field of the runs of a case and way.
median()
{
	awk -F'|' -v name="$1" -v way="$2" '$1 == name && $2 == way && NF > 3 { print $'"$3"' }' "$RUNS" |
		sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.6f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

SECONDS_FIELD=5 WAL_FIELD=6 INDEX_FIELD=4

line()
{
	printf '| %-43s | %4s | %9s | %9s | %5s | %8s | %-4s |\n' "$@"
}

header()
{
	line "" "proc" COPY ours ratio required ""
	echo "|$(printf -- '-%.0s' {1..45})|-----:|----------:|----------:|------:|---------:|------|"
}

# Is the ratio as required (">= 4", "<= 0.7" or nothing)?  Of small loads nothing is
# required.
verdict()
{
	[ "$ROWS" -ge 2000000 ] || return
	awk -v ratio="$1" -v required="$2" 'BEGIN {
		split(required, r, " ")
		if (r[1] == "") print ""
		else print (r[1] == ">=" ? ratio >= r[2] : ratio <= r[2]) ? "yes" : "NO"
	}'
}

# Why the loads of a way say nothing about direct: they failed, another strategy did
# them, the rows differ.  Prints nothing if they do say something.
spoilt()
{
	awk -F'|' -v name="$1" -v way="$2" '
		$1 == name && $3 != "failed" { if (rows != "" && rows != $3) differ = 1; rows = $3 }
		$1 == name && $2 == way && $3 == "failed" { failed = 1 }
		$1 == name && $2 == way && $3 != "failed" && $7 != "direct" { used = $7; reason = $9 }
		END {
			if (failed) print "failed"
			else if (used) print used "|" reason
			else if (differ) print "differ"
		}' "$RUNS"
}

# A row that compares a field of our loads with COPY's: label, case, way, field,
# unit, required ratio.  Of times the ratio is COPY's to ours, of sizes ours to
# COPY's.
row()
{
	local label=$1 name=$2 way=$3 field=$4 unit=$5 required=$6 workers copy ours ratio bad

	IFS=: read -r _ workers _ <<<"$way"
	copy=$(median "$name" copy "$field")
	ours=$(median "$name" "$way" "$field")
	bad=$(spoilt "$name" "$way")
	case $bad in
		'') ;;
		failed | differ) line "$label" "$workers" "$(figure "$copy" "$unit")" "$bad" "-" "$required" NO; BAD=1; return ;;
		*)
			line "$label" "$workers" "$(figure "$copy" "$unit")" "${bad%%|*}!" "-" "$required" NO
			note "$name: done by ${bad%%|*}, not by direct: ${bad#*|}"
			return ;;
	esac
	[ -n "$copy" ] || { line "$label" "$workers" failed "$(figure "$ours" "$unit")" "-" "$required" NO; return; }
	ratio=$(awk -v a="$copy" -v b="$ours" -v u="$unit" 'BEGIN {
		printf "%.6f", u == "s" ? (b > 0 ? a / b : 0) : (a > 0 ? b / a : 0) }')
	line "$label" "$workers" "$(figure "$copy" "$unit")" "$(figure "$ours" "$unit")" "$(round "$ratio")" "$required" \
		"$(verdict "$ratio" "$required")"
}

round()
{
	awk -v v="$1" 'BEGIN { printf "%.2f", v }'
}

# A value with its unit.
figure()
{
	[ -n "$1" ] || { echo -; return; }
	case $2 in
		s) awk -v v="$1" 'BEGIN { printf "%.2f s", v }' ;;
		MB) awk -v v="$1" 'BEGIN { printf (v < 10e6 ? "%.1f MB" : "%.0f MB"), v / 1e6 }' ;;
	esac
}

times()
{
	row "$1" "$2" "$3" $SECONDS_FIELD s "$4"
}


# ----------
# The cases
# ----------

case_empty()
{
	compare empty t_empty w1_flat add true copy direct:2:auto direct:1:auto
	times "empty table, no index" empty direct:2:auto ">= 4"
	times "same, one process" empty direct:1:auto ">= 2.5"
}

append()
{
	local n=$1 label="append, $1 index" ways=(copy direct:2:auto)

	[ "$n" = 1 ] || label+=es
	[ "$n" != 3 ] || ways+=(direct:1:auto)
	compare "append$n" "t_w1_$n" w1 add "$NEW_ROWS" "${ways[@]}"
	times "$label" "append$n" direct:2:auto "$2"
	[ "$n" != 3 ] || times "same, one process" append3 direct:1:auto ""
	row "$label: WAL" "append$n" direct:2:auto $WAL_FIELD MB "${3:-}"
}

case_append1()
{
	append 1 ">= 4.5"
}

case_append2()
{
	append 2 ">= 6"
}

case_append3()
{
	append 3 ">= 7.5" "<= 0.7"
}

case_shuffled()
{
	compare shuffled t_w1_3 w1 shuffled "$NEW_ROWS" copy direct:2:auto
	times "append, 3 indexes, rows shuffled" shuffled direct:2:auto ">= 10"
}

case_indexed()
{
	compare indexed t_empty w1_flat3 add true copy direct:2:rebuild direct:2:auto
	times "empty table with 3 indexes, rebuild" indexed direct:2:rebuild ">= 7.5"
	times "same, auto" indexed direct:2:auto ">= 7.5"
}

case_toast()
{
	compare toast t_empty long_values long true copy direct:2:auto
	times "text of 4 kB, no index" toast direct:2:auto ">= 1.5"
}

# Three indexes of one kind of keys.
keys()
{
	local kind=$1

	need t_keys
	database "t_keys_$kind" t_keys "CALL key_indexes('$kind')"
	compare "$kind" "t_keys_$kind" keys keys "k > 3 * $KEY_ROWS" copy direct:2:auto
	times "3 indexes: $2" "$kind" direct:2:auto "$3"
	sql postgres -c "DROP DATABASE t_keys_$kind"
}

case_text()
{
	[ "$(sql base -c "SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'")" != 0 ] || {
		note "left out: text; the server has no ICU"
		return
	}
	keys text "text, ICU" ">= 2.5"
}

case_two()
{
	keys two "two columns" ">= 2.5"
}

case_numeric()
{
	keys numeric "numeric" ">= 2.5"
}

case_expression()
{
	keys expression "expressions" ">= 2.5"
}

case_partial()
{
	keys partial "partial" ">= 2.5"
}

case_null()
{
	keys null "33, 33 and 90 % NULL" ">= 2.5"
}

case_distinct()
{
	keys distinct "16, 100 and 100 distinct keys" ">= 2"
	row "same: size of the indexes" distinct direct:2:auto $INDEX_FIELD MB "<= 1.1"
}

# Time per row in tables of 10 partitions that are empty at first, the keys spread
# over all of them; and the memory that the largest load takes.
case_scale()
{
	local size rows sizes="small middle large" n most processes
	local MEMORY=64MB SAMPLE=

	need_file scale_large
	need_file scale_middle
	need_file scale_small
	for size in $sizes; do
		rows=$(scale_rows $size)
		note "$rows rows"
		database "t_scale_$size" base "
			CALL w1_table('w1', 10, $rows / 10); CALL w1_table('w1_indexed', 10, $rows / 10);
			CALL w1_index('w1_indexed', 1); CALL w1_index('w1_indexed', 2); CALL w1_index('w1_indexed', 3);
			CREATE TABLE expected (LIKE w1_flat); INSERT INTO expected SELECT * FROM w1_rows(16, $rows, 16)"
		expect "scale_$size" "scale3_$size" "$(sql "t_scale_$size" -c "
			SELECT $rows || ':' || sum(hashtext(t::text)) FROM expected t")"
		compare "scale_$size" "t_scale_$size" w1 "scale_$size" "k % 16 = 0" direct:2:auto
		compare "scale3_$size" "t_scale_$size" w1_indexed "scale_$size" "k % 16 = 0" direct:2:auto
	done
	for n in '' 3; do
		for size in $sizes; do
			per_row "a million of $(scale_rows $size) rows, ${n:-no} index${n:+es}" "scale${n}_$size" "$(scale_rows $size)"
		done
	done

	SAMPLE=$(head -n 1 "$(sql postgres -c "SHOW data_directory")/postmaster.pid")
	for size in small large; do
		fresh "t_scale_$size" w1_indexed
		record "memory_$size" w1_indexed "scale_$size" "k % 16 = 0" direct:2:auto
		read -r most processes <"$DIR/memory"
		memory_row "memory for $(scale_rows $size) rows, 3 indexes" "memory_$size" "$most" "$processes"
	done
	for size in $sizes; do
		sql postgres -c "DROP DATABASE t_scale_$size"
	done
}

scale_rows()
{
	case $1 in
		small) echo $((ROWS / 2)) ;;
		middle) echo $((5 * ROWS / 2)) ;;
		large) echo $((10 * ROWS)) ;;
	esac
}

# Seconds for a million rows.
per_row()
{
	local label=$1 name=$2 rows=$3 bad seconds

	bad=$(spoilt "$name" direct:2:auto)
	seconds=$(median "$name" direct:2:auto $SECONDS_FIELD)
	if [ -n "$bad" ]; then
		line "$label" 2 - "${bad%%|*}!" - flat NO
	else
		line "$label" 2 - "$(awk -v s="$seconds" -v n="$rows" 'BEGIN { printf "%.2f s", s / n * 1e6 }')" - flat ""
	fi
}

memory_row()
{
	local label=$1 name=$2 most=$3 n=$4 allowed bad

	allowed=$(((${MEMORY%MB} + n * 64) * 1024 * 1024))
	bad=$(spoilt "$name" direct:2:auto)
	if [ -n "$bad" ]; then
		line "$label" "$n" - "${bad%%|*}!" - "" NO
	else
		line "$label" "$n" - "$(figure "$most" MB)" - "$(figure "$allowed" MB)" \
			"$([ "$most" -le $allowed ] && echo yes || echo NO)"
	fi
}

# The same rows into 10 and into 1000 partitions, in the order of the key and
# shuffled.
case_partitions()
{
	local file n label a b bad

	database t_parts base "CALL w1_table('w1_10', 10, $ROWS / 10); CALL w1_table('w1_1000', 1000, $ROWS / 1000)"
	for file in spread spread_shuffled; do
		for n in 10 1000; do
			compare "${file}_$n" t_parts "w1_$n" $file true copy direct:2:auto
			label="$n partitions, ${file#spread}"
			label=${label/_/rows }
			times "${label%, }" "${file}_$n" direct:2:auto ""
		done
		a=$(median ${file}_10 direct:2:auto $SECONDS_FIELD)
		b=$(median ${file}_1000 direct:2:auto $SECONDS_FIELD)
		bad=$(spoilt ${file}_10 direct:2:auto)$(spoilt ${file}_1000 direct:2:auto)
		if [ -n "$bad" ]; then
			line "1000 to 10 partitions" 2 - - - "<= 1.3" NO
		else
			a=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.6f", b / a }')
			line "1000 to 10 partitions" 2 - - "$(round "$a")" "<= 1.3" "$(verdict "$a" "<= 1.3")"
		fi
	done
	sql postgres -c "DROP DATABASE t_parts"
}

# Point reads and single-row updates of rows that are there, one client each,
# while the load runs; those that ended between its BEGIN and COMMIT are counted.
case_beside()
{
	local i way

	need t_w1_3
	need_file add
	{
		echo "\\set p random(0, 9)"
		echo "\\set k :p * $WIDTH + random(1, $WIDTH / 10 * 8)"
	} | tee "$DIR/read.pgbench" >"$DIR/write.pgbench"
	echo "SELECT n1, c1 FROM w1 WHERE k = :k;" >>"$DIR/read.pgbench"
	echo "UPDATE w1 SET i1 = i1 + 1 WHERE k = :k;" >>"$DIR/write.pgbench"

	for ((i = 0; i < REPEAT; i++)); do
		for way in copy direct:2:auto direct:1:auto; do
			fresh t_w1_3 w1
			beside $way
		done
	done
	for i in read write; do
		for way in direct:2:auto direct:1:auto; do
			beside_row "pgbench ${i}s during the load, per second" $i $way
		done
	done
}

# One load with pgbench beside it; appends "read|way|transactions per second" and
# the same for writes to the file beside.
beside()
{
	local way=$1 kind pids=() begun ended

	for kind in read write; do
		pgbench -n -c 1 -T 1000 -M prepared -f "$DIR/$kind.pgbench" -l --log-prefix="$DIR/log.$kind" bench \
			>"$DIR/pgbench.$kind" 2>&1 &
		pids+=($!)
	done
	sleep 2
	record beside w1 add "$NEW_ROWS" "$way"
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	IFS='|' read -r begun ended <<<"$(tail -n 1 "$RUNS" | cut -d '|' -f 10,11)"
	for kind in read write; do
		[ -z "$begun" ] || cat "$DIR/log.$kind".* | awk -v kind=$kind -v way="$way" -v a="$begun" -v b="$ended" '
			{ at = $5 + $6 / 1e6; if (at >= a && at <= b) n++ }
			END { print kind "|" way "|" n / (b - a) }' >>"$DIR/beside"
		rm -f "$DIR/log.$kind".*
	done
}

beside_row()
{
	local label=$1 kind=$2 way=$3 workers copy ours ratio bad

	IFS=: read -r _ workers _ <<<"$way"
	copy=$(beside_median "$kind" copy)
	ours=$(beside_median "$kind" "$way")
	bad=$(spoilt beside "$way")
	if [ -n "$bad" ] || [ -z "$copy" ]; then
		line "$label" "$workers" "${copy:-failed}" "${bad%%|*}!" - ">= 1" NO
		return
	fi
	ratio=$(awk -v a="$copy" -v b="$ours" 'BEGIN { printf "%.6f", (a > 0 ? b / a : 0) }')
	line "$label" "$workers" "$copy" "$ours" "$(round "$ratio")" ">= 1" "$(verdict "$ratio" ">= 1")"
}

beside_median()
{
	awk -F'|' -v kind="$1" -v way="$2" '$1 == kind && $2 == way { print $3 }' "$DIR/beside" |
		sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.0f", v[int((NR + 1) / 2)] }'
}

# All the times, so that it can be seen how far they spread.
show_runs()
{
	echo
	echo "Every run, in seconds:"
	awk -F'|' '
		$2 == "expected" { next }
		{ key = $1 "|" $2 }
		!(key in seen) { seen[key] = 1; keys[++n] = key }
		{ times[key] = times[key] (NF > 3 ? sprintf(" %.2f", $5) : " failed") }
		NF > 3 && $7 != "copy" && $7 != "direct" { times[key] = times[key] "(" $7 ")" }
		END { for (i = 1; i <= n; i++) { split(keys[i], k, "|"); printf "%-22s %-16s%s\n", k[1], k[2], times[keys[i]] } }' "$RUNS"
}


[ $((ROWS % 2000)) -eq 0 ] || die "ROWS must be a multiple of 2000"
[ $# -gt 0 ] || set -- $ALL_CASES
for name; do
	[[ " ${ALL_CASES//[$'\n\t']/ } " = *" $name "* ]] || die "unknown case: $name (one of ${ALL_CASES//[$'\n\t']/ })"
done

: >"$RUNS"
: >"$DIR/beside"
make_base
header
for name; do
	"case_$name"
done
show_runs
exit $BAD
