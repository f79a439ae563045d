#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Several masters of weir_kernel at once: a CPU and two accelerators that are threads of it add to one number under one mutex. Ends with
# 77 without Verilator.
#
#   hw/bench/masters.sh [ROUNDS]
#
# ROUNDS: how often each of them adds, 200 unless given.
set -euo pipefail
hw=$(cd "$(dirname "$0")/.." && pwd)
rounds=${1:-200}
if ! [[ $rounds =~ ^[1-9][0-9]{0,6}$ ]]; then
	echo "masters: $rounds: rounds are a number" >&2
	exit 2
fi
if ! command -v verilator >/dev/null 2>&1; then
	echo "skipped: no Verilator here: run \`make hw-setup\`"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
verilator --cc --exe --build -j 1 -Wall -O2 --x-initial unique --Mdir "$work" -y "$hw/rtl" -CFLAGS "-I$hw/sw -O1" -GRounds="$rounds" \
	--top-module weir_masters "$hw/rtl/weir_regs_pkg.sv" "$hw/bench/weir_masters.sv" "$hw/bench/masters.cpp" >"$work/log" 2>&1 ||
	{ grep -m 20 -i -A4 "error\|warn" "$work/log" >&2 && exit 1; }
"$work/Vweir_masters" "$rounds"
