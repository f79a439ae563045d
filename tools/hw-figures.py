#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The tables of figures in docs/hardware-evidence.md, from the recorded measurements in experiments/ and hw/board/.

    tools/hw-figures.py          write them
    tools/hw-figures.py --check  write nothing; status 1 if they are out of date
"""

import csv
import re
import sys
from pathlib import Path

from generated import keep

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/hardware-evidence.md"


def rows(file):
    with (ROOT / "experiments" / file).open() as lines:
        return list(csv.DictReader(lines))


def parameters(row):
    return dict(word.split("=") for word in row["parameters"].split())


def engine():
    """Area and clock of the engine, by selector and tasks; each placement is a row of the record."""
    yield "| tasks | selector | LUTs (carry included) | flip-flops | MHz: slowest and fastest placement |"
    yield "|---|---|---|---|---|"
    sizes = {}
    for row in rows("llf-e7/synthesis.csv"):
        p = parameters(row)
        sizes.setdefault((int(p["Select"]), int(p["NumTasks"])), []).append(row)
    for (select, tasks), placed in sorted(sizes.items()):
        mhz = sorted(float(r["mhz"]) for r in placed)
        clock = f"{mhz[0]}, {mhz[-1]}" if len(mhz) > 1 else f"{mhz[0]} (one placement)"
        selector = {0: "serial", 1: "tree", 2: "pipelined tree"}[select]
        yield f"| {tasks} | {selector} | {placed[0]['luts']} | {placed[0]['flip_flops']} | {clock} |"


# The units, and what they take in the source: Preston, 2011, table 5.1, slices of a Virtex-2 Pro.
UNITS = {
    "weir_mutexes": 344,
    "weir_conditions": 294,
    "weir_threads": 500,
    "weir_lists": 1455,
    "weir_timers": 842,
    "weir_interrupts": 667,
    "weir_unified": 887,
}
REPLACED = ("weir_lists", "weir_timers", "weir_interrupts")


def units():
    """The units of the whole set and the unified controller, with the source's figures beside them."""
    yield "| unit | LUTs (carry included) | flip-flops | MHz | slices in the source |"
    yield "|---|---:|---:|---:|---:|"
    recorded = rows("unified-area/synthesis.csv")
    plain = {r["module"]: r for r in recorded if not r["parameters"]}
    for row in recorded:
        slices = "" if row["parameters"] else UNITS[row["module"]]
        name = " ".join([f"`{row['module']}`", row["parameters"].replace(" ", ", ")]).strip()
        yield f"| {name} | {int(row['luts']):,} | {int(row['flip_flops']):,} | {row['mhz']} | {slices} |"
    for what, names in (("scheduler, timers and interrupts, which the unified controller replaces", REPLACED),
                        ("all six units", [u for u in UNITS if u != "weir_unified"])):
        luts, slices = sum(int(plain[n]["luts"]) for n in names), sum(UNITS[n] for n in names)
        of = lambda all, one: f"the unified controller: {100 * one / all:.1f} % of it"
        yield (f"| {what} | {luts:,}; {of(luts, int(plain['weir_unified']['luts']))} | | | "
               f"{slices:,}; {of(slices, UNITS['weir_unified'])} |")


def shares():
    """What the controller and an engine of the source's form take of a system with one core."""
    sixteen = {"NumTasks": "16", "Select": "0"}
    engine = next(r for r in rows("llf-e7/synthesis.csv") if sixteen.items() <= parameters(r).items())
    unified = next(r for r in rows("unified-area/synthesis.csv") if r["module"] == "weir_unified" and not r["parameters"])
    yield "| core | LUTs (carry included) | flip-flops | MHz | share of `weir_unified` | share of `weir_laxity`, 16 tasks |"
    yield "|---|---:|---:|---:|---:|---:|"
    for core in rows("unified-area/cores.csv"):
        luts = int(core["luts"])
        share = lambda block: f"{100 * int(block['luts']) / (luts + int(block['luts'])):.0f} %"
        name = {"picorv32": "PicoRV32 (RV32IM)", "vexriscv": "VexRiscv Lite"}[core["core"]]
        yield (f"| {name} | {luts:,} | {int(core['flip_flops']):,} | {core['mhz']} | {share(unified)} | "
               f"{share(engine)} |")


def board():
    """Area and clock of the design for the board, from the report of its build."""
    report = (ROOT / "hw/board/ulx3s/report.txt").read_text()
    yield "| resource | used | of the FPGA |"
    yield "|---|---:|---:|"
    for name, used, _, share in re.findall(r"^(\S.*?) {2,}(\d+) +(\d+) +([\d.]+)$", report, re.M):
        yield f"| {name} | {int(used):,} | {share} % |"
    achieved, wanted = re.search(r"achieved ([\d.]+) MHz, wanted ([\d.]+) MHz", report).groups()
    yield f"| clock | {achieved} MHz | {wanted} MHz wanted |"


def operations():
    """Clocks of single operations, by system."""
    names = {"schedule": "yield, until another thread of the same priority runs", "interrupt": "device event to its service",
             "add": "add a thread", "mutex": "lock and unlock a mutex"}
    systems = ("software", "threaded", "unified", "hardware")
    mean = {(r["system"], r["operation"]): int(r["mean"]) for r in rows("unified-x1/data.csv")}
    yield "| mean clocks | " + " | ".join(systems) + " |"
    yield "|---|" + "---|" * len(systems)
    for operation, name in names.items():
        yield f"| {name} | " + " | ".join(f"{mean[s, operation]:,}" for s in systems) + " |"


def programs():
    """What interrupts and threads cost programs, by system."""
    frames = {r["system"]: r for r in rows("unified-x6/data.csv")}
    loops = {r["system"]: float(r["slowdown_percent"]) for r in rows("unified-x2/data.csv") if r["rate_hz"] == "10000"}
    messages = {r["system"]: float(r["of_software_percent"]) for r in rows("unified-x3/data.csv") if r["threads"] == "20"}
    yield "| system | mean clocks of a frame | difference between frames | a loop takes longer, interrupts at 10 kHz | hackbench, of `software` |"
    yield "|---|---:|---:|---:|---:|"
    for system, r in frames.items():
        yield (f"| `{system}` | {int(r['mean']):,} | {int(r['max']) - int(r['min']):,} | {loops[system]:.1f} % | "
               f"{messages[system]:.1f} % |")


def laxity():
    """From the tick to the first instruction of a task, by tasks."""
    mean = {(r["system"], int(r["tasks"])): int(r["mean"]) for r in rows("llf-pays/data.csv")}
    sizes = sorted({tasks for _, tasks in mean})
    yield "| mean clocks, by tasks | " + " | ".join(map(str, sizes)) + " |"
    yield "|---|" + "---:|" * len(sizes)
    for system, name in ("engine", "the engine, built for 64 tasks"), ("tick", "software"):
        yield f"| {name} | " + " | ".join(f"{mean[system, n]:,}" for n in sizes) + " |"


def ours():
    """Our blocks as they are compared with others' ones."""
    units = {r["module"]: r for r in rows("unified-area/synthesis.csv")}
    engines = {}
    for r in rows("llf-e7/synthesis.csv"):
        engines.setdefault((parameters(r)["NumTasks"], parameters(r)["Select"]), []).append(r)

    def area(placed):
        mhz = sorted({float(r["mhz"]) for r in placed})
        return f"{int(placed[0]['luts']):,}, {int(placed[0]['flip_flops']):,} | {' to '.join(map(str, mhz[:1] + mhz[1:][-1:]))}"

    yield "| block | decision | jitter of the decision | LUTs of 4, flip-flops | MHz |"
    yield "|---|---|---|---|---|"
    yield f"| `weir_laxity`, 16 tasks, 2 CPUs, serial | 22 clocks after the tick | none: proved (R1) | {area(engines['16', '0'])} |"
    yield f"| `weir_laxity`, 64 tasks, 2 CPUs, serial | 70 clocks | none | {area(engines['64', '0'])} |"
    yield f"| `weir_laxity`, 64 tasks, 2 CPUs, pipelined tree | 10 clocks | none | {area(engines['64', '2'])} |"
    yield (f"| `weir_unified`, 256 threads, 16 lines, 8 timers | NEXT: 5 clocks, 2 more per line and timer that comes | by these | "
           f"{area([units['weir_unified']])} |")
    yield f"| `weir_lists`, 256 threads, 256 priorities | each call within 8 clocks | within that | {area([units['weir_lists']])} |"


parts = {"blocks beside others": ours, "clocks of programs": programs, "clocks of least laxity": laxity,
         "engine's area": engine, "units' area": units, "shares of a system": shares, "board's area": board, "clocks of operations": operations}
sys.exit(max(keep(PAGE, mark, list(part()), sys.argv[1:], __doc__) for mark, part in parts.items()))
