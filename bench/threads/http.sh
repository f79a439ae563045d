#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Requests per second, and per second of the server's CPU time, of a static page of 4.1 kB: a green thread per connection under a policy, against a loop of events without the library. Server on CPU 0, load
# of 17 connections on CPU 1, alternately: bench/threads/http.sh [RUNS [SECONDS]]. One JSON object a line. Needs `make threads` and a built runweir.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath "${CARGO_TARGET_DIR:-target}")
runweir=$target/release/runweir
[[ -x $runweir ]] || runweir=$target/debug/runweir
[[ -f $target/threads/libweir_threads.a ]] || { echo "http.sh: no thread library: run \`make threads\`" >&2 && exit 1; }
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
"$runweir" compile decentral -m smp-1 -q -o "$work/policy.plan"
${CC:-gcc} -std=gnu11 -O2 -Iruntimes/threads/include -o "$work/http" experiments/multikernel-e8/http.c "$target/threads/libweir_threads.a" -lpthread
port=18080
# CPU time of the server, all threads together.
cpu_ns() { cat /proc/"$server"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f", ns }'; }
one() { # NAME RUN ARGUMENT...
	port=$((port + 1))
	"$work/http" "${@:3}" "$port" &
	server=$!
	sleep 0.3
	before=$(cpu_ns)
	read -r answers took <<<"$("$work/http" load "$port" 17 "$seconds")"
	after=$(cpu_ns)
	kill "$server" && wait "$server" 2>/dev/null || true
	server=
	awk -v name="$1" -v run="$2" -v n="$answers" -v s="$took" -v ns=$((after - before)) 'BEGIN {
		printf "{\"server\": \"%s\", \"run\": %d, \"connections\": 17, \"bytes\": 4100, ", name, run
		printf "\"requests_per_s\": %.0f, \"requests_per_cpu_s\": %.0f}\n", n / s, n * 1e9 / ns
	}'
}
seconds=${2:-3}
for ((run = 1; run <= ${1:-9}; run++)); do
	one epoll "$run" epoll
	one threads "$run" threads "$work/policy.plan"
done
