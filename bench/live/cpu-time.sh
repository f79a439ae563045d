#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# CPU time of four loads under topologies, beside the kernel's own scheduler in the same guest of four CPUs, by counted instructions: elapsed
# time is the sum of what all CPUs execute. Prints CSV and, on standard error, a table of ratios.
#
#   bench/live/cpu-time.sh [ROUNDS] [TOPOLOGY…]
#   bench/live/cpu-time.sh table FILE
#
# Without topologies: those of the catalogue that suit four equal CPUs, in sets that fit into one attachment. `least` is the smallest
# scheduler for sched_ext (fifo.bpf.c). RUNWEIR and PROBE name programs that are built already.
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
		"llf-tick edf-tick edzl-tick llref lre-tl dp-wrap u-edf run pd2 er-pd2 epdf"
		"mllf p-mllf p-edzl c-edf"
		"p-llf edf-us edzl p-edf rbed edf-vd"
		"p-rm p-dm p-fp p-edf-vd p-cbs gang cool thrifty paced"
		"grows tenants pipeline pipeline_fcfs pipeline_lcfs"
	)
fi
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip -o "$work/runweir" "${RUNWEIR:-$target/debug/runweir}"
strip -o "$work/probe" "${PROBE:-$target/debug/examples/probe}"
cp bench/live/{cpu-time-guest,attach}.sh "$work/"
"${WEIR_CLANG:-clang-19}" -target bpf -mcpu=v4 -O2 -g -std=gnu11 -ffreestanding -fno-builtin -Wall -Wno-unused-function \
	-I core/include -I core/port/bpf -I runtimes/linux -c bench/live/fifo.bpf.c -o "$work/fifo.bpf.o"
least=(--with "$work/probe" --with "$work/fifo.bpf.o")
"${CC:-cc}" -O2 -static bench/live/work.c -o "$work/work"
for set in "${sets[@]}"; do
	# shellcheck disable=SC2086 # a set is words
	"$work/runweir" vm --quiet --icount --turn 200us --accel tcg --cpus 4 --memory 2GiB --timeout 7200s --with "$work/work" --with "$work/cpu-time-guest.sh" --with "$work/attach.sh" "${least[@]}" \
		-- sh "$work/cpu-time-guest.sh" "$rounds" $set || { echo "cpu-time: failed: $set" >&2 && touch "$work/failed"; }
	least=()
done | tee "$work/csv"
table "$work/csv" >&2
[[ ! -e $work/failed ]]
