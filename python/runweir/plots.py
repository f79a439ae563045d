# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Pictures of results; they need the extra ``plot`` (matplotlib)."""

from __future__ import annotations

from typing import Any

from .results import Comparison, Result, Sweep


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(8, 3.5))[1]


def gantt(result: Result, *, begin_ns: int = 0, end_ns: int | None = None, ax: Any = None) -> Any:
    """Which task ran where: a bar for each slice between two times, a row for each CPU, a colour for each task."""
    ax = _axes(ax)
    end_ns = result.summary["duration_ns"] if end_ns is None else end_ns
    table = result.slices
    columns = [table.column(c) for c in ("task", "cpu", "begin_ns", "end_ns")]
    rows: dict[int, list[tuple[float, float]]] = {}
    places: dict[int, list[int]] = {}
    for task, cpu, begin, end in zip(*columns, strict=True):
        if end > begin_ns and begin < end_ns:
            b, e = max(begin, begin_ns), min(end, end_ns)
            rows.setdefault(task, []).append((b / 1e6, (e - b) / 1e6))
            places.setdefault(task, []).append(cpu)
    for task, bars in rows.items():
        for bar, cpu in zip(bars, places[task], strict=True):
            ax.broken_barh([bar], (cpu - 0.4, 0.8), facecolors=f"C{task % 10}")
    ax.set(xlabel="time (ms)", ylabel="CPU", xlim=(begin_ns / 1e6, end_ns / 1e6))
    return ax


def success(sweep: Sweep, x: str, *, by: str = "topology", ax: Any = None) -> Any:
    """Share of runs without a missed deadline along ``x``, with Wilson's 95 % intervals as bands."""
    ax = _axes(ax)
    low, high = sweep.curve(x, "success_low", by), sweep.curve(x, "success_high", by)
    for name, points in sweep.curve(x, by=by).items():
        xs = [p[0] for p in points]
        (line,) = ax.plot(xs, [p[1] for p in points], marker="o", label=name)
        ax.fill_between(xs, [p[1] for p in low[name]], [p[1] for p in high[name]], alpha=0.2, color=line.get_color())
    ax.set(xlabel=x, ylabel="runs without a miss", ylim=(-0.02, 1.02))
    ax.legend()
    return ax


def bars(comparison: Comparison, path: str, *, ax: Any = None) -> Any:
    """A value of each topology by its path, ``"response_ns.p99"``: the mean over the seeds, with the range."""
    ax = _axes(ax)
    values = {name: [v for v in vs if v is not None] for name, vs in comparison.values(path).items()}
    names = [n for n, vs in values.items() if vs]
    means = [sum(values[n]) / len(values[n]) for n in names]
    spread = [[m - min(values[n]) for n, m in zip(names, means)], [max(values[n]) - m for n, m in zip(names, means)]]
    ax.bar(names, means, yerr=spread, capsize=4)
    ax.set(ylabel=path)
    return ax
