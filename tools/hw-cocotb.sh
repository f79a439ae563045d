#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The engine and the board as their users see them, in cocotb benches (hw/cocotb) on Verilator: a master of each bus drives
# an engine, and a reference in Python checks its choices; weir_ulx3s runs a program, read from its serial port and LEDs; a
# LiteX SoC runs one, read from its LEDs.
#
#   tools/hw-cocotb.sh [DECISIONS]
#
# DECISIONS: how many each policy makes in each size, 60 unless given. Ends with 77 without the tools (`make hw-setup`).
set -euo pipefail
cd "$(dirname "$0")/.."

decisions=${1:-60}
if [[ ! $decisions =~ ^[1-9][0-9]*$ ]]; then
	echo "hw-cocotb: $decisions: decisions are a number" >&2
	exit 2
fi
if ! tools=$(tools/hw-setup.sh --where) || ! bin=$(tools/hw-setup.sh --cocotb) ||
	! command -v riscv64-unknown-elf-gcc >/dev/null 2>&1; then
	echo "skipped: no cocotb, core or RISC-V compiler here: run \`make hw-setup\`"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hw/board/ulx3s/build.sh --hex --out "$work" -D TICK=3000 -D TICKS=50

echo "hw-cocotb: the LiteX SoC and its program" >&2
mkdir "$work/litex"
"$bin/python3" hw/board/litex/soc.py "$work/litex" >"$work/litex/soc.log" 2>&1 || { tail -5 "$work/litex/soc.log" >&2 && exit 1; }
riscv64-unknown-elf-gcc -march=rv32im -mabi=ilp32 -O2 -ffreestanding -nostdlib -nostartfiles -Wall -I "$work/litex" -I hw/sw \
	-T "$work/litex/program.ld" hw/board/litex/tasks.c -o "$work/litex/program.elf"
riscv64-unknown-elf-objcopy -O verilog --verilog-data-width=4 "$work/litex/program.elf" "$work/litex/weir_litex_rom.init"

packages=$(echo "$bin"/../lib/python3*/site-packages)
core=$(echo "$tools"/../lib/python3*/site-packages/pythondata_cpu_picorv32/verilog/picorv32.v)
version=$(sed -n 's/^version = "\([0-9]*\.[0-9]*\)\..*/\1/p' Cargo.toml | head -1)
# That Verilator was built elsewhere: which compilers, and how they take a precompiled header, is told here.
PATH=$packages/verilator/bin:$bin:$PATH MAKEFLAGS="CXX=c++ LINK=c++ AR=ar PYTHON3=python3 CFG_CXXFLAGS_PCH_I=-include" \
	PYTHONWARNINGS=ignore COCOTB_REDUCED_LOG_FMT=1 \
	"$bin/python3" hw/cocotb/run.py "$work" "$decisions" "$version" "$core"
