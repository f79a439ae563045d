# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Runweir: CPU schedulers made of components, simulated, compared, swept and explained.

>>> import runweir
>>> result = runweir.run("decentral", "smp-8", "hackbench:groups=2,loops=10")
>>> result.totals["context_switches"] > 0
True

Times are nanoseconds (names end with ``_ns``) unless they are strings with a unit, such as ``"1.5ms"``. Results have tables that
speak Arrow: ``result.slices.to_pandas()``, ``result.jobs.to_polars()``, ``pyarrow.table(result.tasks)``.
Wrong input raises :class:`InputError` (a ``ValueError``) with place, cause and remedy.
"""

from ._native import InputError, SystemFault, __version__
from ._native import Table
from .api import (
    analyze,
    check,
    compare,
    explain,
    gantt,
    guard,
    import_trace,
    machines,
    requests,
    run,
    sweep,
    topologies,
    tune,
    workloads,
    worst,
)
from .results import Analysis, Comparison, Explanation, Import, Requests, Result, Sweep, Tuning, Verdicts
from .texts import Topology, Workload
from .widget import Graph

__all__ = [
    "Analysis",
    "Comparison",
    "Explanation",
    "Graph",
    "Import",
    "InputError",
    "Requests",
    "Result",
    "Sweep",
    "SystemFault",
    "Table",
    "Topology",
    "Tuning",
    "Verdicts",
    "Workload",
    "__version__",
    "analyze",
    "check",
    "compare",
    "explain",
    "gantt",
    "guard",
    "import_trace",
    "machines",
    "requests",
    "run",
    "sweep",
    "topologies",
    "tune",
    "workloads",
    "worst",
]
