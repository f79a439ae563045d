#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The counts of verdicts in experiments/README.md, from the result of each experiment; and the page experiments/causes.md, which says of each
claim that does not hold, or holds partly, why: from experiments/causes.toml, which must have each of them once.

    tools/evidence.py          write them
    tools/evidence.py --check  write nothing; status 1 if they are out of date
"""

import json
import sys
import tomllib
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
# What is asked of a cause, and where it may lie.
MISSED = ("does not hold", "partly")
PLACES = ("model", "set-up", "bound", "design", "machine", "source")


def results():
    for path in sorted(FOLDER.glob("*/result.json")):
        yield path.parent.name, json.loads(path.read_text())["claims"]


def table():
    counts = {source: Counter() for source in (*SOURCES, "other work, and our own questions")}
    for experiment, claims in results():
        source = next((s for s, prefix in SOURCES.items() if experiment.startswith(prefix)), "other work, and our own questions")
        for claim in claims:
            if claim["verdict"] not in FOUND + OTHER:
                sys.exit(f"evidence: {experiment}: unknown verdict `{claim['verdict']}`")
            counts[source][claim["verdict"]] += 1
    yield "| source | hold | hold partly | do not hold | calibrated | vacuous | ours |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for source, count in counts.items():
        yield f"| {source} | " + " | ".join(str(count[verdict]) for verdict in FOUND + OTHER) + " |"
    total = sum(counts.values(), Counter())
    yield "| **all** | " + " | ".join(f"**{total[verdict]}**" for verdict in FOUND + OTHER) + " |"


def causes():
    """Each claim that does not hold, or holds partly, with its cause."""
    given = tomllib.loads((FOLDER / "causes.toml").read_text())["cause"]
    unused = {(cause["experiment"], begin) for cause in given for begin in cause["claims"]}
    for cause in given:
        if cause["of"] not in PLACES:
            sys.exit(f"evidence: causes.toml: a cause lies in one of {PLACES}, not in `{cause['of']}`")
    for experiment, claims in results():
        for claim in claims:
            if claim["verdict"] not in MISSED:
                continue
            fits = [(c, b) for c in given if c["experiment"] == experiment for b in c["claims"] if claim["claim"].startswith(b)]
            if len(fits) != 1:
                sys.exit(f"evidence: causes.toml has {len(fits)} causes for `{claim['claim']}` of {experiment}")
            unused.discard((experiment, fits[0][1]))
            yield experiment, claim, fits[0][0]
    if unused:
        sys.exit(f"evidence: causes.toml has causes of claims that hold or are not there: {sorted(unused)}")


def places(found):
    counts = Counter((claim["verdict"], cause["of"]) for _, claim, cause in found)
    yield "| | all | " + " | ".join(PLACES) + " |"
    yield "|---|" + "---:|" * (1 + len(PLACES))
    for verdict in MISSED:
        of = [counts[verdict, place] for place in PLACES]
        yield f"| {verdict.replace('partly', 'hold partly').replace('does not', 'do not')} | **{sum(of)}** | " + " | ".join(map(str, of)) + " |"


def reasons(found):
    for verdict in MISSED:
        yield f"\n## {verdict.replace('partly', 'Hold partly').replace('does not', 'Do not')}\n"
        kinds = {id(cause): cause for _, claim, cause in found if claim["verdict"] == verdict}
        for cause in kinds.values():
            claims = [claim["claim"] for _, claim, other in found if other is cause and claim["verdict"] == verdict]
            where = f"[{cause['experiment']}]({cause['experiment']}/README.md)"
            yield f"- {where}, **{cause['of']}**: *{'*; *'.join(claims)}*  "
            yield f"  {cause['why']}  "
            yield f"  *Tried, or would help:* {cause['next']}"


if __name__ == "__main__":
    found = list(causes())
    pages = (("README.md", "counts", table()), ("README.md", "causes", places(found)), ("causes.md", "reasons", reasons(found)))
    sys.exit(max(keep(FOLDER / page, mark, lines, sys.argv[1:], __doc__) for page, mark, lines in pages))
