# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the functions return."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import _native
from .texts import Workload, did_you_mean, groups

_STYLE = "font:12px/1.4 monospace;white-space:pre;margin:0"


def _pre(text: str) -> str:
    return f'<pre style="{_STYLE}">{html.escape(text)}</pre>'


class Result:
    """One run. Times are nanoseconds.

    summary: everything of ``summary.json`` as a dictionary. totals: its sums over the run.
    tasks, cpus, pipes: a row each. jobs, slices, waits: what happened, in order of its end; see the columns.
    ``r.slices["cpu"]`` is a column, ``r.slices[0]`` a row; ``r.slices.to_pandas()`` and ``.to_polars()`` are data frames with durations. All
    are also Arrow tables: ``pyarrow.table(r.slices)``, ``polars.DataFrame(r.slices)``, with times in ns.
    """

    def __init__(self, made: _native.Run) -> None:
        self._made = made
        self.summary: dict[str, Any] = json.loads(made.summary)
        self.warnings: list[str] = made.warnings

    @property
    def totals(self) -> dict[str, int]:
        """Sums over the run: jobs, deadline misses, switches, migrations, times in ns."""
        return self.summary["totals"]

    @property
    def tasks(self) -> _native.Table:
        """A row a task: CPU time, waits, jobs, misses, quantiles of response times and wake-ups, ns."""
        return self._table("tasks")

    @property
    def cpus(self) -> _native.Table:
        """A row a CPU: busy, idle, scheduler, lock and offline time, ns."""
        return self._table("cpus")

    @property
    def pipes(self) -> _native.Table:
        """A row a pipe: time its lock was held and waited for, ns; greatest and mean number of tasks."""
        return self._table("pipes")

    @property
    def jobs(self) -> _native.Table:
        """A row a job: release, deadline, end, response time, ns; missed, dropped."""
        return self._table("jobs")

    @property
    def slices(self) -> _native.Table:
        """A row each time that a task ran: CPU, begin, end, ns; why it ended."""
        return self._table("slices")

    @property
    def waits(self) -> _native.Table:
        """A row each time that a task waited: what for (``cpu``, ``mutex`` …), begin, end, ns; the CPU and the pipe in the end; ``other``:
        which task woke it, or which had the lock."""
        return self._table("waits")

    def _table(self, name: str) -> _native.Table:
        table = self._made.table(name)
        if table is None:
            raise AttributeError(f"the run was made without the table {name!r}: add it to tables=")
        return table

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write ``summary.json``, tables, ``trace.pftrace`` and ``report.html`` into a folder. The run is made again for it."""
        self._made.save(Path(folder), force)

    def trace(self, path: str | os.PathLike[str] | None = None) -> bytes | Path:
        """The run as a Perfetto trace, for ui.perfetto.dev: its bytes, or written to ``path``. The run is made again."""
        with tempfile.TemporaryDirectory(prefix="runweir-") as folder:
            self.save(Path(folder) / "run")
            made = Path(folder) / "run" / "trace.pftrace"
            if path is None:
                return made.read_bytes()
            shutil.copyfile(made, path)
            return Path(path)

    def report(self) -> str:
        """The report of the run, one HTML page without references to the network. The run is made again."""
        with tempfile.TemporaryDirectory(prefix="runweir-") as folder:
            self.save(Path(folder) / "run")
            return (Path(folder) / "run" / "report.html").read_text(encoding="utf-8")

    def explain(self, place: str) -> Explanation:
        """Why a task waited: ``r.explain("web@12ms")``. The run is made again for its trace."""
        return Explanation(json.loads(self._explainer().at(place)))

    def worst(self, n: int = 10, group: str | None = None) -> list[Explanation]:
        """The ``n`` longest waits that tasks did not choose, with their causes; with ``group`` those of tasks whose names begin so."""
        return [Explanation(e) for e in json.loads(self._explainer().worst(n, group))]

    def gantt(
        self, path: str | os.PathLike[str], *, span: tuple[int, int] | None = None, group: str | Iterable[str] = ()
    ) -> Path:
        """The run as a figure for a paper, ``path`` ends in ``.svg``, ``.pdf`` or ``.tex``. ``span``: from when to when, ns; ``group``: only
        tasks whose names begin so. The run is made
        again."""
        with tempfile.TemporaryDirectory(prefix="runweir-") as folder:
            self.save(Path(folder) / "run")
            Path(path).write_bytes(_native.gantt(str(Path(folder) / "run"), span, groups(group), Path(path)))
        return Path(path)

    def _explainer(self) -> _native.Explainer:
        with tempfile.TemporaryDirectory(prefix="runweir-") as folder:
            path = Path(folder) / "trace.pftrace"
            self.trace(path)
            return _native.Explainer(str(path))

    def __str__(self) -> str:
        return self._made.text

    def __repr__(self) -> str:
        s = self.summary
        return f"<runweir.Result: {s['workload']} under {s['topology']} on {s['machine']}, {s['duration_ns'] / 1e6:g} ms>"

    def _repr_html_(self) -> str:
        return f'{_pre(self._made.text)}<div style="max-width:100%;overflow:auto">{self._made.drawing}</div>'


class Comparison:
    """Several schedulers. ``runs``: the summaries, topology by topology, seed by seed."""

    def __init__(self, page: dict[str, Any], text: str, warnings: list[str]) -> None:
        self.page = page
        self.warnings = warnings
        self._text = text

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The summary of each run, as in ``summary.json``."""
        return self.page["runs"]

    def values(self, path: str) -> dict[str, list[float | None]]:
        """A value of each run by its path, ``"totals.migrations"`` or ``"response_ns.p99"``: a list per topology, an entry per seed."""
        out: dict[str, list[float | None]] = {}
        for run in self.runs:
            value: Any = run
            for key in path.split("."):
                if not isinstance(value, dict) or key not in value:
                    known = list(value) if isinstance(value, dict) else []
                    raise _native.InputError(f"{path!r}: there is no {key!r}; {did_you_mean(key, known)}")
                value = value[key]
            out.setdefault(run["topology"], []).append(value)
        return out

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<runweir.Comparison of {', '.join(self.page['topologies'])}: {len(self.runs)} runs>"

    def _repr_html_(self) -> str:
        return _pre(self._text)


class Sweep:
    """A grid. ``points``: for each its parameters, the share of runs without a missed deadline with Wilson's interval
    (``success_ratio``, ``success_low``, ``success_high``), and under ``mean`` and ``mean_ci95`` the mean of every number with half of its
    95 % interval."""

    def __init__(self, page: dict[str, Any], text: str) -> None:
        self.page = page
        self.csv = text

    @property
    def points(self) -> list[dict[str, Any]]:
        """A dictionary per grid point."""
        return self.page["points"]

    def curve(self, x: str, y: str = "success_ratio", by: str = "topology") -> dict[str, list[tuple[float, float]]]:
        """Points of a curve for each value of ``by``: ``x`` as a number (without its unit), and ``y``."""
        out: dict[str, list[tuple[float, float]]] = {}
        for p in self.points:
            at = p[self._column(p, x)]
            number = at if isinstance(at, (int, float)) else float(str(at).rstrip("%abcdefghijklmnopqrstuvwxyzµ "))
            value = p["mean"][y] if y in p["mean"] else p[self._column(p, y, list(p["mean"]))]
            out.setdefault(str(p[self._column(p, by)]), []).append((number, value))
        return out

    @staticmethod
    def _column(point: dict[str, Any], name: str, more: list[str] | None = None) -> str:
        """A column by its name, ``"util"`` for ``"keys.util"``."""
        for known in (name, f"keys.{name}", f"set.{name}"):
            if known in point:
                return known
        names = [n for n in point if n not in ("mean", "mean_ci95")] + (more or [])
        short = [n.removeprefix("keys.").removeprefix("set.") for n in names]
        raise _native.InputError(f"the sweep has no column {name!r}; {did_you_mean(name, short)}")

    def __repr__(self) -> str:
        return f"<runweir.Sweep {self.page['name']!r}: {len(self.points)} points, {self.page['seeds']} seeds>"

    def _repr_html_(self) -> str:
        rows = list(csv.reader(io.StringIO(self.csv)))
        keep = [i for i, name in enumerate(rows[0]) if i < 12 and not name.endswith("_ci")]
        cells = lambda row, tag: "".join(f"<{tag}>{html.escape(row[i])}</{tag}>" for i in keep)
        body = "".join(f"<tr>{cells(r, 'td')}</tr>" for r in rows[1:201])
        return f"<table><thead><tr>{cells(rows[0], 'th')}</tr></thead><tbody>{body}</tbody></table>"


class Analysis:
    """The answer of :func:`runweir.analyze`; ``page`` has all of it."""

    def __init__(self, page: dict[str, Any], text: str) -> None:
        self.page = page
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<runweir.Analysis: {self._text.splitlines()[0] if self._text else ''}>"

    def _repr_html_(self) -> str:
        return _pre(self._text)


class Import:
    """An imported recording: ``workload`` for :func:`runweir.run`, and ``fidelity``, which compares it with the recording."""

    def __init__(self, workload: Workload, page: dict[str, Any], text: str) -> None:
        self.workload = workload
        self.page = page
        self._text = text

    @property
    def fidelity(self) -> dict[str, Any] | None:
        """Recorded and replayed figures of all threads and of the groups with the most CPU time; ns."""
        return self.page["fidelity"]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<runweir.Import from {self.page['source']}: {self.page['tasks']} tasks on {self.page['machine']}>"

    def _repr_html_(self) -> str:
        return _pre(self._text)


class Tuning:
    """The result of :func:`runweir.tune`: ``best`` (a configuration, or None where no gain is certain), ``front``, ``baseline``."""

    def __init__(self, page: dict[str, Any], text: str) -> None:
        self.page = page
        self._text = text

    @property
    def best(self) -> dict[str, Any] | None:
        """Topology, settings, objectives, gains in percent, and under ``others`` what else changed."""
        at = self.page["best"]
        return None if at is None else self.page["front"][at]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        best = self.best
        return f"<runweir.Tuning: {best['topology'] if best else 'nothing certain'} of {len(self.page['trials'])} trials>"

    def _repr_html_(self) -> str:
        return _pre(self._text)


class Verdicts:
    """The result of :func:`runweir.guard`: ``passed``, and every check in ``page``."""

    def __init__(self, page: dict[str, Any], text: str) -> None:
        self.page = page
        self._text = text

    @property
    def passed(self) -> bool:
        """All bounds hold."""
        return bool(self.page["passed"])

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<runweir.Verdicts: {'passed' if self.passed else 'FAILED'}, {len(self.page['checks'])} checks>"

    def _repr_html_(self) -> str:
        return _pre(self._text)


class Requests:
    """How long requests took. ``count``, ``latency_ns``, ``parts`` (who decided when they ended), ``slowest``, ``notes``."""

    def __init__(self, page: dict[str, Any], text: str) -> None:
        self.page = page
        self._text = text

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("page", {}):
            return self.page[name]
        raise AttributeError(name)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<runweir.Requests: {self.page['count']}, p99 {self.page['latency_ns']['p99']} ns>"

    def _repr_html_(self) -> str:
        return _pre(self._text)


class Explanation:
    """Why a task waited. ``cause`` is the main one, ``causes`` all with their shares, ``steps`` the chain, ``text`` a paragraph."""

    def __init__(self, page: dict[str, Any]) -> None:
        self.page = page

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("page", {}):
            return self.page[name]
        raise AttributeError(name)

    def __str__(self) -> str:
        return self.page["text"]

    def __repr__(self) -> str:
        return f"<runweir.Explanation: {self.page['task']['name']} for {self.page['ns']} ns, {self.page['cause']}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.page['text'])}</p>"
