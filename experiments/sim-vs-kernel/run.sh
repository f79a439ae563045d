#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The same rt-app file, machine and topology in the simulator and in a Linux kernel, side by side.
#
#   experiments/sim-vs-kernel/run.sh [--quick]
#
# RUNWEIR names the program (default: target/release/runweir). JOBS cases run at a time (default 1). Writes data/*.csv beside
# this file, a line a task; --quick runs one case
# into a temporary folder and only checks that both sides deliver. Needs jq beside what `make setup` installs.
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../begin.sh"
scratch

# machine, topology, workload
cases=(
	"smp-1 decentral periodic" "smp-4 decentral mix" "smp-4 decentral periodic" "smp-1 decentral mix"
	"smp-4 worksteal mix" "smp-4 decentral pipeline" "numa-smt-8 decentral periodic" "smp-1 priority periodic"
	"smp-4 worksteal periodic" "numa-smt-8 worksteal mix" "smp-1 decentral pipeline" "smp-4 worksteal pipeline"
)
data=data
if [[ ${1:-} == --quick ]]; then
	cases=("smp-1 decentral periodic")
	data=$work/data
fi
mkdir -p "$data"

# One line a task: name, CPU time, p50, p95, p99 of the wakeup latency in us, migrations, preemptions, switches. The simulator numbers
# the threads of an rt-app file; the kernel has their names alone, so they are numbered here, in the order of their birth.
tasks() { # SUMMARY NAMES [THREADS]
	jq -r --arg names "$2" '($names | split(" ")) as $n | .tasks[] | select(.name | sub("-[0-9]+$"; "") | IN($n[]))
		| [.name, (.cpu_ns / 1000), .wakeup_latency_ns.p50 / 1000, .wakeup_latency_ns.p95 / 1000, .wakeup_latency_ns.p99 / 1000,
		   .migrations, .preemptions, .switches, .id] | @tsv' "$1" | sort -t $'\t' -n -k 9 |
		awk -F'\t' -v OFS='\t' '{ if ($1 !~ /-[0-9]+$/) $1 = $1 "-" NR - 1; NF = 8; print }' | sort
}

one() { # CASE
	local machine topology workload m out names
	read -r machine topology workload <<<"$1"
	m=$machine
	[[ -e $m.toml ]] && m=./$m.toml
	out=$work/$machine-$topology-$workload
	mkdir -p "$out"
	cp "$workload.json" "$out/w.json"
	# One CPU computes as fast as its clock says, so work can be work; several take turns (see README.md).
	if [[ $machine == smp-1 ]]; then
		sed -i 's/"runtime"/"run"/; s/"calibration" : 100/"calibration" : "CPU0"/' "$out/w.json"
	fi
	"$runweir" run --quiet -t "$topology" -m "$m" -w "$out/w.json" --out "$out/sim" 2>"$out/err" || { cat "$out/err" >&2; return 1; }
	"$runweir" vm --quiet -m "$m" -t "$topology" --record "$out/kernel" --icount --timeout 900s \
		--with "$out/w.json" -- rt-app "$out/w.json" >"$out/log" 2>&1 || { tail -20 "$out/log" >&2; return 1; }
	names=$(jq -r '[.tasks[].group] | unique | join(" ")' "$out/sim/summary.json")
	tasks "$out/sim/summary.json" "$names" >"$out/sim.tsv"
	tasks "$out/kernel/summary.json" "$names" >"$out/kernel.tsv"
	join -t $'\t' "$out/sim.tsv" "$out/kernel.tsv" >"$out/joined.tsv"
	[[ $(wc -l <"$out/joined.tsv") == $(wc -l <"$out/sim.tsv") ]] ||
		{ echo "$1: the kernel's recording lacks threads of the workload" >&2; return 1; }
	awk -F'\t' -v OFS=, -v case="$machine,$topology,$workload" '{
		print case, $1, int($2 / 1000), int($9 / 1000), int($3), int($10), int($4), int($11), int($5), int($12), $6, $13, $7, $14, $8, $15
	}' "$out/joined.tsv" >"$data/$machine-$topology-$workload.csv"
	echo "$1: done" >&2
}

failed=0
for case in "${cases[@]}"; do
	while (($(jobs -rp | wc -l) >= ${JOBS:-1})); do wait -n || failed=1; done
	one "$case" &
done
while (($(jobs -p | wc -l) > 0)); do wait -n || failed=1; done
./errors.sh "$data" | tee "$data/errors.csv"
exit $failed
