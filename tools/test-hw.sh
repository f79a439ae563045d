#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The hardware, as far as seconds go: Verilator's lint, the module for Zephyr and the script for Vivado against stand-ins, the programs in
# docs/hardware-integration.md. Proofs and twins: make hw-prove, make hw-test.
set -euo pipefail
cd "$(dirname "$0")/.."

{
	echo "#define ENGINE 0x40000000u"
	sed -n '/^```c$/,/^```$/{ /^```/d; p; }' docs/hardware-integration.md
} | cc -x c -ffreestanding -fsyntax-only -Wall -Wextra -Werror -I hw/sw -
hw/bench/zephyr/bench.sh
if command -v tclsh >/dev/null 2>&1; then tclsh hw/board/zynq/check.tcl; else echo "skipped: the script for Vivado: no tclsh here"; fi

if ! command -v verilator >/dev/null 2>&1; then
	echo "skipped: no Verilator here: run \`make hw-setup\`"
	exit 77
fi
tools/hw-lint.sh
