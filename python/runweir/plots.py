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


def _unit(path: str, largest: float) -> tuple[str, float]:
    """The unit of a value by its path, and how many base units it is: times in the unit that suits them."""
    if "_ns" not in path:
        return "", 1.0
    for name, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if largest >= scale:
            return f" ({name})", scale
    return " (ns)", 1.0


def gantt(result: Result, *, begin_ns: int = 0, end_ns: int | None = None, ax: Any = None) -> Any:
    """Draw which task ran when: a row for each task, a colour for each CPU, arrows for releases (up) and deadlines (down), misses red.

    :meth:`Result.gantt` writes the same as a figure for a paper, without matplotlib."""
    from matplotlib.artist import Artist
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    end_ns = result.summary["duration_ns"] if end_ns is None else end_ns
    table = result.slices
    slices = list(zip(*(table[c] for c in ("task", "name", "cpu", "begin_ns", "end_ns")), strict=True))
    slices = [s for s in slices if s[4] > begin_ns and s[3] < end_ns]
    names = {task: name for task, name, *_ in slices}
    rows = {task: row for row, task in enumerate(sorted(names))}
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(8, max(2.0, 0.45 * len(rows) + 1.2)))[1]
    cpus = sorted({s[2] for s in slices})
    for task, _, cpu, begin, end in slices:
        b, e = max(begin, begin_ns), min(end, end_ns)
        ax.broken_barh([(b / 1e6, (e - b) / 1e6)], (rows[task] - 0.3, 0.6), facecolors=f"C{cpu % 10}")
    marks: list[Artist] = [Patch(color=f"C{cpu % 10}", label=f"CPU {cpu}") for cpu in cpus]
    try:
        jobs = result.jobs
    except AttributeError:
        jobs = None
    if jobs is not None and len(jobs):
        arrow = dict(arrowstyle="->", shrinkA=0, shrinkB=0)
        for task, release, deadline, missed in zip(*(jobs[c] for c in ("task", "release_ns", "deadline_ns", "missed")), strict=True):
            if task not in rows:
                continue
            low, high = rows[task] - 0.3, rows[task] + 0.45
            if begin_ns <= release <= end_ns:
                ax.annotate("", (release / 1e6, high), (release / 1e6, low), arrowprops=arrow | {"color": "black"})
            if deadline is not None and begin_ns <= deadline <= end_ns:
                ax.annotate("", (deadline / 1e6, low), (deadline / 1e6, high), arrowprops=arrow | {"color": "red" if missed else "grey"})
        marks += [
            Line2D([], [], color="black", marker="^", linestyle="", label="release"),
            Line2D([], [], color="grey", marker="v", linestyle="", label="deadline"),
            Line2D([], [], color="red", marker="v", linestyle="", label="missed"),
        ]
    ax.set_yticks(list(rows.values()), [names[task] for task in rows])
    ax.set(xlabel="time (ms)", xlim=(begin_ns / 1e6, end_ns / 1e6), ylim=(len(rows) - 0.4, -0.6))
    ax.legend(handles=marks, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
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
    ax.legend(title=by)
    return ax


def bars(comparison: Comparison, path: str, *, ax: Any = None) -> Any:
    """A value of each topology by its path, ``"response_ns.p99"``: the mean over the seeds, with the range."""
    ax = _axes(ax)
    values = {name: [v for v in vs if v is not None] for name, vs in comparison.values(path).items()}
    names = [n for n, vs in values.items() if vs]
    means = [sum(values[n]) / len(values[n]) for n in names]
    unit, scale = _unit(path, max(means, default=0.0))
    spread = [
        [(m - min(values[n])) / scale for n, m in zip(names, means)],
        [(max(values[n]) - m) / scale for n, m in zip(names, means)],
    ]
    ax.bar(names, [m / scale for m in means], yerr=spread, capsize=4)
    ax.set(ylabel=f"{path.replace('_ns', '')}{unit}")
    return ax
