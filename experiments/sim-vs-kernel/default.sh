#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The topology `linux` in the simulator beside Linux's own default scheduler in the virtual machine: the same rt-app files and
# machines, and the error of each metric.
#
#   experiments/sim-vs-kernel/default.sh [--quick]
#   experiments/sim-vs-kernel/default.sh --from SUMMARY.json RECORDING CASE     # compare what is there
#
# RUNWEIR names the program (default: target/release/runweir). Writes data/default/*.csv, a line a thread, and
# data/default-errors.csv, a line a case. --quick runs one case into a temporary folder. Needs jq.
set -euo pipefail
cd "$(dirname "$0")"
runweir=${RUNWEIR:-../../target/release/runweir}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=("smp-1 periodic" "smp-1 mix" "smp-1 pipeline" "smp-4 periodic" "smp-4 mix" "smp-4 pipeline" "numa-smt-8 mix")
data=data/default

# A line a thread: name, CPU time in us, p50, p95, p99 of the wakeup latency in us, migrations, preemptions.
simulated() { # SUMMARY
	jq -r '.tasks[] | [.name, (.cpu_ns / 1000), .wakeup_latency_ns.p50 / 1000, .wakeup_latency_ns.p95 / 1000,
		.wakeup_latency_ns.p99 / 1000, .migrations, .preemptions] | @tsv' "$1" | sort
}

# The same of the kernel: counts from the samples, latencies from rt-app's own logs (the column wu_lat, us). Threads without a
# number are numbered in the order of their birth, as the simulator numbers them.
recorded() { # FOLDER
	awk '{ last[$1] = $0 } END { for (t in last) print last[t] }' "$1/samples" | sort -n |
		awk '$2 != "rt-app" { if ($2 !~ /-[0-9]+$/) $2 = $2 "-" n + 0; n++; print }' |
		while read -r _ name ran _ _ moves _ involuntary; do
			log=$(ls "$1"/*"$name".log 2>/dev/null | head -1 || true)
			p50=0 p95=0 p99=0
			if [[ -n $log ]]; then
				read -r p50 p95 p99 < <(awk '!/^#/ && NF { print $NF }' "$log" | sort -n | awk '{ v[NR] = $1 }
					END { print v[int((NR + 1) * .5)] + 0, v[int(NR * .95 + .999)] + 0, v[int(NR * .99 + .999)] + 0 }')
			fi
			printf '%s\t%d\t%s\t%s\t%s\t%d\t%d\n' "$name" $((ran / 1000)) "$p50" "$p95" "$p99" "$moves" "$involuntary"
		done | sort
}

compare() { # SUMMARY RECORDING CASE
	mkdir -p "$data"
	join -t $'\t' <(simulated "$1") <(recorded "$2") >"$work/joined.tsv"
	[[ -s $work/joined.tsv ]] || { echo "$3: the recording has none of the workload's threads" >&2; return 1; }
	awk -F'\t' -v OFS=, -v case="$3" '{
		print case, $1, int($2 / 1000), int($8 / 1000), int($3), int($9), int($4), int($10), int($5), int($11), $6, $12, $7, $13
	}' "$work/joined.tsv" >"$data/${3//,/-}.csv"
}

one() { # CASE
	local machine workload m out
	read -r machine workload <<<"$1"
	m=$machine
	[[ -e $m.toml ]] && m=./$m.toml
	out=$work/$machine-$workload
	mkdir -p "$out"
	sed 's|"global" : {|"global" : { "logdir" : "./", "log_basename" : "log",|' "$workload.json" >"$out/w.json"
	if [[ $machine == smp-1 ]]; then
		sed -i 's/"runtime"/"run"/; s/"calibration" : 100/"calibration" : "CPU0"/' "$out/w.json"
	fi
	"$runweir" run --quiet -t linux -m "$m" -w "$out/w.json" --json >"$out/sim.json"
	"$runweir" vm --quiet -m "$m" --record "$out/kernel" --icount --timeout 900s --with "$out/w.json" --with "$PWD/sample.sh" \
		-- sh -c "cd \$RUNWEIR_RECORD && sh $PWD/sample.sh $out/w.json" >"$out/log" 2>&1 ||
		{ tail -20 "$out/log" >&2; return 1; }
	compare "$out/sim.json" "$out/kernel" "$machine,linux,$workload"
	echo "$1: done" >&2
}

if [[ ${1:-} == --from ]]; then
	data=$work/data
	compare "$2" "$3" "$4"
	cat "$data"/*.csv
	exit
fi
[[ -x $runweir ]] || { echo "$0: no $runweir; run \`make build\`, or set RUNWEIR" >&2; exit 2; }
runweir=$(realpath "$runweir")
errors=data/default-errors.csv
if [[ ${1:-} == --quick ]]; then
	cases=("smp-1 periodic")
	data=$work/data
	errors=/dev/null
fi
failed=0
for case in "${cases[@]}"; do one "$case" || failed=1; done
./errors.sh "$data" | tee "$errors"
exit $failed
