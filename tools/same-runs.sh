#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Two builds simulate the same, byte by byte: summary, tasks, jobs, wake-ups and trace of every topology of the catalogue on
# machines and workloads of every kind, or the same refusal.
#
#   tools/same-runs.sh OLD NEW             each topology with one of the pairs of machine and workload in turn
#   tools/same-runs.sh OLD NEW --full      with each of them (5,000 runs a build)
#   tools/same-runs.sh OLD NEW --only T    one topology, with each
#
# For a change of the simulator that must not change what it simulates: OLD is a runweir of the commit before. What differs is
# listed with the command that shows it. Only `wall_ns`, the time that a run took, may differ.
set -euo pipefail

if (($# < 2)) || [[ ! -x $1 || ! -x $2 ]]; then
	echo "usage: tools/same-runs.sh OLD NEW [--full | --only TOPOLOGY], OLD and NEW being programs" >&2
	exit 2
fi
old=$(realpath "$1") new=$(realpath "$2") how=${3:-} only=${4:-}
cd "$(dirname "$0")/.."
# Machine, workload, virtual time; where it matters: hosted CPUs, threads of a core, clocks, heat, domains, foreign instruction sets, hotplug, counters, guests, gangs.
pairs=(
	"smp-4 bench:cpus=4 60ms" "smp-64 bench:cpus=64 20ms" "smp-1 bench:cpus=1,load=110% 200ms"
	"dual-socket hackbench:groups=2,loops=20 40ms" "big-little audio 100ms" "desktop game 60ms" "hot-8 render 200ms"
	"hosted mixed-isa 60ms" "dsp-board mixed-isa 60ms" "npu-board npu 60ms" "hotplug hotplug 100ms" "smp-4 locks 100ms"
	"smp-2 pathfinder 300ms" "smp-4 groups 100ms" "eight-nodes compile 60ms" "smp-8 web 60ms" "smp-8 caches 40ms" "smp-4 virtual 60ms"
	"smp-4 virtual-gang 60ms" "smp-4 tenants 60ms" "smp-4 grow-and-shrink 100ms" "phone video 100ms" "smp-4 robot 100ms"
	"smp-4 avionics 200ms" "smp-2 anomaly 100ms" "throttled rush 100ms" "smp-4 vision 100ms" "ring-32 bench:cpus=32 20ms"
)
costs=(default zero source default)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nr=0
for path in topologies/*.weir; do
	topology=$(basename "$path" .weir)
	[[ -z $only || $only == "$topology" ]] || continue
	for i in "${!pairs[@]}"; do
		if [[ $how == --full || $how == --only ]]; then
			for c in default zero; do echo "$topology ${pairs[i]} $c $nr"; done
		elif ((i % 7 == nr % 7)); then
			echo "$topology ${pairs[i]} ${costs[(nr + i) % 4]} $nr"
		fi
	done
	nr=$((nr + 1))
done >"$work/all"

one() { # TOPOLOGY MACHINE WORKLOAD DURATION COSTS SEED
	local dir build
	dir=$(mktemp -d -p "$work")
	for build in old new; do
		"${!build}" run -t "$1" -m "$2" -w "$3" --duration "$4" --costs "$5" --seed "$6" --json -o "$dir/$build" \
			>"$dir/$build.json" 2>"$dir/$build.err" && code=0 || code=$?
		echo "exit $code" >>"$dir/$build.json"
		# The place where results are written, and how long it took.
		sed -i -E 's/"wall_ns": ?[0-9]+/"wall_ns": 0/' "$dir/$build.json"
		sed -i "s|$dir/$build|OUT|g" "$dir/$build.err"
		[[ ! -d $dir/$build ]] || sed -i -E 's/"wall_ns": ?[0-9]+/"wall_ns": 0/' "$dir/$build/summary.json"
		[[ ! -d $dir/$build ]] || rm -f "$dir/$build/report.html"
	done
	local word=same
	grep -q '^exit 0' "$dir/old.json" || word=refused
	if ! cmp -s "$dir/old.json" "$dir/new.json" || ! cmp -s "$dir/old.err" "$dir/new.err" ||
		{ [[ -d $dir/old || -d $dir/new ]] && ! diff -rq "$dir/old" "$dir/new" >/dev/null; }; then
		word=differs
	fi
	echo "$word -t $1 -m $2 -w $3 --duration $4 --costs $5 --seed $6"
	rm -rf "$dir"
}
export -f one
export old new work
xargs -P "$(nproc)" -L 1 bash -c 'one "$@"' one <"$work/all" >"$work/results"
grep '^differs' "$work/results" | sort | head -100 | sed 's/^differs/differs: runweir run/' || true
sort "$work/results" | awk '{ n[$1]++ } END { printf "same-runs: %d the same, %d refused alike, %d differ\n", n["same"], n["refused"], n["differs"]; exit n["differs"] > 0 }'
