#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Programs that others wrote, under policies: the same output and exit status as without us. A long test; what is not installed is skipped.
#
#   tests/threads/others.sh RUNWEIR [ROWS [POLICIES [WAYS [CPUS]]]]       rows and others are lists in quotes, or `all`
#
#   WAYS: alone, tree, join. A line for each: name, policy, way, CPUs, seconds without and with, ok or what differs. More CPUs than there are
#   take turns.
#   LOG=FILE: the lines go there, too, and cells that are there already are left out.
#   CELLS=N: of each program's cells N, spread over policies, ways and CPUs, so that the programs together have all; of Python's tests, which take
#   minutes, one.
#
# Python's tests come with Debian's libpython3.11-testsuite, others with packages of their names. The rows are in others/.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
runweir=$(realpath "$1")
rows=${2:-all} policies=${3:-all} ways=${4:-all} sizes=${5:-all}
[[ $policies == all ]] && policies="decentral priority edf linux worksteal"
[[ $ways == all ]] && ways="alone tree join"
[[ $sizes == all ]] && sizes="1 2 3 8"
limit=${LIMIT:-300}
log=${LOG:-/dev/null}
most=${CELLS:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=/usr/bin/python3
failed=0

for file in tests/threads/others/*.sh; do
	# shellcheck source=/dev/null
	source "$file"
done
[[ $rows == all ]] && rows=$(declare -F | sed -n 's/^declare -f row_//p')
missing() { # ROW: the programs that it needs and that are not here
	local program needs=()
	case $1 in
	test_*) "$python" -c "import test.test_threading" 2>/dev/null || echo libpython3-testsuite ;;
	xdist) python3 -c "import xdist" 2>/dev/null || echo pytest-xdist ;;
	postgres) [[ -x $(printf '%s\n' /usr/lib/postgresql/*/bin/pgbench | tail -1) ]] || echo postgresql ;;
	jemalloc | tcmalloc) ldconfig -p | grep -q "lib$1.so" || echo "lib$1" ;;
	stress_*) needs=(stress-ng) ;;
	nginx | haproxy) needs=("$1" ab) ;;
	redis) needs=(redis-benchmark) ;;
	rust) needs=(cargo) ;;
	rust_std) needs=(rustc) ;;
	fortran) needs=(gfortran) ;;
	erlang) needs=(erl) ;;
	node | java | go | ghc | xz | gdb | memcached | ruby | php | zstd | pigz | 7z | ffmpeg | x265 | ninja | git | rsync | curl | strace | valgrind) needs=("$1") ;;
	esac
	for program in "${needs[@]}"; do command -v "$program" >/dev/null || echo "$program"; done
}
run() { # ROW FILE: output and status; returns ns
	local from
	from=$(date +%s%N)
	(
		export limit
		"row_$1"
		echo "status $?"
	) >"$2" 2>"$work/stderr"
	ns=$(($(date +%s%N) - from))
}
# The preloaded library and the process with the policy, as `runweir threads` starts them, but for the number of CPUs.
library() { ls "${RUNWEIR_LIB:-$(dirname "$runweir")/../threads}/libweir_preload.so"; }
serve() { # POLICY CPUS
	local command=("$runweir" threads "$1" --cpus "$2" --serve "others-$$")
	(($2 > $(nproc))) && command=("$(dirname "$(library)")/weir-cpus" serve "others-$$" "$work/$1-$2.plan" --oversubscribe)
	: >"$work/served"
	"${as[@]}" "${command[@]}" >"$work/served" 2>/dev/null &
	server=$!
	for ((i = 0; i < 600; i++)); do [[ -s $work/served ]] && break || sleep 0.1; done
}
prepare() { # POLICY WAY CPUS: sets `under`
	under=(timeout "$limit" "$runweir" threads)
	(($3 > $(nproc))) && "$runweir" compile "$1" -m "smp-$3" -o "$work/$1-$3.plan" -q 2>/dev/null
	case $2 in
	join)
		serve "$1" "$3"
		under+=(--join "others-$$" --)
		;;
	tree) under+=("$1" --cpus "$3" --tree --) ;;
	alone)
		under+=("$1" --cpus "$3" --)
		# With what `runweir threads` tells sanitizers.
		(($3 > $(nproc))) && under=(timeout "$limit" env WEIR_THREADS_PLAN="$work/$1-$3.plan" WEIR_THREADS_OVERSUBSCRIBE=1 LD_PRELOAD="$(library)"
			ASAN_OPTIONS=verify_asan_link_order=0 TSAN_OPTIONS=die_after_fork=0)
		;;
	esac
}
cell() { # ROW POLICY WAY CPUS
	local verdict=ok name try differs='' as
	name=$(printf '%-16s %-10s %-5s %s' "$@")
	grep -qF "$name " "$log" 2>/dev/null && return
	# On a busy machine some of these programs fail by themselves now and then.
	# It does not run as root, so neither may the policy's process, which it would refuse.
	as=()
	[[ $1 == postgres ]] && ((!UID)) && as=(setpriv --reuid nobody --regid nogroup --clear-groups)
	for ((try = 1; try < 3; try++)); do
		prepare "${@:2}"
		run "$1" "$work/other"
		[[ $3 == join ]] && kill "$server" && wait "$server"
		cmp -s "$work/plain" "$work/other" && break
		differs="$(diff -a "$work/plain" "$work/other" | grep -a '^[<>]' | head -4 | cut -c1-200 | tr '\n' ';') $(grep -a runweir "$work/stderr" | head -1)"
	done
	((try == 2)) && verdict="ok, at the second try: $differs"
	((try == 3)) && verdict="DIFFERS: $differs" && failed=1
	printf '%s  %6.1f %6.1f s  %s\n' "$name" "$((plain / 100000000))e-1" "$((ns / 100000000))e-1" "$verdict" | tee -a "$log"
}
cells=()
for policy in $policies; do for way in $ways; do for cpus in $sizes; do
	# `--tree` has no more CPUs than there are.
	[[ $way == tree ]] && ((cpus > $(nproc))) && continue
	cells+=("$policy $way $cpus")
done; done; done
turn=0
for row in $rows; do
	lacks=$(missing "$row")
	[[ $lacks ]] && echo "skip $row: $lacks is not installed" && continue
	under=(timeout "$limit" env)
	run "$row" "$work/plain"
	plain=$ns
	grep -q 'status 77' "$work/plain" && echo "skip $row: it cannot be built here" && continue
	n=${#cells[@]}
	((most && most < n)) && n=$most
	((most)) && [[ $row == test_* ]] && n=1
	# One step more than to the next policy, so way and CPUs change with it; and each program begins one step later.
	for ((i = 0; i < n; i++)); do
		read -ra of <<<"${cells[$(((turn + i * (${#cells[@]} / n + (n < ${#cells[@]}))) % ${#cells[@]}))]}"
		cell "$row" "${of[@]}"
	done
	turn=$((turn + 1))
done
exit $failed
