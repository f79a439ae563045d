# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Sets of study.toml under SimSo, in processes of `multiprocessing`: time per set, and whether both programs find the same.

    study.py --runweir PROGRAM [--sets 80] [--jobs 2] [--json]

The sets are drawn here by the study's recipe, with times that both programs hold exactly, one for each level of utilization in turn, and run for a
second under global EDF and RM with nothing that costs time. SimSo's time by the clock is that of the whole pool, from the first set to the last,
with the reading of its files and without Python's start; its CPU time is that of the processes for the sets; jobs and missed deadlines of each set are compared with those of `runweir run`.
"""

import argparse
import json
import multiprocessing
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import sets

LEVELS = [10 * level for level in range(1, 41)]
CPUS, TASKS, LENGTH_NS = 4, 20, 1_000_000_000
# The end lies between two grains: nothing happens at that very instant.
END_NS = LENGTH_NS // sets.GRAIN_NS * sets.GRAIN_NS + 7_000
POLICIES = {"edf": "simso.schedulers.EDF", "rm": "simso.schedulers.RM"}


def drawn(number):
    """A set of the study: UUniFast-Discard, periods log-uniform."""
    dice = random.Random(f"study/{number}")
    made = sets.TaskSet(seed=number, cpus=CPUS, duration=END_NS)
    for i, share in enumerate(sets.uunifast_discard(dice, TASKS, LEVELS[number % len(LEVELS)] / 100)):
        period = sets.grains(10e6 * 100 ** dice.random())
        wcet = min(sets.grains(period * share), period)
        made.tasks.append(sets.Task(f"T{i}", period, period, wcet))
    return made


def simso(path):
    """Jobs and missed deadlines of a set, as Runweir counts them, and seconds of CPU time."""
    import simso_side

    began = time.process_time()
    model = simso_side.simulate(path)
    end = model.now() / model.cycles_per_ms
    jobs = misses = 0
    for task in model.task_list:
        jobs += len(task.jobs)
        for job in task.jobs:
            done = job.end_date / model.cycles_per_ms if job.end_date is not None else None
            misses += (done or end) > job.absolute_deadline
    return jobs, misses, time.process_time() - began


def ours(program, path, policy):
    command = [program, "run", "-t", policy, "-m", f"smp-{CPUS}", "-w", str(path), "--costs", "zero", "--quiet", "--json"]
    totals = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["totals"]
    return totals["jobs"], totals["deadline_misses"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runweir", required=True, help="the program")
    parser.add_argument("--sets", type=int, default=80, help="sets for each policy")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", action="store_true", help="one object a policy")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="study-") as folder, multiprocessing.Pool(options.jobs) as pool:
        for policy, scheduler in POLICIES.items():
            files = []
            for number in range(options.sets):
                path = pathlib.Path(folder) / f"{policy}-{number}.xml"
                path.write_text(sets.to_xml(drawn(number), scheduler))
                files.append(path)
            # Imports are made before the clock starts.
            pool.map(simso, files[: 4 * options.jobs], chunksize=1)
            began = time.monotonic()
            theirs = pool.map(simso, files, chunksize=1)
            seconds = time.monotonic() - began
            differ = [str(f.name) for f, a in zip(files, theirs) if ours(options.runweir, f, policy) != a[:2]]
            wrong += len(differ)
            jobs = sum(t[0] for t in theirs)
            row = {"policy": policy, "sets": options.sets, "jobs": jobs, "processes": options.jobs, "ms_per_set": round(1000 * seconds / options.sets, 3)}
            row |= {"cpu_ms_per_set": round(1000 * sum(t[2] for t in theirs) / options.sets, 3), "differ": len(differ)}
            print(json.dumps(row) if options.json else f"{policy}: {row['ms_per_set']} ms a set by the clock, {row['cpu_ms_per_set']} ms of CPU time, {options.sets} sets, {jobs} jobs; {len(differ)} sets differ", flush=True)
            if differ:
                print("  " + " ".join(differ[:10]), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
