#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A team that shrinks beside one that grows: bench/threads/shrink.sh [ROUNDS [WORK_US]]. For three seconds: the first program runs in the first two, the
# other one in the last two. Both together, regions by mode, medians of ROUNDS runs that take turns; one JSON object a mode:
#
#   follow   both joined a policy and follow what it gives them (OMP_DYNAMIC=true)
#   share    both joined, and keep their threads: the policy multiplexes them
#   halves   each has half of the CPUs throughout, without a policy
#   linux    libgomp, without a policy
#   dynamic  the same with OMP_DYNAMIC=true: libgomp looks at the load average
#
# `per_cpu_second`: regions for each second of CPU time. On a busy machine only that says much: a program with more threads gets more of the CPUs
# there, whatever it does with them.
#
# Bound on an idle machine, stated before: follow makes at least 1.3 times the regions of halves (the ideal is 1.5), and at least 1.05 times those of linux.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath "${CARGO_TARGET_DIR:-target}")
runweir=${RUNWEIR:-$target/release/runweir}
[[ -x $runweir ]] || runweir=$target/debug/runweir
export RUNWEIR_LIB=${RUNWEIR_LIB:-$target/threads}
[[ -f $RUNWEIR_LIB/libweir_gomp.so ]] || { echo "shrink.sh: no OpenMP library: run \`make threads\`" >&2 && exit 1; }
rounds=${1:-5} work_us=${2:-500}
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
((${#cpus[@]} >= 2)) || { echo "shrink.sh: needs two CPUs" >&2 && exit 1; }
half=$((${#cpus[@]} / 2))
low=$(IFS=, && echo "${cpus[*]:0:half}") high=$(IFS=, && echo "${cpus[*]:half}")
work=$(mktemp -d)
name=shrink-$$
"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -O2 -fopenmp -o "$work/shrink" bench/threads/shrink.c
"$runweir" threads decentral --serve "$name" >"$work/served" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until [[ -s $work/served ]]; do sleep 0.05; done

pair() { # MODE COMMAND-OF-FIRST : COMMAND-OF-SECOND
	local mode=$1 first=() second
	shift
	while [[ $1 != : ]]; do first+=("$1") && shift; done
	shift
	second=("$@")
	"${first[@]}" "$work/shrink" "$work_us" 0 2 >"$work/a" &
	local a=$!
	"${second[@]}" "$work/shrink" "$work_us" 1 2 >"$work/b"
	wait $a
	jq -sc --arg mode "$mode" '{mode: $mode, regions: (map(.regions) | add), cpu_seconds: (map(.cpu_seconds) | add), first: .[0], second: .[1]}' "$work/a" "$work/b"
}

joined=("$runweir" threads --join "$name" --)
for ((i = 0; i < rounds; i++)); do
	pair follow env OMP_DYNAMIC=true "${joined[@]}" : env OMP_DYNAMIC=true "${joined[@]}"
	pair share "${joined[@]}" : "${joined[@]}"
	pair halves env OMP_NUM_THREADS=$half taskset -c "$low" : env OMP_NUM_THREADS=$((${#cpus[@]} - half)) taskset -c "$high"
	pair linux env : env
	pair dynamic env OMP_DYNAMIC=true : env OMP_DYNAMIC=true
done >"$work/all"
jq -sc 'def median: sort | .[length / 2 | floor];
	([.[] | select(.mode == "halves") | .regions] | median) as $halves
	| ([.[] | select(.mode == "linux") | .regions] | median) as $linux
	| group_by(.mode)[] | {mode: .[0].mode, runs: length, regions: ([.[].regions] | median),
	   least: ([.[].regions] | min), most: ([.[].regions] | max),
	   to_halves: (([.[].regions] | median) / $halves * 100 | round / 100),
	   to_linux: (([.[].regions] | median) / $linux * 100 | round / 100),
	   per_cpu_second: ([.[] | .regions / .cpu_seconds] | median | round),
	   threads: [.[0].first.threads, .[0].second.threads]}' "$work/all"
