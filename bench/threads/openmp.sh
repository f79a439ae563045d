#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# OpenMP kernels and teams with libgomp and with ours: bench/threads/openmp.sh [PAIRS] [KERNEL CLASS]... One JSON object a line. Runs take turns (libgomp, ours
# without a policy, ours under one), each kernel PAIRS times; times are medians, ratios are medians of the pairs' ratios. CPU time is beside
# the time: on a busy machine only that says much. POLICY names the topology (default: decentral). Needs `make threads`, a built runweir, gcc.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath "${CARGO_TARGET_DIR:-target}")
runweir=${RUNWEIR:-$target/release/runweir}
[[ -x $runweir ]] || runweir=$target/debug/runweir
[[ -f $target/threads/libweir_gomp.so ]] || { echo "openmp.sh: no OpenMP library: run \`make threads\`" >&2 && exit 1; }
pairs=${1:-5}
shift || true
(($# % 2 == 0)) || { echo "usage: openmp.sh [PAIRS] [KERNEL CLASS]..." >&2 && exit 2; }
(($#)) || set -- is S is W cg S cg W ft S ft W
policy=${POLICY:-decentral}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-gcc}
flags=(-std=gnu11 -D_GNU_SOURCE -O2 -fcx-limited-range -fopenmp)
for kernel in is cg ft; do
	"$cc" "${flags[@]}" -o "$work/$kernel" bench/threads/npb/$kernel.c -lm
done
"$cc" "${flags[@]}" -o "$work/teams" bench/threads/teams.c -lpthread
"$runweir" compile "$policy" -m "smp-$(nproc)" -q -o "$work/policy.plan"
"$runweir" compile gang -m "smp-$(nproc)" -q -o "$work/gang.plan"
gomp=$target/threads/libweir_gomp.so

# Without a policy threads are bound: Linux leaves two that spin on one CPU for long where others keep the rest busy.
export OMP_PROC_BIND=true
as() { # SUBJECT COMMAND...
	case $1 in
	libgomp) "${@:2}" ;;
	ours) LD_PRELOAD=$gomp "${@:2}" ;;
	"$policy") WEIR_THREADS_PLAN=$work/policy.plan LD_PRELOAD=$target/threads/libweir_preload.so:$gomp "${@:2}" ;;
	gang) WEIR_THREADS_GANGS=$(<"$work/manifests") WEIR_THREADS_PLAN=$work/gang.plan LD_PRELOAD=$target/threads/libweir_preload.so:$gomp "${@:2}" ;;
	esac
}

# Short ones are repeated, so that a run takes a tenth of a second or more.
declare -A repeats=([isS]=300 [isW]=20 [cgS]=8 [cgW]=2 [ftS]=6 [ftW]=2)

while (($#)); do
	for ((i = 0; i < pairs; i++)); do
		for subject in libgomp ours "$policy"; do
			as "$subject" "$work/$1" "$2" "${repeats[$1$2]:-1}" | jq -c --arg s "$subject" '. + {subject: $s}'
		done
	done | jq -sc --arg by libgomp '
		def median: sort | .[length / 2 | floor];
		. as $all | [.[] | select(.subject == $by)] as $base
		| [.[].subject] | unique[] | . as $s
		| [$all[] | select(.subject == $s)] as $own
		| {kernel: $own[0].kernel, class: $own[0].class, threads: $own[0].threads, subject: $s, runs: ($own | length),
		   verified: ([$own[].verified] | all), seconds: ([$own[].seconds] | median), cpu_seconds: ([$own[].cpu_seconds] | median),
		   ratio: ([range($own | length) | $own[.].seconds / $base[.].seconds] | median),
		   cpu_ratio: ([range($own | length) | $own[.].cpu_seconds / $base[.].cpu_seconds] | median)}'
	shift 2
done

# Two teams of as many threads as there are CPUs, which spin at their barriers.
n=$(nproc)
printf 'threads %d\nH 8 20\n' "$n" >"$work/manifest"
printf '%s\n%s\n' "$work/manifest" "$work/manifest" >"$work/manifests"
for work_us in 10 50 200; do
	for ((i = 0; i < pairs; i++)); do
		for subject in libgomp "$policy" gang; do
			OMP_PROC_BIND=false OMP_WAIT_POLICY=active as "$subject" "$work/teams" 2 "$n" $work_us 1 | jq -c --arg s "$subject" '. + {subject: $s}'
		done
	done | jq -sc '
		def median: sort | .[length / 2 | floor];
		. as $all | [.[].subject] | unique[] | . as $s
		| [$all[] | select(.subject == $s)] as $own
		| {teams: $own[0].teams, threads: $own[0].threads, work_us: $own[0].work_us, subject: $s, runs: ($own | length),
		   rounds_per_s: ([$own[] | .rounds_per_s | add] | median), cpu_us_per_round: ([$own[].cpu_us_per_round] | median)}'
done
