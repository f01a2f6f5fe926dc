# shellcheck shell=bash
#
# test/lib.sh
#	  Shell functions that test/demo, test/check and test/servers share.
#
# A script that includes this file works in one temporary directory, WORK.  A
# copy of the tree is built there, and the server it starts has its data
# directory, its socket and its log there.  When the script ends, however it
# ends, the processes it started are stopped and WORK is removed.  The tree
# itself is only read.
#
# The script runs as root, which it needs to install packages; the build, the
# server and the tests run as PG_USER.
#
# Where the server has Debian's setting extension_destdir, the extension is
# installed below WORK too and the machine's own PostgreSQL is left as it was.
# Other servers get an ordinary "make install".

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PG_USER=${PG_USER:-postgres}
WORK=
BINDIR=
JOB=
SMALL_DISK=

# What the machine's own server needs.  libc6-dev is only recommended by gcc.
PG_PACKAGES="postgresql-15 postgresql-server-dev-15 postgresql-contrib
	postgresql-15-pg-wait-sampling libcsv-dev libipc-run-perl
	gcc libc6-dev make perl"

note()
{
	printf '== %s\n' "$*"
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

need_root()
{
	[ "$(id -u)" -eq 0 ] ||
		die "run this as root: it installs packages and starts a server as user $PG_USER"
}


# ----------
# Packages
# ----------

apt()
{
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
		-o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Version of an installed package, or nothing.
package_version()
{
	dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
		sed -n 's/^installed //p'
}

# Installs those of the named packages that are missing; asks nothing of the
# package registry when none is.
install_packages()
{
	local missing=() package

	for package in "$@"; do
		[ -n "$(package_version "$package")" ] || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	note "installing ${missing[*]}"
	apt update >/dev/null ||
		note "apt-get update failed for some source; going on"
	apt install --no-install-recommends "${missing[@]}" >"$WORK/apt.log" 2>&1 || {
		tail -n 20 "$WORK/apt.log" >&2
		return 1
	}
}

# The packages of the machine's own server.  pg_regress and the isolation
# tester come with the -dev package and must be of the server's version.
install_server_packages()
{
	local version

	# shellcheck disable=SC2086
	install_packages $PG_PACKAGES ||
		die "could not install the packages; this needs Debian 12 or a system with PostgreSQL 15"

	version=$(package_version postgresql-15)
	[ "$version" = "$(package_version postgresql-server-dev-15)" ] && return
	note "bringing postgresql-15 and postgresql-server-dev-15 to one version"
	apt update >/dev/null
	apt install --no-install-recommends \
		"postgresql-server-dev-15=$version" >"$WORK/apt.log" 2>&1 ||
		apt install --no-install-recommends \
			postgresql-15 postgresql-server-dev-15 >"$WORK/apt.log" 2>&1 ||
		die "postgresql-15 and postgresql-server-dev-15 differ in version"
}


KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# A place that apt fetches packages from: prints URI and codename of each
# configured source whose release file has the given label.
apt_sources()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(LABEL)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)' \
		'Created-By: Packages' | awk -F'|' -v label="$1" \
		'$1 == label && $4 == "main" && !seen[$2, $3]++ { print $2, $3 }'
}

# The labels are known only after an update of apt's lists.
have_sources()
{
	[ -z "$(apt_sources Debian)" ] || return 0
	apt update
	[ -n "$(apt_sources Debian)" ] || {
		echo "apt has no Debian source configured"
		return 1
	}
}

# Fetches the source of PostgreSQL MAJOR into the current directory.  The newest
# version that the mirror lists may be gone, so each is tried in turn.
fetch_source()
{
	local major=$1 label uri codename version options

	have_sources || return
	for label in Debian Debian-Security; do
		apt_sources "$label" | while read -r uri codename; do
			echo "deb-src [signed-by=$KEYRING] $uri $codename main"
			[ "$label" = Debian ] &&
				echo "deb-src [signed-by=$KEYRING check-valid-until=no] $uri sid main"
		done
	done | sort -u >sources.list
	mkdir -p lists/partial
	options=(-o Dir::Etc::SourceList="$PWD/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::Lists="$PWD/lists" -o APT::Sandbox::User=root)

	apt-get -q "${options[@]}" update
	for version in $(apt-cache "${options[@]}" showsrc "postgresql-$major" |
		sed -n 's/^Version: //p' | sort -Vru); do
		apt-get -q "${options[@]}" --download-only source "postgresql-$major=$version" &&
			return
	done
	return 1
}


# ----------
# The temporary directory and the processes that work in it
# ----------

# Call once, first.
work_begin()
{
	trap work_end EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	umask 022

	# Not /tmp, which may be memory: the figures are to be those of a disk.
	WORK=$(mktemp -d "$(realpath "${TMPDIR:-/var/tmp}")/ingest_tools.XXXXXX") || exit 1
	chmod 755 "$WORK"
}

# Runs a command, which may be a function, as a job in a process group of its
# own, which work_end ends.  What runs inside starts no such job again.
run_job()
{
	local status

	set -m
	"$@" </dev/null &
	JOB=$!
	set +m
	wait "$JOB"
	status=$?
	JOB=
	return $status
}

# Runs a command as PG_USER, with nothing of the caller's environment but what
# names the private server.
as_user()
{
	run_job setpriv --reuid="$PG_USER" --regid="$PG_USER" --init-groups -- \
		env -i HOME="$WORK/home" LANG=C.UTF-8 TZ=UTC \
		PATH="${BINDIR:+$BINDIR:}/usr/local/bin:/usr/bin:/bin" \
		PG_CONFIG="$PG_CONFIG" PGHOST="$WORK/socket" PGPORT=5432 \
		TEMP_CONFIG="$WORK/temp.conf" ${SMALL_DISK:+INGEST_TEST_SMALL_DISK="$SMALL_DISK"} \
		"$@"
}

# Runs a command, its output shown and also kept in the file LOG.  With a third
# argument that is not empty, every line shown is marked with it.
logged()
{
	local log=$1 mark=$2 tee_pid status fd
	shift 2

	exec {fd}> >(exec tee "$log" | sed -u "s/^/${mark:+[$mark] }/")
	tee_pid=$!
	"$@" >&$fd 2>&1 {fd}>&-
	status=$?
	exec {fd}>&-
	wait "$tee_pid"
	return $status
}

# Prints the numbers of passed, failed and skipped tests from the last line of a
# log of test/check, or nothing if that did not come to its end.
closing_line()
{
	tail -n 1 "$1" | sed -n \
		-e 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2 0/p' \
		-e 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p'
}

# Stops every server that still runs in WORK: the one of server_start, and those
# of TAP tests that were ended before they could stop theirs.
stop_servers()
{
	local pidfile pid tries

	find "$WORK" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		pid=$(head -n 1 "$pidfile")
		[ "$(readlink "/proc/$pid/cwd")" = "${pidfile%/*}" ] || continue
		kill -QUIT "$pid"
		for ((tries = 0; tries < 100; tries++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
	done
}

# What the calling script has to undo besides; it may define this anew.
at_end()
{
	:
}

work_end()
{
	local status=$?

	trap '' HUP INT TERM
	if [ -n "$JOB" ]; then
		kill -TERM -- "-$JOB" 2>/dev/null
		wait "$JOB" 2>/dev/null
	fi
	at_end
	if [ -n "$WORK" ] && [ -d "$WORK" ]; then
		stop_servers
		small_disk_end
		if [ -n "${KEEP:-}" ]; then
			note "kept: $WORK"
		else
			rm -rf "$WORK"
		fi
	fi
	exit $status
}


# A file system that is soon full, for tests of what happens then.  Where none may
# be mounted, SMALL_DISK stays empty and those tests are skipped.
small_disk_begin()
{
	mkdir -p "$WORK/small" || return
	if mount -t tmpfs -o "size=16m,mode=700,uid=$(id -u "$PG_USER"),gid=$(id -g "$PG_USER")" \
		tmpfs "$WORK/small" 2>"$WORK/mount.log"; then
		SMALL_DISK=$WORK/small
	else
		note "SKIPPED: no small file system, a full disk is not tested: $(cat "$WORK/mount.log")"
	fi
}

small_disk_end()
{
	[ -n "$SMALL_DISK" ] || return 0
	umount "$SMALL_DISK" || umount -l "$SMALL_DISK"
	SMALL_DISK=
}


# ----------
# The extension and the server
# ----------

# Picks the server: --pg-config FILE of the calling script, else the one of
# Debian 12.
use_server()
{
	PG_CONFIG=${1:-/usr/lib/postgresql/15/bin/pg_config}
	[ -x "$PG_CONFIG" ] || die "no such program: $PG_CONFIG"
	id "$PG_USER" >/dev/null 2>&1 || die "no such account: $PG_USER"
	BINDIR=$("$PG_CONFIG" --bindir)
	DESTDIR=
	if "$BINDIR/postgres" --describe-config 2>/dev/null | grep '^extension_destdir' >/dev/null; then
		DESTDIR=$WORK/root
	fi
}

# Copies the tree into WORK/tree, builds it as PG_USER and installs it.  Own code
# is compiled with the warnings of -Wall -Wextra; with WERROR set they are
# errors.  The server's headers count as system headers, so that only warnings
# of the extension's own code are seen.
build_extension()
{
	local copt

	mkdir -p "$WORK/tree" "$WORK/home" "$WORK/root"
	tar -C "$TOP" --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' \
		--exclude=./results --exclude=./output_iso --exclude='./tmp_check*' \
		-cf - . | tar -C "$WORK/tree" -xf - || die "could not copy the tree"
	chown -R "$PG_USER:" "$WORK/tree" "$WORK/home"

	note "building for $("$PG_CONFIG" --version)"
	copt="-Wall -Wextra -isystem $("$PG_CONFIG" --includedir-server)"
	[ -z "${WERROR:-}" ] || copt="$copt -Werror"
	as_user make -C "$WORK/tree" -s -j "$(nproc)" COPT="$copt" all >"$WORK/build.log" 2>&1 || {
		cat "$WORK/build.log"
		die "the build failed"
	}
	cat "$WORK/build.log"
	run_job make -C "$WORK/tree" -s PG_CONFIG="$PG_CONFIG" DESTDIR="$DESTDIR" install \
		>"$WORK/build.log" 2>&1 || {
		cat "$WORK/build.log"
		die "the installation failed"
	}
}

# Starts a private server in WORK, reached through a socket there and not through
# TCP.  The arguments are lines for its configuration; the same settings, but for
# these, go to the servers that TAP tests start.
server_start()
{
	local libdir

	libdir=$("$PG_CONFIG" --pkglibdir)
	if [ -n "$DESTDIR" ]; then
		# extension_destdir is applied to $libdir/NAME, not to a bare NAME
		cat >"$WORK/temp.conf" <<-END
			extension_destdir = '$DESTDIR'
			dynamic_library_path = '$DESTDIR$libdir:\$libdir'
		END
	else
		: >"$WORK/temp.conf"
	fi

	mkdir -p "$WORK/socket" "$WORK/data"
	chown "$PG_USER:" "$WORK/socket" "$WORK/data"
	as_user "$BINDIR/initdb" -D "$WORK/data" -A trust -E UTF8 --locale=C.UTF-8 >"$WORK/initdb.log" 2>&1 || {
		cat "$WORK/initdb.log"
		die "initdb failed"
	}
	{
		cat "$WORK/temp.conf"
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$WORK/socket'"
		printf '%s\n' "$@"
	} >>"$WORK/data/postgresql.conf"
	as_user "$BINDIR/pg_ctl" -D "$WORK/data" -l "$WORK/data/server.log" -w -s start || {
		tail -n 20 "$WORK/data/server.log"
		die "the server did not start"
	}
}

server_stop()
{
	as_user "$BINDIR/pg_ctl" -D "$WORK/data" -m fast -w -s stop
}
