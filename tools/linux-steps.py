#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Usage: tools/linux-steps.py [--check]

Runs the ten steps of docs/linux.md with their three workloads in the simulator, and writes the table of that page; with --check
it compares only. Same seed, same figures on any machine, so a change of a component that moves one is noticed.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

from generated import keep

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = sorted((ROOT / "docs/linux").glob("*.weir"))
MACHINES = {"desktop": "hybrid-2p2e", "server": "smp-4", "control": "smp-4"}
SECONDS = 4


def run(step, workload):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    command = [target / "debug/runweir", "run", "-t", step, "-m", MACHINES[workload], "-w", ROOT / f"docs/linux/{workload}.toml"]
    done = subprocess.run([*command, "--json", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{step.name}, {workload}: {done.stderr}")
    return json.loads(done.stdout)


def of(result, name):
    return [t for t in result["tasks"] if t["name"].rsplit("-", 1)[0] == name or t["name"] == name]


def late(result, name):
    return str(sum(t["deadline_misses"] for t in of(result, name)))


def wait(result, name, figure):
    return f"{max(t['wakeup_latency_ns'][figure] for t in of(result, name)) / 1e6:.2f}"


def share(result, name, cpus):
    return f"{sum(t['cpu_ns'] for t in of(result, name)) / (SECONDS * 1e7 * cpus):.1f}"


def row(step, results):
    desktop, server, control = (results[step, w] for w in MACHINES)
    health = of(control, "health")[0]
    return [
        f"[{step.stem.replace('-', ' ', 1)}](linux/{step.name})",
        wait(desktop, "pointer", "p99"),
        str(sum(t["jobs"] for t in of(desktop, "build"))),
        f"{desktop['totals']['migrations']:,}",
        f"{desktop['totals']['scheduler_ns'] / 1e6:.0f}",
        share(server, "gold", 4),
        late(control, "loop"),
        late(control, "camera"),
        f"{health['cpu_ns'] / 1e6:.0f}",
    ]


def main():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pairs = [(s, w) for s in STEPS for w in MACHINES]
        results = dict(zip(pairs, pool.map(lambda p: run(*p), pairs)))
    head = ["step", "pointer, p99 ms", "build, rounds", "migrations", "scheduling, ms", "gold, %", "loop, late", "camera, late", "health, ms"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row(s, results)) + " |" for s in STEPS]
    return keep(ROOT / "docs/linux.md", "table of steps", lines, sys.argv[1:], __doc__)


sys.exit(main())
