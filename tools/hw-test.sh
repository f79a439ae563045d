#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The hardware against the software: lint, then the RTL as simulated by Verilator in lock step with its model and with the
# components, and as the scheduler of simulated machines. A difference is printed with the path of a waveform (FST) of the ticks before it.
#
#   tools/hw-test.sh [DECISIONS]
#
# DECISIONS: how many each comparison lasts, 20,000 unless given. Ends with 77 without Verilator (`make hw-setup`).
set -euo pipefail
cd "$(dirname "$0")/.."

decisions=${1:-20000}
if [[ ! $decisions =~ ^[1-9][0-9]*$ ]]; then
	echo "hw-test: $decisions: decisions are a number" >&2
	exit 2
fi
if ! command -v verilator >/dev/null 2>&1; then
	echo "skipped: no Verilator here: run \`make hw-setup\`"
	exit 77
fi
tools/hw-lint.sh
# The waveforms in docs/hardware.md are what the RTL does.
if tools/hw-setup.sh --where >/dev/null; then hw/waves/waves.sh --check; fi
hw/bench/masters.sh
# Many decisions are worth an optimised build, which takes minutes itself.
build=()
((decisions < 100000)) || build=(--release)
WEIR_HW_DECISIONS=$decisions cargo test --locked "${build[@]}" -p weir-hw --features verilated -- --nocapture
