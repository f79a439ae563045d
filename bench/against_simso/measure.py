# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Jobs per second of SimSo and Runweir on the same sets, in turn, in one run.

    measure.py --runweir PROGRAM [--cpus 4,64,256] [--sets 2] [--tries 1] [--quick] [--json]

Both programs read the same SimSo configurations: 4 tasks a processor, 80 % load, periods of 5 to 50 ms, global
EDF, nothing costs time. CPU time is measured, of one thread. For Runweir it is that of the whole process, from its
start to the printed summary, with everything that `run` collects. SimSo is given two times: `run_model` alone, which
makes the ratio that counts, and the whole process with Python's start, its imports and the reading of the file.
Beside them stands the ratio of both simulations alone: SimSo's `run_model` to what Runweir's summary says its
simulation took, which is time by the clock and means something on an idle machine only.
The numbers of jobs and of missed deadlines of both are compared, too: speed of another schedule would mean nothing.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import sets

# Virtual time by processors: half a minute to two minutes of SimSo's time.
LENGTH_NS = {4: 60_000_000_000, 64: 2_000_000_000, 256: 300_000_000}
QUICK = 10
LOAD = 0.8
GOALS = {4: 500, 64: 2000, 256: 8000}


def simso_alone(path):
    """Child process: run SimSo once, print jobs, misses and seconds of the simulation."""
    import builtins

    import simso_side
    from simso.configuration import Configuration
    from simso.core import Model

    configuration = Configuration(str(path))
    simso_side.silence(configuration.scheduler_info.clas)
    model = Model(configuration)
    quiet, builtins.print = builtins.print, lambda *_, **__: None
    began = time.process_time()
    model.run_model()
    builtins.print = quiet
    seconds = time.process_time() - began
    # As Runweir counts: a job whose deadline lies within the run, or that was done too late.
    jobs = misses = 0
    end = model.now() / model.cycles_per_ms
    for task in model.task_list:
        jobs += len(task.jobs)
        for job in task.jobs:
            done = job.end_date / model.cycles_per_ms if job.end_date is not None else None
            misses += (done or end) > job.absolute_deadline
    print(json.dumps([jobs, misses, seconds]))


def child(command):
    """Output of a process, and its CPU time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theirs(path):
    out, whole = child([sys.executable, __file__, "--child", str(path)])
    jobs, misses, alone = json.loads(out)
    return jobs, misses, alone, whole


def ours(program, path, cpus):
    command = [program, "run", "--topology", "edf", "--machine", f"smp-{cpus}", "--workload", str(path)]
    out, whole = child(command + ["--costs", "zero", "--quiet", "--json"])
    summary = json.loads(out)
    totals = summary["totals"]
    return totals["jobs"], totals["deadline_misses"], whole, summary["wall_ns"] / 1e9


def measure(options, cpus, where):
    """Jobs of all sets, seconds for them (SimSo alone, SimSo whole, Runweir whole, Runweir alone), ratio of each set, sets that differ."""
    jobs, times, odd = 0, [], 0
    for seed in range(1, options.sets + 1):
        made = sets.random_set(seed, cpus, tasks=4 * cpus, load=LOAD)
        for task in made.tasks:
            task.deadline = task.period
        made.duration = LENGTH_NS.get(cpus, 60_000_000_000 // cpus) // (QUICK if options.quick else 1) + 7_000
        path = where / f"{cpus}-{seed}.xml"
        path.write_text(sets.to_xml(made, "simso.schedulers.EDF"))
        tries = [(theirs(path), ours(options.runweir, path, cpus)) for _ in range(options.tries)]
        a, b = tries[0]
        odd += a[:2] != b[:2]
        jobs += b[0]
        times.append([min(run[which][field] for run in tries) for which, field in [(0, 2), (0, 3), (1, 2), (1, 3)]])
    return jobs, [sum(column) for column in zip(*times)], [t[0] / t[2] for t in times], odd


def rows(options):
    """Each number of processors as an object: jobs a second of our whole process beside SimSo's `run_model`."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="speed-simso-") as folder:
        for cpus in map(int, options.cpus.split(",")):
            jobs, (alone, _, own, _), _, odd = measure(options, cpus, pathlib.Path(folder))
            row = {"subject": "edf", "size": cpus, "figure": round(jobs / own, 1), "unit": "jobs/s"}
            print(json.dumps(row | {"ratio": round(alone / own, 2), "yardstick": "simso run_model"}), flush=True)
            if odd:
                print(f"in {odd} sets of {cpus} CPUs the two count other jobs or misses", file=sys.stderr)
            wrong += odd
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runweir", help="the program")
    parser.add_argument("--cpus", default="4,64,256", help="processors, separated by commas")
    parser.add_argument("--sets", type=int, default=2, help="sets for each number of processors")
    parser.add_argument("--tries", type=int, default=1, help="runs of each set, of which the fastest counts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the virtual time")
    parser.add_argument("--json", action="store_true", help="one object a row instead of the table")
    parser.add_argument("--child", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return simso_alone(options.child)
    if options.json:
        return rows(options)
    print(f"global EDF, 4 tasks a CPU, {LOAD:.0%} load, {options.sets} sets, best of {options.tries}; jobs a second of CPU time")
    print(f"{'CPUs':>5}{'jobs':>9}{'SimSo':>9}{'its process':>13}{'Runweir':>10}{'ratio':>8}{'least':>8}{'processes':>11}{'simulations':>13}{'goal':>7}")
    with tempfile.TemporaryDirectory(prefix="speed-simso-") as folder:
        for cpus in map(int, options.cpus.split(",")):
            jobs, (alone, whole, own, core), ratios, odd = measure(options, cpus, pathlib.Path(folder))
            print(
                f"{cpus:5}{jobs:9}{jobs / alone:9.0f}{jobs / whole:13.0f}{jobs / own:10.0f}{alone / own:8.0f}"
                f"{min(ratios):8.0f}{whole / own:11.0f}{alone / core:13.0f}{GOALS.get(cpus, 0):7}",
                flush=True,
            )
            if odd:
                print(f"      in {odd} sets the two count other jobs or misses: see tests/against_simso")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
