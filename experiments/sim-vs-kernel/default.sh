#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The topology `linux` in the simulator beside Linux's own default scheduler in the virtual machine: the same rt-app files and
# machines, and the error of each metric.
#
#   experiments/sim-vs-kernel/default.sh [--quick | --simulate] [MACHINE/WORKLOAD...]
#
# All cases, or those that are named (smp-4/mix). RUNWEIR names the program (default: target/release/runweir), TOPOLOGY what stands for Linux (default: linux), KEEP a folder for
# the kernel's traces. JOBS cases run at a time (default 1). Writes data/default/kernel/*.csv, what the kernel did, a line
# a thread; data/default/*.csv, both sides; and data/default-errors.csv, a line a case. --simulate takes the kernel's side as it
# was recorded, and needs no virtual machine; --quick runs one case into a temporary folder. Needs jq.
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../begin.sh"
scratch
cases=(
	smp-1/periodic smp-1/mix smp-1/pipeline smp-4/periodic smp-4/mix smp-4/pipeline smp-1/apart smp-4/apart numa-smt-8/mix numa-smt-8/periodic
	numa-smt-8/pipeline hybrid-4/periodic hybrid-4/mix hybrid-4/pipeline
)
data=data/default
errors=data/default-errors.csv
recorded=
case ${1:-} in
--quick)
	cases=(smp-1/periodic)
	data=$work/data
	errors=/dev/null
	shift
	;;
--simulate)
	recorded=y
	shift
	;;
esac
for case in "$@"; do
	[[ " ${cases[*]} " == *" $case "* ]] || { echo "$0: no case $case; there are: ${cases[*]}" >&2; exit 2; }
done
(($#)) && cases=("$@")
mkdir -p "$data/kernel"

# A line a thread: name, CPU time in us, p50, p95, p99 of the wakeup latency in us, migrations, preemptions, times it got a CPU.
simulated() { # SUMMARY
	jq -r '.tasks[] | [.name, (.cpu_ns / 1000 | floor), (.wakeup_latency_ns | .p50, .p95, .p99 | . / 1000 | floor), .migrations,
		.preemptions, .switches] | @csv' "$1" | tr -d '"' | sort
}

# The same of a trace. The kernel knows threads by name alone: they are numbered in the order of their birth, as the simulator
# numbers the threads of an rt-app file.
traced() { # TRACE NAMES
	awk -f threads.awk "$1" | sort -n | awk -F'\t' -v names="$2" '
		BEGIN { split(names, list, " "); for (i in list) wanted[list[i]] }
		function at(part,   i) { i = int(n * part + .999); return n ? v[i < 1 ? 1 : i] : 0 }
		{
			name = $2
			sub(/-[0-9]+$/, "", name)
			if (!(name in wanted)) next
			n = NF - 7
			for (i = 1; i <= n; i++) {
				for (j = i - 1; j > 0 && v[j] > $(i + 7) + 0; j--) v[j + 1] = v[j]
				v[j + 1] = $(i + 7) + 0
			}
			printf "%s-%d,%d,%d,%d,%d,%d,%d,%d\n", name, born++, $3, at(.5), at(.95), at(.99), $7, $6, $4
		}' | sort
}

# What the kernel does under rt-app, into $out/kernel.
record() {
	mkdir -p "$out/kernel"
	if [[ $machine == hybrid-4 ]]; then
		./hybrid.sh "$out/w.json" "$out/kernel"
	else
		"$runweir" vm --quiet -m "$m" --record "$out/kernel" --icount --timeout 900s --with "$out/w.json" \
			--with "$PWD/trace.sh" -- sh "$PWD/trace.sh" "$out/w.json"
	fi >"$out/log" 2>&1 || { tail -20 "$out/log" >&2; return 1; }
	if [[ -n ${KEEP:-} ]]; then
		mkdir -p "$KEEP/$key"
		cp "$out/kernel/"{trace,settings} "$KEEP/$key/"
	fi
}

one() { # CASE
	local machine workload m out key names more=()
	IFS=/ read -r machine workload <<<"$1"
	key=$machine-$workload
	m=$machine
	[[ -e $m.toml ]] && m=./$m.toml
	out=$work/$key
	mkdir -p "$out"
	cp "$workload.json" "$out/w.json"
	# One CPU computes as fast as its clock says, so work can be work; several take turns (see README.md).
	if [[ $machine == smp-1 ]]; then
		sed -i 's/"runtime"/"run"/; s/"calibration" : 100/"calibration" : "CPU0"/' "$out/w.json"
	fi
	# arm64 kernels have no HRTICK: turns end at ticks.
	[[ $machine == hybrid-4 ]] && more=(--set eevdf.tick=4ms)
	"$runweir" run --quiet -t "${TOPOLOGY:-linux}" "${more[@]}" -m "$m" -w "$out/w.json" --json >"$out/sim.json"
	names=$(jq -r '[.tasks[].group] | unique | join(" ")' "$out/sim.json")
	if [[ -z $recorded ]]; then
		record
		traced "$out/kernel/trace" "$names" >"$data/kernel/$key.csv"
	fi
	simulated "$out/sim.json" >"$out/sim.csv"
	join -t , "$out/sim.csv" "$data/kernel/$key.csv" >"$out/joined.csv"
	[[ $(wc -l <"$out/joined.csv") == $(wc -l <"$out/sim.csv") ]] ||
		{ echo "$1: the kernel's recording lacks threads of the workload" >&2; return 1; }
	awk -F, -v OFS=, -v of="$machine,linux,$workload" '{
		print of, $1, int($2 / 1000), int($9 / 1000), $3, $10, $4, $11, $5, $12, $6, $13, $7, $14, $8, $15
	}' "$out/joined.csv" >"$data/$machine-linux-$workload.csv"
	echo "$1: done" >&2
}

failed=0
for case in "${cases[@]}"; do
	while (($(jobs -rp | wc -l) >= ${JOBS:-1})); do wait -n || failed=1; done
	one "$case" &
done
while (($(jobs -p | wc -l) > 0)); do wait -n || failed=1; done
./errors.sh "$data" | tee "$errors"
exit $failed
