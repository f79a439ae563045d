#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# `runweir soc` on simulated cores: the same programs on the four systems, periodic tasks with ticks that are shorter than a switch
# on 1, 2 and 4 CPUs with and without the engine; what the systems measure has the order that it should have. Building the
# simulators takes minutes the first time. With WEIR_LONG a million switches. Ends with 77 without the tools.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v verilator >/dev/null 2>&1 || ! command -v riscv64-unknown-elf-gcc >/dev/null 2>&1 ||
	! tools/hw-setup.sh --where >/dev/null; then
	echo "skipped: no Verilator, RISC-V compiler or core here: run \`make hw-setup\`"
	exit 77
fi
tools/programs.sh
runweir=${CARGO_TARGET_DIR:-target}/debug/runweir
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# SYSTEM CPUS OUT APP…: run it; its status says whether its own checks hold.
soc() {
	"$runweir" soc --quiet --system "$1" --cpus "$2" --tasks 16 --out "$work/$3" -- "${@:4}" ||
		{ echo "test-soc: ${*:4} on $1 with $2 CPUs failed" >&2 && exit 1; }
}

for system in software threaded unified hardware; do
	soc $system 1 "base-$system" base N=20
	soc $system 1 "hackbench-$system" hackbench
	soc $system 1 "web-$system" web REQUESTS=60
	soc $system 1 "load-$system" load PERIOD=20000 ROUNDS=20000
	soc $system 1 "decode-$system" decode FRAMES=10
done
ticks=400
[[ -z ${WEIR_LONG:-} ]] || ticks=300000
for system in tick engine; do
	for cpus in 1 2 4; do
		# With the engine a tick is shorter than a switch: contexts are asked for before they are saved.
		soc $system $cpus "periodic-$system-$cpus" periodic TICKS=$ticks TICK=$([[ $system == engine ]] && echo 400 || echo 6000) SECTION=1 LOAD=90
	done
done
python3 - "$work" <<-'END2'
	import json, sys
	def soc(name):
	    return json.load(open(f"{sys.argv[1]}/{name}/summary.json"))["soc"]
	def figure(app, system, what):
	    return soc(f"{app}-{system}")["figures"][what]
	systems = ["software", "threaded", "unified", "hardware"]
	bad = []
	def check(what, *values):
	    if not all(a > b for a, b in zip(values, values[1:])):
	        bad.append(f"{what}: {values} should fall")
	s, t, u, h = [figure("base", x, "schedule_mean") for x in systems]
	check("schedule", s, u, h)
	check("mutex", *[figure("base", x, "mutex_mean") for x in ("software", "unified", "hardware")])
	check("loop beside interrupts", *[figure("load", x, "loop") for x in ("software", "threaded", "unified")])
	check("hackbench", *[figure("hackbench", x, "total") for x in ("software", "unified", "hardware")])
	for cpus in (1, 2, 4):
	    for system in ("tick", "engine"):
	        got = soc(f"periodic-{system}-{cpus}")
	        if got["figures"]["wrong"] or not got["figures"]["jobs"]:
	            bad.append(f"periodic on {system} with {cpus} CPUs: {got['figures']}")
	        print(f"{system}, {cpus} CPUs: {got['kernel']['count']} times in the kernel, {got['figures']['jobs']} jobs, none wrong")
	print("\n".join(bad))
	sys.exit(bool(bad))
END2
echo "test-soc: all well"
