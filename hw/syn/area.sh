#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Area and clock of the scheduling engine by number of tasks, on an ECP5 with open tools: CSV on standard output.
#
#   hw/syn/area.sh [--quick] [--seeds N]
#
#   --quick     4, 8 and 16 tasks; else up to 64 (an hour on two cores)
#   --seeds N   placements of each size, 3 unless given: their spread is the noise of the figure
#
# The engine is the one of the source: two CPUs, LLF alone, implicit deadlines, no read-back. Needs `make hw-setup`.
set -euo pipefail
cd "$(dirname "$0")"

sizes=(4 8 16 32 50 64) seeds=3
while (($#)); do
	case $1 in
	--quick) sizes=(4 8 16) && shift ;;
	--seeds) seeds=${2:?--seeds wants a number} && shift 2 ;;
	*) sed -n '3,10s/^# \{0,1\}//p' "$(basename "$0")" >&2; exit 2 ;;
	esac
done
options=()
for ((s = 1; s <= seeds; s++)); do options+=(-s "$s"); done

echo "module,parameters,seed,luts,flip_flops,mhz"
for select in 0 2; do
	for tasks in "${sizes[@]}"; do
		./synth.sh weir_laxity -p "NumTasks=$tasks" -p "Select=$select" -p "Policies=4'b0001" \
			-p "Separation=1'b0" -p "ReadBack=1'b0" "${options[@]}"
	done
done
