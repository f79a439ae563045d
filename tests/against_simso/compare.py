# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Compare Runweir with SimSo, job by job, on random task sets.

    compare.py --runweir PROGRAM [--sets 1000] [--jobs 2] [--seed 1] [--keep DIR]

One processor (rm, dm, edf): every job must have the same release, start, finish, number of preemptions and
verdict on its deadline. Several processors: the same jobs must miss their deadlines (under pd2 and er-pd2 none); where they do
not, a tie must have decided, or the textbook schedule (oracle.py) must agree with Runweir. Prints a line a
policy and ends with 1 where anything is unexplained.
"""

import argparse
import collections
import math
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import oracle
import runweir_side
import sets
import simso_side

# Runweir's topology, SimSo's class, processors, share of the sets that is tried.
UNI = [("rm", "RM", 1), ("dm", "FP", 1), ("edf", "EDF", 1)]
GLOBAL = [(name, name.upper(), cpus) for name in ("edf", "rm", "edzl", "llf") for cpus in (2, 4)]
# Fair policies, on sets that they schedule without a miss: quanta of 0.1 ms, as SimSo's.
FAIR = [("pd2", "PD2", 2), ("pd2", "PD2", 4), ("er-pd2", "ER_PD2", 2), ("er-pd2", "ER_PD2", 4)]

# SimSo compares laxities each millisecond.
TICK = 1_000_000
SETTINGS = {"llf": ["--set", "llf.tick=1ms"], "pd2": ["--set", "pd2.quantum=100us"], "er-pd2": ["--set", "pd2.quantum=100us"]}

SAME, TIE, SIMSO, OURS = "same", "tie", "SimSo", "UNEXPLAINED"


def made_set(seed, topology, cpus, whole_ms=False):
    made = sets.random_set(seed, cpus, whole_ms=whole_ms)
    if topology == "dm":
        sets.deadline_monotonic(made.tasks)
    return made


def both(options, made, topology, scheduler, where):
    path = where / "set.xml"
    path.write_text(sets.to_xml(made, f"simso.schedulers.{scheduler}"))
    theirs = simso_side.jobs_of(simso_side.simulate(path))
    ours = runweir_side.simulate(options.runweir, path, where / "out", options.alias.get(topology, topology), f"smp-{made.cpus}", SETTINGS.get(topology, ()))
    return ours, theirs


def differences(a, b, record):
    """Keys of jobs whose records differ."""
    out = []
    for key in sorted(set(a) | set(b)):
        left, right = a.get(key), b.get(key)
        if left is None or right is None or record(left) != record(right):
            out.append(key)
    return out


def full(job):
    return job.record()


def verdict_of(made):
    """A job's verdict on its deadline, where that lies within the run."""
    return lambda job: job.missed if job.deadline < made.duration else None


def explained(wrong, truth, tie, settled):
    """Whether a tie decided before any of the differing jobs was through; `settled`: when that was."""
    return tie is not None and all(k in truth and (settled(truth[k]) or math.inf) > tie for k in wrong)


def agrees(ours, truth, record, tie, settled):
    """Whether our records are those of the textbook schedule, up to the first tie."""
    until = math.inf if tie is None else tie
    return not [k for k in differences(ours, truth, record) if k not in truth or (settled(truth[k]) or 0) <= until]


def judge_uni(options, made, topology, scheduler, where):
    ours, theirs = both(options, made, topology, scheduler, where)
    late = [k for k, j in ours.items() if j.deadline < made.duration and j.reported_missed != j.missed]
    if late:
        return OURS, f"the column `missed` of {late[0]} is wrong"
    wrong = differences(ours, theirs, full)
    if not wrong:
        return SAME, ""
    truth, tie = oracle.simulate(made, topology)
    first = wrong[0]
    text = f"{len(wrong)} jobs, first {first}: {ours.get(first)} against {theirs.get(first)}"
    if explained(wrong, truth, tie, lambda job: job.finish):
        return TIE, text
    ends = lambda job: (job.release, job.start, job.finish)  # noqa: E731
    return (SIMSO if agrees(ours, truth, ends, tie, lambda job: job.finish) else OURS), text


def judge_global(options, made, topology, scheduler, where):
    """The same jobs miss their deadlines; laxities are compared whenever a job comes or ends, and at SimSo's ticks."""
    ours, theirs = both(options, made, topology, scheduler, where)
    verdict = verdict_of(made)
    wrong = differences(ours, theirs, verdict)
    if not wrong:
        return SAME, ""
    truth, tie = oracle.simulate_llf(made, TICK) if topology == "llf" else oracle.simulate(made, topology)
    text = f"{len(wrong)} verdicts, first {wrong[0]}: {ours.get(wrong[0])} against {theirs.get(wrong[0])}"
    if explained(wrong, truth, tie, lambda job: job.deadline):
        return TIE, text
    return (SIMSO if agrees(ours, truth, verdict, tie, lambda job: job.deadline) else OURS), text


def judge_fair(options, made, topology, scheduler, where):
    """Both policies are optimal, so no deadline may be missed (Srinivasan and Anderson 2002): a simulator that misses one is wrong."""
    ours, theirs = both(options, made, topology, scheduler, where)
    missed = {who: [k for k, j in jobs.items() if j.deadline < made.duration and j.missed] for who, jobs in ((OURS, ours), (SIMSO, theirs))}
    for who in (OURS, SIMSO):
        if missed[who]:
            return who, f"{len(missed[who])} misses at a load of {made.utilization:.3f}, first {(ours if who == OURS else theirs)[missed[who][0]]}"
    return (SAME, "") if set(ours) == set(theirs) else (OURS, "other jobs")


JUDGES = {"pd2": judge_fair, "er-pd2": judge_fair}


def work(job):
    options, kind, topology, scheduler, cpus, seed, whole_ms = job
    made = sets.fair_set(seed, cpus) if kind == "fair" else made_set(seed, topology, cpus, whole_ms)
    judge = JUDGES.get(topology, judge_uni if kind == "uni" else judge_global)
    with tempfile.TemporaryDirectory(prefix="against-simso-") as folder:
        where = pathlib.Path(folder)
        try:
            answer, text = judge(options, made, topology, scheduler, where)
        except RuntimeError as e:
            answer, text = OURS, str(e)
        except (IndexError, ValueError, AssertionError, ZeroDivisionError) as e:
            answer, text = SIMSO, f"SimSo's scheduler fails: {type(e).__name__} {e}"
        if answer in (OURS, SIMSO) and options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            name = f"{topology}-{cpus}-{seed}{'-ms' if whole_ms else ''}.xml"
            shutil.copy(where / "set.xml", options.keep / name)
    return (kind, topology, cpus, whole_ms), seed, answer, text


def has_topology(options, name):
    if name in options.alias:
        return True
    done = subprocess.run([options.runweir, "topologies", name], capture_output=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runweir", required=True, help="the program")
    parser.add_argument("--sets", type=int, default=1000, help="sets for each policy on one processor")
    parser.add_argument("--seed", type=int, default=1, help="number of the first set")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the sets that differ without a tie")
    parser.add_argument("--only", help="one topology only")
    parser.add_argument("--uni", action="store_true", help="only the policies on one processor")
    parser.add_argument("--alias", action="append", default=[], help="NAME=T: use T where NAME is meant")
    options = parser.parse_args()
    options.alias = dict(pair.split("=", 1) for pair in options.alias)

    todo = []
    for kind, table, share in (("uni", UNI, 1), ("global", GLOBAL, 4), ("fair", FAIR, 10)):
        for topology, scheduler, cpus in table:
            if (options.only and topology != options.only) or (options.uni and kind != "uni"):
                continue
            if not has_topology(options, topology):
                print(f"skipped: the catalogue has no topology `{topology}`")
                continue
            for whole_ms in (True,) if kind == "fair" else (False, True):
                part = max(1, options.sets // share // (4 if whole_ms else 1))
                for seed in range(options.seed, options.seed + part):
                    todo.append((options, kind, topology, scheduler, cpus, seed, whole_ms))

    answers = collections.defaultdict(collections.Counter)
    examples = collections.defaultdict(list)
    with multiprocessing.Pool(options.jobs) as pool:
        for what, seed, answer, text in pool.imap_unordered(work, todo, chunksize=4):
            answers[what][answer] += 1
            if answer != SAME:
                examples[what].append((answer, seed, text))

    print(f"{'policy':8}{'CPUs':>5}  {'times':12}{'sets':>6}{'same':>7}{'tie':>6}{'SimSo':>7}{'unexplained':>13}")
    for what in sorted(answers):
        kind, topology, cpus, whole_ms = what
        counts = answers[what]
        grid = "whole ms" if whole_ms else "1/64 ms"
        print(
            f"{topology:8}{cpus:5}  {grid:12}{sum(counts.values()):6}{counts[SAME]:7}{counts[TIE]:6}"
            f"{counts[SIMSO]:7}{counts[OURS]:13}"
        )
    for what in sorted(examples):
        for answer, seed, text in sorted(examples[what])[:3]:
            print(f"{answer}: {what[1]} on {what[2]} CPUs, set {seed}{' (whole ms)' if what[3] else ''}: {text}")
    bad = sum(c[OURS] for c in answers.values())
    print(f"{sum(sum(c.values()) for c in answers.values())} sets, {bad} unexplained")
    return 1 if bad or not answers else 0


if __name__ == "__main__":
    sys.exit(main())
