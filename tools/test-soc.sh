#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# `runweir soc` on simulated cores: the same programs on the four systems, and on 2 and 4 CPUs of the one in hardware, FreeRTOS with tasks of the engine, periodic tasks with ticks that are shorter than a switch
# on 1, 2 and 4 CPUs with and without the engine; what the systems measure has the order that it should have. Building the
# simulators takes minutes the first time. With WEIR_LONG a million switches on the engine with each number of CPUs (ten minutes of
# computing each). Ends with 77 without the tools.
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
# Threads move between CPUs; what they compute together is right, and it takes less time.
for cpus in 2 4; do
	soc hardware $cpus "hackbench-hardware-$cpus" hackbench
	soc hardware $cpus "web-hardware-$cpus" web REQUESTS=60
	soc hardware $cpus "decode-hardware-$cpus" decode FRAMES=10
done
soc freertos 1 freertos-slow freertos TICKS=300 TICK=20000
soc freertos 1 freertos freertos TICKS=600
# The program notices jobs that take longer than the engine allows them, and jobs that preempt each other in their sections.
for bad in OVERRUN=1 HOLD=0; do
	if "$runweir" soc --quiet --system freertos --tasks 16 -- freertos TICKS=200 $bad 2>"$work/bad"; then
		echo "test-soc: freertos $bad should fail" >&2 && exit 1
	fi
	grep -q "ended with status 1" "$work/bad"
done
for cpus in 1 2 4; do
	soc tick $cpus "periodic-tick-$cpus" periodic TICKS=$((${WEIR_LONG:+29600} + 400)) TICK=6000 SECTION=1 LOAD=90
	# With the engine a tick is shorter than a switch: contexts are asked for before they are saved.
	soc engine $cpus "periodic-engine-$cpus" periodic TICKS=400 TICK=400 SECTION=1 LOAD=90
	# Three ticks and more for a switch, and more work than the CPUs can do, so that there are many.
	# A trace would have gigabytes.
	[[ -z ${WEIR_LONG:-} ]] || {
		mkdir -p "$work/many-engine-$cpus"
		"$runweir" soc --quiet --system engine --cpus $cpus --json -- periodic TICKS=$((cpus == 1 ? 5800000 : cpus == 2 ? 4450000 : 2750000)) \
			TICK=200 SECTION=1 LOAD=150 TASKS=16 >"$work/many-engine-$cpus/summary.json"
	}
done
python3 - "$work" <<-'END2'
	import json, os, sys
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
	for name in ("freertos", "freertos-slow"):
	    f = soc(name)["figures"]
	    if f["wrong"] or f["misses"] or not (f["jobs_control"] and f["jobs_vision"] and f["naps"] and f["left_over"]):
	        bad.append(f"{name}: {f}")
	check("mutex", *[figure("base", x, "mutex_mean") for x in ("software", "unified", "hardware")])
	check("loop beside interrupts", *[figure("load", x, "loop") for x in ("software", "threaded", "unified")])
	check("hackbench", *[figure("hackbench", x, "total") for x in ("software", "unified", "hardware", "hardware-2")])
	many = ["many-engine"] if os.environ.get("WEIR_LONG") else []
	for cpus in (1, 2, 4):
	    for name in ["periodic-tick", "periodic-engine"] + many:
	        got = soc(f"{name}-{cpus}")
	        count, figures = got["kernel"]["count"], got["figures"]
	        if figures["wrong"] or not figures["jobs"] or (name in many and count < 1000000):
	            bad.append(f"{name} with {cpus} CPUs: {count} times in the kernel, {figures}")
	        print(f"{name}, {cpus} CPUs: {count} times in the kernel, {figures['jobs']} jobs, {figures['wrong']} wrong")
	print("\n".join(bad))
	sys.exit(bool(bad))
END2
echo "test-soc: all well"
