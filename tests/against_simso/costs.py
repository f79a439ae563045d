# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""SimSo files with costs and arrivals of their own, run as they are: each job as in SimSo, or a line that says what differs.

    costs.py --runweir PROGRAM [--sets 300] [--seed 1]

A file has a few of the traits below. Where all of them mean the same in both programs, every job must have the same release,
start, finish and verdict. Where one does not, the command must have said so, in words that name the trait: a file that
differs in silence fails, and so does a line about a trait that the file has not. Where SimSo differs because of an error of its
own (`abort`, README.md), the schedule that is worked out here decides.
"""

import argparse
import collections
import math
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import runweir_side
import simso_side
from sets import GRAIN_NS, grains, ms, uunifast_discard

CYCLES_PER_MS = 1_000_000


# SimSo cuts what is left of a job to whole cycles at each interruption, and where processors are slow at each of a series of steps. What
# that adds up to in a busy period.
CUT_NS = 5_000


class Trait:
    """What a file may have: how it is drawn into the file, the words that have to be said of it if it differs, and of traits that
    are written into the same attributes the name of their kind: a file has one of a kind."""

    def __init__(self, draw, says=None, kind=None):
        self.draw, self.says, self.kind = draw, says, kind


def attribute(element, key, values, share=1.0):
    """Give `key` of some of the elements one of the values."""

    def draw(dice, file):
        chosen = [node for node in file[element] if dice.random() < share] or file[element][:1]
        for node in chosen:
            value = dice.choice(values)
            node[key] = value(dice, node) if callable(value) else value

    return draw


def sporadic(dice, file):
    """Some tasks arrive at listed dates, in the order of the list."""
    for task in file["task"]:
        if dice.random() < 0.5:
            dates, now = [], 0
            for _ in range(dice.randint(1, 6)):
                now += grains(dice.uniform(0.3, 2.0) * task["ns"]["period"])
                dates.append(ms(now))
            task |= {"task_type": "Sporadic", "list_activation_dates": ", ".join(dates)}


def never(dice, file):
    file["task"][-1] |= {"task_type": "Sporadic", "list_activation_dates": ""}


def followers(dice, file):
    """A task that comes when a job of another is over."""
    first, last = file["task"][0], file["task"][-1]
    first["followed_by"] = last["id"]
    last["task_type"] = "APeriodic"


def constrained(dice, file):
    for task in file["task"]:
        ns = task["ns"]
        ns["deadline"] = max(ns["wcet"], grains(dice.uniform(0.3, 1.0) * ns["period"]))
        task["deadline"] = ms(ns["deadline"])


def acet(dice, file):
    """Computing times below the longest ones, without a deviation."""
    file["simulation"][0]["etm"] = "acet"
    for task in file["task"]:
        task["ACET"] = ms(grains(dice.uniform(0.2, 1.2) * task["ns"]["wcet"]))


def penalty(key, value):
    def draw(dice, file):
        file["simulation"][0] |= {"etm": "fixedpenalty", key: value}

    return draw


def cached(dice, file):
    file["simulation"][0]["etm"] = "cache"


def coarse(dice, file):
    """Cycles of a whole microsecond, and times between them; none lasts shorter than a cycle."""
    file["simulation"][0]["cycles_per_ms"] = "1000"


OVERHEADS = ["50000", "125000", "1000000"]
SCHEDULER = "overheads of the scheduler"
TRAITS = {
    # The same in both.
    "abort": Trait(attribute("task", "abort_on_miss", ["yes"], 0.6)),
    "late": Trait(attribute("task", "activationDate", [lambda dice, t: ms(grains(dice.uniform(0, 1) * t["ns"]["period"]))], 0.6)),
    "constrained": Trait(constrained),
    "sporadic": Trait(sporadic, kind="arrivals"),
    "followed": Trait(followers, kind="arrivals"),
    "acet": Trait(acet, kind="etm"),
    "slow": Trait(attribute("processor", "speed", ["0.5", "0.25"]), kind="speed"),
    # Different, and said.
    "fast": Trait(attribute("processor", "speed", ["2.0", "4.0"]), "`speed` above 1", "speed"),
    "never": Trait(never, "never runs", "arrivals"),
    "coarse": Trait(coarse, "whole cycles"),
    "save": Trait(attribute("processor", "cs_overhead", OVERHEADS), "`cl_overhead` and `cs_overhead`"),
    "load": Trait(attribute("processor", "cl_overhead", OVERHEADS), "`cl_overhead` and `cs_overhead`"),
    "decide": Trait(attribute("sched", "overhead", OVERHEADS), SCHEDULER),
    "activate": Trait(attribute("sched", "overhead_activate", OVERHEADS), SCHEDULER),
    "terminate": Trait(attribute("sched", "overhead_terminate", OVERHEADS), SCHEDULER),
    "preemption penalty": Trait(penalty("penalty_preemption", "250000"), "`penalty_preemption`", "etm"),
    "cache": Trait(cached, "cache model", "etm"),
    "preemption cost": Trait(attribute("task", "preemption_cost", ["1000"], 0.5), "`preemption_cost`"),
}
# Said where traits meet.
BEFORE, BEHIND, FIXED = "starts no follower", "late jobs of a task that follows another", "under `fixedpenalty`"


def of_pairs(file, names):
    """What has to be said because of two traits."""
    aborts = lambda task: "followed" in names and task["abort_on_miss"] == "yes"  # noqa: E731
    fixed = "preemption penalty" in names and {"slow", "fast"} & set(names)
    said = {BEFORE: aborts(file["task"][0]), BEHIND: aborts(file["task"][-1]), FIXED: fixed}
    return {words for words, holds in said.items() if holds}


def draw(seed):
    """A file as lists of elements, its scheduler, and the names of its traits."""
    dice = random.Random(f"costs/{seed}")
    scheduler = dice.choice(["RM", "FP", "EDF"])
    count = dice.randint(2, 5)
    file = {"simulation": [{"etm": "wcet", "penalty_preemption": "0", "penalty_migration": "0"}]}
    file["sched"] = [{"class": f"simso.schedulers.{scheduler}", "overhead": "0", "overhead_activate": "0", "overhead_terminate": "0"}]
    file["processor"] = [{"name": "CPU 1", "id": "1", "cl_overhead": "0", "cs_overhead": "0", "speed": "1.0"}]
    file["task"] = []
    names = dice.sample(sorted(TRAITS), dice.randint(1, 3))
    kinds = [TRAITS[n].kind for n in names]
    names = [n for i, n in enumerate(names) if kinds[i] is None or kinds.index(kinds[i]) == i]
    load = dice.uniform(0.4, 1.05)
    # Distinct periods and priorities: no tie decides.
    periods = dice.sample(range(320, 3200), count)
    for i, share in enumerate(uunifast_discard(dice, count, load)):
        period = periods[i] * GRAIN_NS
        ns = {"period": period, "wcet": min(grains(period * share), period), "deadline": period}
        task = {"name": f"T{i}", "id": str(i + 1), "task_type": "Periodic", "abort_on_miss": "no", "period": ms(period)}
        task |= {"deadline": ms(period), "WCET": ms(ns["wcet"]), "ACET": "0", "et_stddev": "0", "activationDate": "0"}
        task |= {"list_activation_dates": "", "base_cpi": "1.0", "instructions": "0", "mix": "0.5", "preemption_cost": "0"}
        task |= {"priority": str(sorted(periods, reverse=True).index(periods[i])), "ns": ns}
        file["task"].append(task)
    for name in names:
        TRAITS[name].draw(dice, file)
    # The end lies between two grains.
    cycles = int(file["simulation"][0].setdefault("cycles_per_ms", str(CYCLES_PER_MS)))
    file["simulation"][0]["duration"] = str((8 * max(periods) * GRAIN_NS + 7_000) * cycles // CYCLES_PER_MS)
    return file, scheduler, names


def to_xml(file):
    def element(tag, node, close="/"):
        return f"<{tag} " + " ".join(f'{k}="{v}"' for k, v in node.items() if k != "ns") + f"{close}>"

    lines = ['<?xml version="1.0"?>', element("simulation", file["simulation"][0], ""), element("sched", file["sched"][0])]
    lines += ['<caches memory_access_time="100"/>', "<processors>"]
    lines += [element("processor", cpu) for cpu in file["processor"]]
    lines += ["</processors>", "<tasks>", '<field name="priority" type="int"/>']
    lines += [element("task", task) for task in file["task"]]
    return "\n".join([*lines, "</tasks>", "</simulation>", ""])


def run_as_it_is(program, path, out):
    """The jobs of a plain `runweir run -w FILE`, and what it said."""
    done = subprocess.run([program, "run", "-w", str(path), "--out", str(out)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr}")
    return runweir_side.read(out / "jobs.csv"), " ".join(done.stderr.replace("│", " ").split())


def schedule(file, scheduler):
    """The jobs as they should be, and whether a tie decided: the most urgent job of those that are next of their tasks runs; one
    that is late is aborted at its deadline where the file says so; followers come when a job is over, however."""
    duration = int(file["simulation"][0]["duration"])
    speed, tasks = float(file["processor"][0]["speed"]), file["task"]
    acet = file["simulation"][0]["etm"] == "acet"
    ns = lambda text: round(float(text) * 1e6)  # noqa: E731

    def releases(task):
        if task["task_type"] == "Periodic":
            return list(range(ns(task["activationDate"]), duration + 1, ns(task["period"])))
        return [ns(d) for d in task["list_activation_dates"].split(",") if d.strip()]

    urgency = {
        "RM": lambda t, job: ns(t["period"]),
        "FP": lambda t, job: -int(t["priority"]),
        "EDF": lambda t, job: job.deadline,
    }[scheduler]
    coming, queues, found, tie, now, last = [releases(t) for t in tasks], [[] for _ in tasks], {}, False, 0, None

    def release(i):
        task = tasks[i]
        number = sum(key[0] == task["name"] for key in found)
        job = simso_side.Job(task["name"], number, now, now + ns(task["deadline"]))
        job.left = math.ceil((min(ns(task["ACET"]), ns(task["WCET"])) if acet else ns(task["WCET"])) / speed)
        found[(job.task, number)] = job
        queues[i].append(job)

    def over(i, job):
        job.finish = now
        queues[i].remove(job)
        follower = tasks[i].get("followed_by")
        for k, other in enumerate(tasks):
            if other["id"] == follower and not job.aborted:
                release(k)

    while now <= duration:
        for i, queue in enumerate(queues):
            if queue and queue[0].left == 0 and queue[0].start is not None:
                over(i, queue[0])
        for i, task in enumerate(tasks):
            for job in [j for j in queues[i] if task["abort_on_miss"] == "yes" and j.deadline <= now]:
                job.aborted = True
                over(i, job)
        for i, times in enumerate(coming):
            while times and times[0] <= now:
                times.pop(0)
                release(i)
        ready = sorted(((urgency(tasks[i], q[0]), q[0] is not last, i, q[0]) for i, q in enumerate(queues) if q), key=lambda r: r[:3])
        tie = tie or (len(ready) > 1 and ready[0][0] == ready[1][0])
        step = min([duration + 1, *(times[0] for times in coming if times)])
        step = min([step, *(j.deadline for i, q in enumerate(queues) for j in q if tasks[i]["abort_on_miss"] == "yes")])
        last = None
        if ready:
            last = ready[0][3]
            step = min(step, now + last.left)
            last.start = now if last.start is None else last.start
            last.left -= step - now
        now = step
    return found, tie


def first_difference(a, b, cut):
    """The first job that differs in the two runs, in words. What lies between whole cycles can be enough for a job to begin in a gap that
    the other run has not: where times are only near, starts do not count."""
    near = lambda x, y: x == y or (x is not None and y is not None and abs(x - y) <= cut)  # noqa: E731
    for key in sorted(set(a) | set(b)):
        x, y = a.get(key), b.get(key)
        times = lambda job: (job.release, job.finish, None if cut else job.start)  # noqa: E731
        same = x and y and all(near(*pair) for pair in zip(times(x), times(y)))
        if not same or x.aborted != y.aborted:
            return f"{key}: {x} against {y}"
    return None


def judge(program, seed, where):
    """What is wrong, or a word for what is not: `same`, `said`, `tie`, or `SimSo` where that is wrong."""
    file, scheduler, names = draw(seed)
    path = where / "set.xml"
    path.write_text(to_xml(file))
    ours, said = run_as_it_is(program, path, where / "out")
    wanted = {TRAITS[n].says for n in names} | of_pairs(file, names)
    for says in {t.says for t in TRAITS.values()} | {BEFORE, BEHIND, FIXED}:
        if says and (says in said) != (says in wanted):
            return f"{names}: `{says}` is {'said' if says in said else 'not said'}: {said}"
    if "nice value" in said:
        return f"{names}: a SimSo file has no nice values: {said}"
    if wanted - {None}:
        return "said"
    truth, tie = schedule(file, scheduler)
    if tie:
        return "tie"
    wrong = first_difference(ours, truth, 0)
    if wrong:
        return f"{scheduler} {names}: the schedule: {wrong}"
    theirs = simso_side.jobs_of(simso_side.simulate(path))
    wrong = first_difference(ours, theirs, CUT_NS if "slow" in names else 0)
    if wrong and "abort" in names:
        return "SimSo"
    return f"{scheduler} {names}: SimSo: {wrong}; said: {said or 'nothing'}" if wrong else "same"


def work(job):
    program, seed = job
    with tempfile.TemporaryDirectory(prefix="simso-costs-") as folder:
        try:
            return seed, judge(program, seed, pathlib.Path(folder))
        except RuntimeError as e:
            return seed, str(e)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runweir", required=True, help="the program")
    parser.add_argument("--sets", type=int, default=300, help="number of files")
    parser.add_argument("--seed", type=int, default=1, help="number of the first file")
    parser.add_argument("--show", type=int, default=10, help="how many wrong files to print")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    todo = [(options.runweir, seed) for seed in range(options.seed, options.seed + options.sets)]
    with multiprocessing.Pool(options.jobs) as pool:
        answers = list(pool.imap_unordered(work, todo, chunksize=4))
    counts = collections.Counter(text for _, text in answers)
    kinds = {"same": "equal job by job", "SimSo": "SimSo is wrong", "tie": "a tie decided", "said": "said to differ"}
    wrong = [(seed, text) for seed, text in answers if text not in kinds]
    for seed, text in sorted(wrong)[: options.show]:
        print(f"WRONG: file {seed}: {text}")
    parts = ", ".join(f"{counts[kind]} {words}" for kind, words in kinds.items())
    print(f"{len(answers)} files with costs and arrivals of their own: {parts}, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
