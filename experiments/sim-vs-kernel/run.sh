#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The same rt-app file, machine and topology in the simulator and in a Linux kernel, side by side.
#
#   experiments/sim-vs-kernel/run.sh [--quick | MACHINE/TOPOLOGY/WORKLOAD...]
#
# All cases, or those that are named (smp-4/worksteal/mix). RUNWEIR names the program (default: target/release/runweir), DATA
# the folder for the results (default: data beside this file), TURN that of the emulated CPUs. JOBS cases run at a time
# (default 1). Writes a file a case, a line a task, and errors.csv; --quick runs one case into a temporary folder and only
# checks that both sides deliver. Needs jq beside what `make setup` installs.
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../begin.sh"
scratch

cases=(
	smp-1/decentral/periodic smp-4/decentral/mix smp-4/decentral/periodic smp-1/decentral/mix
	smp-4/worksteal/mix smp-4/decentral/pipeline numa-smt-8/decentral/periodic smp-1/priority/periodic
	smp-4/worksteal/periodic numa-smt-8/worksteal/mix smp-1/decentral/pipeline smp-4/worksteal/pipeline
	smp-1/decentral/together smp-4/decentral/together smp-1/decentral/apart smp-4/decentral/apart smp-4/worksteal/apart
)
data=${DATA:-data}
if [[ ${1:-} == --quick ]]; then
	cases=(smp-1/decentral/periodic)
	data=$work/data
elif (($#)); then
	for case in "$@"; do
		[[ " ${cases[*]} " == *" $case "* ]] || { echo "$0: no case $case; there are: ${cases[*]}" >&2; exit 2; }
	done
	cases=("$@")
fi
mkdir -p "$data"

# One line for each of the tasks with these numbers, in the order of their birth: name, CPU time, p50, p95, p99 of the wakeup latency
# in us, migrations, preemptions, switches.
figures() { # SUMMARY NUMBERS
	jq -r --arg numbers "$2" '($numbers | split(" ") | map(tonumber)) as $n | [.tasks[] | select(.id | IN($n[]))] | sort_by(.id)[]
		| [.name, (.cpu_ns / 1000), .wakeup_latency_ns.p50 / 1000, .wakeup_latency_ns.p95 / 1000, .wakeup_latency_ns.p99 / 1000,
		   .migrations, .preemptions, .switches] | @tsv' "$1"
}

# The threads that rt-app made. They are known by the order of their birth, which is that of the file: a thread has its maker's name
# until it gives itself its own, and a recording may miss that where CPUs are slow.
threads() { # THREADS.CSV
	awk -F, '$4 == "rt-app" && $2 == $3 { maker = $2 } { id[NR] = $1; pid[NR] = $2; process[NR] = $3 }
		END { for (i = 2; i <= NR; i++) if (process[i] == maker && pid[i] != maker) { printf "%s%d", sep, id[i]; sep = " " } }' "$1"
}

one() { # CASE
	local machine topology workload m out
	IFS=/ read -r machine topology workload <<<"$1"
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
	"$runweir" vm --quiet -m "$m" -t "$topology" --only --record "$out/kernel" --icount --turn "${TURN:-5us}" --timeout 900s \
		--with "$out/w.json" -- rt-app "$out/w.json" >"$out/log" 2>&1 || { tail -20 "$out/log" >&2; return 1; }
	figures "$out/sim/summary.json" "$(jq -r '[.tasks[].id] | join(" ")' "$out/sim/summary.json")" >"$out/sim.tsv"
	figures "$out/kernel/summary.json" "$(threads "$out/kernel/threads.csv")" >"$out/kernel.tsv"
	[[ $(wc -l <"$out/kernel.tsv") == $(wc -l <"$out/sim.tsv") ]] ||
		{ echo "$1: the kernel's recording lacks threads of the workload" >&2; return 1; }
	# Whose name is known must be the one of that place.
	paste "$out/sim.tsv" "$out/kernel.tsv" | awk -F'\t' -v OFS='\t' '{
		name = $1
		sub(/-[0-9]+$/, "", name)
		if ($9 != "rt-app" && $9 != name) exit 1
		$1 = name "-" NR - 1
		print
	}' | sort >"$out/joined.tsv" || { echo "$1: the threads were not made in the order of the file" >&2; return 1; }
	awk -F'\t' -v OFS=, -v of="$machine,$topology,$workload" '{
		print of, $1, int($2 / 1000), int($10 / 1000), int($3), int($11), int($4), int($12), int($5), int($13), $6, $14, $7, $15, $8, $16
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
