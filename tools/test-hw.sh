#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The hardware, as far as seconds go: Verilator's lint, the module for Zephyr and the script for Vivado against stand-ins, the driver
# for Linux compiled, the programs in docs/hardware-integration.md. Proofs and twins: make hw-prove, make hw-test.
set -euo pipefail
cd "$(dirname "$0")/.."

{
	echo "#define ENGINE 0x40000000u"
	sed -n '/^```c$/,/^```$/{ /^```/d; p; }' docs/hardware-integration.md
} | cc -x c -ffreestanding -fsyntax-only -Wall -Wextra -Werror -I hw/sw -
hw/bench/zephyr/bench.sh
# As the modules of a kernel are built, wherever its headers are; that writes beside the source.
headers=$(compgen -G '/lib/modules/*/build/Makefile' | tail -1 || true)
if [[ -n $headers ]]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir "$work/linux" && cp hw/sw/linux/* "$work/linux" && cp hw/sw/*.h "$work"
	make -C "${headers%/Makefile}" M="$work/linux" KCFLAGS=-Werror modules >"$work/log" 2>&1 || { tail -20 "$work/log" && exit 1; }
else
	echo "skipped: the driver for Linux: no headers of a kernel here"
fi
if command -v tclsh >/dev/null 2>&1; then tclsh hw/board/zynq/check.tcl; else echo "skipped: the script for Vivado: no tclsh here"; fi

if ! command -v verilator >/dev/null 2>&1; then
	echo "skipped: no Verilator here: run \`make hw-setup\`"
	exit 77
fi
tools/hw-lint.sh
