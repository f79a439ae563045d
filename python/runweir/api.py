# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The functions of the package. Each says what it takes, with units, and what it returns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _native
from .progress import Progress, make
from .results import Analysis, Comparison, Explanation, Import, Requests, Result, Sweep, Tuning, Verdicts
from .texts import Topology, Workload, files, groups, settings, time_ns

TopologyLike = str | os.PathLike[str] | Topology
WorkloadLike = str | os.PathLike[str] | Workload | Mapping[str, Any]
Time = str | int | float
Settings = Mapping[str, Any] | list[str] | None

TABLES = ("jobs", "slices", "waits")


def run(
    topology: TopologyLike | None = None,
    machine: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    workload: WorkloadLike | None = None,
    *,
    duration: Time | None = None,
    seed: int = 1,
    set: Settings = None,
    costs: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    strict: bool = False,
    allow_code: bool = False,
    scenario: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    tables: Iterable[str] = TABLES,
    progress: bool | Progress | None = None,
) -> Result:
    """Run a workload under a scheduler on a simulated machine.

    topology: a name of the catalogue, a path, a :class:`Topology`, or text (anything with ``->``).
    machine: a preset (``"smp-8"``), an hwloc XML or TOML file, ``"host"``, or a mapping with the keys of a TOML file.
    workload: a name, ``"generator:key=value"``, a path, a :class:`Workload`, or a mapping with the keys of a TOML file.
    duration: virtual time at most, ``"2s"`` or a number of ns; endless workloads need it.
    set: parameters of components, ``{"round_robin.slice": "1ms"}``.
    costs: ``"default"``, ``"zero"``, ``"workload"``, a TOML file or a mapping; None: a SimSo file's own on its own processors, else the default ones.
    strict: what the workload asks for and the topology does not obey is an error; else it is in ``warnings`` and ``ignored``.
    allow_code: a workload or scenario may load the native code that it names (``load X.so``); else it is refused.
    tables: which of ``jobs``, ``slices``, ``waits`` the result has; a slice takes 33 bytes.
    progress: see :mod:`runweir.progress`.

    The same arguments give the same result, on every machine. Ctrl-C ends the run at once.
    """
    wanted = [tables] if isinstance(tables, str) else list(tables)
    for name in wanted:
        if name not in TABLES:
            raise ValueError(f"there is no table {name!r} to be gathered; there are {', '.join(TABLES)}")
    with files() as f:
        made = _native.run(
            f.topology(topology),
            f.toml(machine, "machine"),
            f.workload(workload),
            time_ns(duration),
            seed,
            settings(set),
            f.toml(costs, "costs"),
            strict,
            allow_code,
            f.toml(scenario, "scenario"),
            wanted,
            make(progress, "run"),
        )
    return Result(made)


def compare(
    topologies: Iterable[TopologyLike],
    machine: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    workload: WorkloadLike | None = None,
    *,
    duration: Time | None = None,
    seed: int = 1,
    seeds: int = 1,
    set: Settings = None,
    costs: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    strict: bool = False,
    allow_code: bool = False,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Comparison:
    """Run a workload under several schedulers, each with ``seeds`` seeds, the first of them ``seed``, in ``jobs`` threads (default: all
    cores). The first topology is the baseline. The other arguments are the same as for :func:`run`."""
    if isinstance(topologies, (str, Topology)):
        topologies = [topologies]
    with files() as f:
        names = [f.topology(t) for t in topologies]
        page, text, warnings = _native.compare(
            names,
            f.toml(machine, "machine"),
            f.workload(workload),
            time_ns(duration),
            seed,
            seeds,
            settings(set),
            f.toml(costs, "costs"),
            strict,
            allow_code,
            jobs,
            make(progress, "compare"),
        )
    return Comparison(json.loads(page), text, warnings)


def sweep(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    *,
    strict: bool = False,
    allow_code: bool = False,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Sweep:
    """Run a grid of parameters with many seeds, in ``jobs`` threads (default: all cores).

    spec: a path, or a mapping or text with the keys of a specification (docs/sweep.md)::

        runweir.sweep({
            "topology": ["edf", "p-edf"], "machine": "smp-4", "workload": "periodic", "costs": "zero",
            "seeds": 20, "duration": "1s", "stop_at_miss": True,
            "keys": {"tasks": 10, "util": {"from": "200%", "to": "400%", "step": "50%"}},
        })

    ``strict`` and ``allow_code`` mean the same as for :func:`run`.
    """
    with files() as f:
        page, csv = _native.sweep(f.toml(spec, "sweep"), strict, allow_code, jobs, make(progress, "sweep"))
    return Sweep(json.loads(page), csv)


def tune(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    *,
    strict: bool = False,
    allow_code: bool = False,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Tuning:
    """Search topologies and parameters for a workload: ``spec`` is a path, a mapping or text with the keys of docs/tune.md. Without
    ``objective`` it minimises response times; every configuration must do the baseline's work.
    ``strict`` and ``allow_code`` mean the same as for :func:`run`."""
    with files() as f:
        page, text = _native.tune(f.toml(spec, "tune"), strict, allow_code, jobs, make(progress, "tune"))
    return Tuning(json.loads(page), text)


def guard(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    *,
    strict: bool = False,
    allow_code: bool = False,
    progress: bool | Progress | None = None,
) -> Verdicts:
    """Check results against bounds or a base revision: ``spec`` is a path, a mapping or text with the keys of docs/guard.md.
    ``strict`` and ``allow_code`` mean the same as for :func:`run`."""
    with files() as f:
        page, text = _native.guard(f.toml(spec, "guard"), strict, allow_code, make(progress, "guard"))
    return Verdicts(json.loads(page), text)


def gantt(
    path: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    span: tuple[Time, Time] | None = None,
    group: str | Iterable[str] = (),
) -> Path:
    """A folder of results, or a recording, as a figure for a paper: ``file`` ends in ``.svg``, ``.pdf`` or ``.tex``. ``group``:
    only tasks whose names begin so."""
    part = None if span is None else (time_ns(span[0], "span"), time_ns(span[1], "span"))
    Path(file).write_bytes(_native.gantt(os.fspath(path), part, groups(group), Path(file)))
    return Path(file)


def check(
    topologies: TopologyLike | Iterable[TopologyLike],
    machine: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    set: Settings = None,
) -> list[dict[str, Any]]:
    """Check topologies without a run: for each a dictionary with ``topology``, ``machine``, ``instances``, ``pipes``, ``depth`` (pipes
    in a row), ``cpus`` and ``warnings``. A mistake in one raises :class:`InputError`, with line and column."""
    all_of_them = [topologies] if isinstance(topologies, (str, os.PathLike, Topology)) else topologies
    with files() as f:
        names = [f.topology(t) for t in all_of_them]
        facts: list[dict[str, Any]] = json.loads(_native.check(names, f.toml(machine, "machine"), settings(set)))
    return facts


def analyze(
    topology: TopologyLike | None = None,
    machine: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    workload: WorkloadLike | None = None,
    *,
    schedulability: bool = False,
    duration: Time | None = None,
    seed: int = 1,
    set: Settings = None,
    costs: str | os.PathLike[str] | Mapping[str, Any] = "default",
    share: float = 0.1,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Analysis:
    """Find what limits a topology; or, with ``schedulability``, which task sets meet all deadlines, before any run.

    share: part of the CPU time that the scheduler may take before a machine counts as too large.
    """
    if workload is None:
        raise ValueError("name a workload")
    if topology is None and not schedulability:
        raise ValueError("name a topology")
    with files() as f:
        name, place = f.topology(topology), f.toml(machine, "machine")
        load, table = f.workload(workload), f.toml(costs, "costs")
        if schedulability or name is None:
            page, text = _native.schedulability(name, place, load, seed, settings(set), table)
        else:
            bar = make(progress, "analyze")
            page, text = _native.contention(
                name, place, load, time_ns(duration), seed, settings(set), table, share, jobs, bar
            )
    return Analysis(json.loads(page), text)


def import_trace(
    file: str | os.PathLike[str],
    *,
    fit: bool = False,
    anonymise: bool = False,
    machine: str | os.PathLike[str] | None = None,
    span: tuple[Time, Time] | None = None,
    fidelity: bool = True,
    under: TopologyLike | None = None,
    costs: str | os.PathLike[str] | Mapping[str, Any] = "recorded",
    strict: bool = False,
    progress: bool | Progress | None = None,
) -> Import:
    """A recording of perf, trace-cmd, ftrace, Perfetto or ``runweir live --record`` as a workload.

    fit: a task for each group of like threads, with distributions, instead of every step.
    anonymise: numbers instead of the names of threads.
    span: part of the recording, times from its beginning.
    fidelity: replay the workload and compare it with the recording.
    costs: for the replay, as for :func:`run`; ``"recorded"``: the default costs with the recorded machine's context switch.
    under: the scheduler that was recorded, for the replay; ``linux``, the model of the default scheduler, if left out.
    strict: what the recording asks for and that scheduler does not obey is an error.
    """
    part = None if span is None else (time_ns(span[0], "span"), time_ns(span[1], "span"))
    place = None if machine is None else os.fspath(machine)
    with files() as f:
        text, page, table = _native.import_trace(
            os.fspath(file), fit, anonymise, place, part, fidelity, f.topology(under), f.toml(costs, "costs"), strict, make(progress, "import")
        )
    return Import(Workload(text, name="imported"), json.loads(page), table)


def explain(path: str | os.PathLike[str], place: str) -> Explanation:
    """Why a task waited: ``explain("results", "web@12ms")``. ``path`` is a folder of results or a recording."""
    return Explanation(json.loads(_native.Explainer(os.fspath(path)).at(place)))


def worst(path: str | os.PathLike[str], n: int = 10, group: str | None = None) -> list[Explanation]:
    """The ``n`` longest waits that tasks did not choose, with their causes, longest first; with ``group`` those of tasks whose names
    begin so."""
    return [Explanation(e) for e in json.loads(_native.Explainer(os.fspath(path)).worst(n, group))]


def requests(path: str | os.PathLike[str], *threads: str, marker: str | None = None, slowest: int = 5) -> Requests:
    """How long a service took for its requests, across its threads: ``requests("perf.data", "nginx", "php-fpm")``. The first name is that
    of the threads that take requests, the others work on them; or ``marker="begin..end"`` names marks of the program. ``path`` is a
    folder of results or a recording."""
    if bool(threads) == (marker is not None):
        raise _native.InputError("requests are told by the names of threads, or by marker=, and not by both")
    names = ",".join(threads) if threads else None
    page, table = _native.Explainer(os.fspath(path)).requests(names, marker, slowest)
    return Requests(json.loads(page), table)


def drawing(topology: TopologyLike, machine: str | None = None, *, set: Settings = None) -> str:
    """A topology as SVG; without a machine, for the one that its first comment names, else ``smp-8``."""
    return picture(topology, machine, set)[0]


def picture(topology: TopologyLike, machine: str | None, set: Settings) -> tuple[str, list[str]]:
    """The SVG, and the names of the instances by their numbers in it."""
    with files() as f:
        return _native.drawing(f.topology(topology), machine, settings(set))


def topologies() -> dict[str, str]:
    """The topologies of the catalogue, each with a sentence."""
    return dict(_native.catalogue("topologies"))


def machines() -> dict[str, str]:
    """The machines of the catalogue; presets such as ``smp-8`` exist for every number."""
    return dict(_native.catalogue("machines"))


def workloads() -> dict[str, str]:
    """The workloads of the catalogue; generators such as ``hackbench:groups=2`` come besides."""
    return dict(_native.catalogue("workloads"))
