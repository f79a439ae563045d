#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# `runweir analyze` against simulation: topologies and workloads for which its bounds were not chosen. A forecast for twice the largest
# size that the analysis has simulated must be within five points of a run of that size with the same load per CPU, or there is
# none; and no verdict may contradict a row of the table that it stands under. In the long form (WEIR_LONG=1) ten topologies and five
# workloads. The last lines are a table in Markdown, for docs/contention-figures.md. RUNWEIR names another program than the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v python3 >/dev/null || { echo "skipped: no python3 (tools/setup.sh installs it)"; exit 77; }
[[ ${RUNWEIR:-} ]] || tools/programs.sh
export RUNWEIR=${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}
exec python3 - "$@" <<'PYTHON'
import json, os, subprocess, sys

# By number of CPUs, the load of each CPU the same.
LOADS = {
    "hackbench little": lambda n: f"hackbench:groups={n // 8},fds=5,loops=10",
    "hackbench much": lambda n: f"hackbench:groups={n // 2},fds=4,loops=3",
    "tokens": lambda n: f"tokens:pairs={n},loops=40",
    "compute": lambda n: f"compute:tasks={4 * n},work=2ms,chunks=10",
    "barrier": lambda n: f"barrier:threads={2 * n},loops=10",
}
POLICIES = ["decentral", "global_rr", "linux", "central", "eevdf", "worksteal", "fifo", "stride", "priority", "scx-simple"]
long = os.environ.get("WEIR_LONG")
policies, loads = (POLICIES, list(LOADS)) if long else (POLICIES[:3], ["hackbench little", "compute", "barrier"])
if len(sys.argv) > 1:
    policies = sys.argv[1].split(",")
    loads = list(LOADS) if len(sys.argv) < 3 else [l for l in LOADS if l in sys.argv[2].split(",")]
CPUS = 8


def runweir(*words):
    done = subprocess.run([os.environ["RUNWEIR"], *words, "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


bad, rows, given = [], [], 0
for policy in policies:
    for load in loads:
        name = f"{policy}, {load}"
        found = runweir("analyze", policy, "-m", f"smp-{CPUS}", "-w", LOADS[load](CPUS), "--jobs", "1")
        now, limit, measure = found["now"], found["share"], found["measure"]
        sizes = {s["cpus"]: s for s in now["sizes"]}
        simulated = {n: s["simulated"][measure] for n, s in sizes.items() if s["simulated"]}
        # All rows from the smallest good machine to the largest are good, and below the smallest none is.
        smallest, largest = now["smallest_simulated"], now["largest_simulated"]
        for n, share in simulated.items():
            if largest and smallest <= n <= largest and share > limit + 1e-9:
                bad.append(f"{name}: {smallest} to {largest} CPUs are called good, and {n} have {share:.1%}")
            if largest and n < smallest and share <= limit:
                bad.append(f"{name}: fewer than {smallest} CPUs are called bad, and {n} have {share:.1%}")
            if n > (largest or 0) and (share <= limit) != (n in now["larger_within"]):
                bad.append(f"{name}: at most {largest} CPUs are called good, and {n} have {share:.1%}")
        foreseen = now["largest_foreseen"]
        for n, share in simulated.items():
            if foreseen and (smallest or 1) <= n <= foreseen and share > limit + 0.05:
                bad.append(f"{name}: {foreseen} CPUs are foreseen as good, and {n} have {share:.1%}")
        most = max(simulated)
        twice = 2 * most
        up_to = now["forecast_up_to"] or 0
        forecast = sizes.get(twice, {}).get("foreseen") if up_to >= twice else None
        if not forecast:
            missed = now["missed"]
            why = f"none: {missed['foreseen']:.1%} for {missed['simulated']:.1%} on {missed['cpus']}" if missed else "none"
            if now["doubt"]:
                why = f"none: {now['doubt']['foreseen']:.1%} on {now['doubt']['cpus']}, but {now['doubt']['why']}"
            rows.append((policy, load, most, why, "", ""))
            print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
            continue
        given += 1
        run = runweir("run", policy, "-m", f"smp-{twice}", "-w", LOADS[load](twice))
        spent = run["totals"]["scheduler_ns" if measure == "scheduler" else "lock_wait_ns"]
        share = spent / (run["duration_ns"] * twice)
        off = 100 * (forecast[measure] - share)
        rows.append((policy, load, most, f"{forecast[measure]:.1%} {measure} on {twice}", f"{share:.1%}", f"{off:+.1f}"))
        if abs(off) > 5:
            bad.append(f"{name}: {forecast[measure]:.1%} foreseen on {twice} CPUs, {share:.1%} simulated")
        print(*rows[-1], sep="; ", file=sys.stderr, flush=True)

print("| topology | workload | simulated up to | forecast | simulated | off, points |\n|---|---|---|---|---|---|")
for row in rows:
    print("| " + " | ".join(str(c) for c in row) + " |")
print(f"{len(rows)} analyses, {given} forecasts, {len(bad)} of them wrong or contradicted")
for b in bad:
    print("WRONG:", b)
if not given and len(sys.argv) == 1:
    bad.append("no analysis gives a forecast, so none was tried")
    print("WRONG:", bad[-1])
sys.exit(1 if bad else 0)
PYTHON
