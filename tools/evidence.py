#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The counts of verdicts in experiments/README.md, from the result of each experiment.

    tools/evidence.py          write them
    tools/evidence.py --check  write nothing; status 1 if they are out of date
"""

import json
import sys
from collections import Counter
from pathlib import Path

from generated import keep

FOLDER = Path(__file__).resolve().parent.parent / "experiments"
# Source, and how the names of its experiments begin; the others are ours.
SOURCES = {
    "0: CoBaS, schedulers made of components": "cobas-",
    "1: the multikernel with gangs": "multikernel-",
    "2: least laxity in hardware": "llf-",
    "3: one priority for threads and interrupts": "unified-",
    "4: fair scheduling by counters": "pmc-",
}
FOUND = ("holds", "partly", "does not hold")
OTHER = ("calibrated", "vacuous", "own")


def table():
    counts = {source: Counter() for source in (*SOURCES, "other work, and our own questions")}
    for path in sorted(FOLDER.glob("*/result.json")):
        source = next((s for s, prefix in SOURCES.items() if path.parent.name.startswith(prefix)), "other work, and our own questions")
        for claim in json.loads(path.read_text())["claims"]:
            if claim["verdict"] not in FOUND + OTHER:
                sys.exit(f"evidence: {path}: unknown verdict `{claim['verdict']}`")
            counts[source][claim["verdict"]] += 1
    yield "| source | hold | hold partly | do not hold | calibrated | vacuous | ours |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for source, count in counts.items():
        yield f"| {source} | " + " | ".join(str(count[verdict]) for verdict in FOUND + OTHER) + " |"
    total = sum(counts.values(), Counter())
    yield "| **all** | " + " | ".join(f"**{total[verdict]}**" for verdict in FOUND + OTHER) + " |"


if __name__ == "__main__":
    sys.exit(keep(FOLDER / "README.md", "counts", table(), sys.argv[1:], __doc__))
