#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# CPU time of four loads under topologies, beside the kernel's own scheduler in the same guest of four CPUs, by counted instructions: elapsed
# time is the sum of what all CPUs execute. Prints CSV and, on standard error, a table of ratios.
#
#   bench/live/cpu-time.sh [ROUNDS] [TOPOLOGY…]
#   bench/live/cpu-time.sh table FILE
#
# Without topologies: those of the catalogue that suit four equal CPUs, in sets that fit into one attachment. RUNWEIR names a program that is
# built already.
set -euo pipefail
cd "$(dirname "$0")/../.."

table() {
	awk -F, '
	NF != 4 { next }
	{ sum[$1, $2] += $4; n[$1, $2]++; if (!seen[$1]++) names[++nr] = $1 }
	END {
		split("hackbench spin forks messages", loads, " ")
		print "| scheduler | hackbench | eight spinners | fork tree | message passing |"
		print "|---|---|---|---|---|"
		for (k = 1; k <= nr; k++) {
			printf "| %s |", names[k]
			for (l = 1; l <= 4; l++) {
				at = names[k] SUBSEP loads[l]
				base = "default" SUBSEP loads[l]
				printf names[k] == "default" ? " %.3f s |" : " %.2f |", sum[at] / n[at] / (names[k] == "default" ? 1e9 : sum[base] / n[base])
			}
			print ""
		}
	}' "$1"
}
if [[ ${1:-} == table ]]; then
	table "$2"
	exit
fi
rounds=${1:-2}
shift $(($# < 1 ? $# : 1))
if (($#)); then
	sets=("$*")
else
	sets=(
		"decentral worksteal central global_rr fifo linux groups scx-interactive eevdf"
		"lottery cfs pmc-fair stride bvt scx-simple scx-pick-two cache-aware capacity-aware"
		"partitioned hierarchical halves headq priority postponed multipipe multipipe_postponed scaling foreign distributed chain1 chain2 chain3 chain4 chain5 chain6"
		"edf rm dm fp cbs sporadic sched-deadline rt-rr rt-fifo llf classes"
	)
fi
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip -o "$work/runweir" "${RUNWEIR:-$target/debug/runweir}"
cp bench/live/{cpu-time-guest,attach}.sh "$work/"
"${CC:-cc}" -O2 -static bench/live/work.c -o "$work/work"
for set in "${sets[@]}"; do
	# shellcheck disable=SC2086 # a set is words
	"$work/runweir" vm --quiet --icount --turn 200us --accel tcg --cpus 4 --timeout 7200s --with "$work/work" --with "$work/cpu-time-guest.sh" --with "$work/attach.sh" \
		-- sh "$work/cpu-time-guest.sh" "$rounds" $set || { echo "cpu-time: failed: $set" >&2 && touch "$work/failed"; }
done | tee "$work/csv"
table "$work/csv" >&2
[[ ! -e $work/failed ]]
