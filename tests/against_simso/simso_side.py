# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Run SimSo on a configuration and read what became of each job."""

import builtins
import importlib
import sys
import types
from dataclasses import dataclass

# SimSo imports a module that Python 3.12 dropped, and uses it only for schedulers named by file.
sys.modules.setdefault("imp", types.ModuleType("imp"))

from simso.configuration import Configuration  # noqa: E402
from simso.core import Model  # noqa: E402
from simso.core.JobEvent import JobEvent  # noqa: E402


@dataclass
class Job:
    """One job; times in nanoseconds, None where the run ended before."""

    task: str
    number: int
    release: int
    deadline: int
    start: int = None
    finish: int = None
    preemptions: int = 0
    migrations: int = 0
    aborted: bool = False

    @property
    def missed(self):
        return self.aborted or self.finish is None or self.finish > self.deadline

    def record(self):
        return (self.release, self.start, self.finish, self.preemptions, self.missed)


def silence(name):
    """Take the leftover debug prints out of a scheduler's module."""
    module = importlib.import_module(name)
    module.print = lambda *_, **__: None
    return module


def simulate(path):
    """Run a configuration file; the finished model."""
    configuration = Configuration(str(path))
    silence(configuration.scheduler_info.clas)
    model = Model(configuration)
    quiet, builtins.print = builtins.print, lambda *_, **__: None
    try:
        model.run_model()
    finally:
        builtins.print = quiet
    return model


def jobs_of(model):
    """The jobs of a run by (task, number). Stretches of no length are no execution: SimSo dispatches a
    job and takes it back at the same instant where several things happen at once."""
    scale = 1_000_000 / model.cycles_per_ms
    found = {}
    for task in model.task_list:
        numbers = {job: i for i, job in enumerate(task.jobs)}
        stretches = {}
        for when, event in task.monitor:
            now, number = round(when * scale), numbers[event.job]
            key = (task.name, number)
            if event.event == JobEvent.ACTIVATE:
                found[key] = Job(task.name, number, now, now + round(task.deadline * 1_000_000))
                stretches[number] = []
            elif event.event == JobEvent.EXECUTE:
                stretches[number].append([now, None, event.cpu.identifier])
            elif event.event == JobEvent.PREEMPTED:
                stretches[number][-1][1] = now
            elif event.event in (JobEvent.TERMINATED, JobEvent.ABORTED):
                if stretches[number] and stretches[number][-1][1] is None:
                    stretches[number][-1][1] = now
                found[key].finish = now
                found[key].aborted = event.event == JobEvent.ABORTED
        for number, parts in stretches.items():
            count(found[(task.name, number)], parts)
    return found


def count(job, parts):
    """Start, preemptions and migrations of a job from its stretches of execution."""
    joined = []
    for begin, end, cpu in parts:
        if begin == end:
            continue
        if joined and joined[-1][1] == begin and joined[-1][2] == cpu:
            joined[-1][1] = end
        else:
            joined.append([begin, end, cpu])
    if not joined:
        return
    job.start = joined[0][0]
    job.migrations = sum(a[2] != b[2] for a, b in zip(joined, joined[1:]))
    last = joined[-1][1]
    over = last is None or last == job.finish
    job.preemptions = len(joined) - (1 if over else 0)
