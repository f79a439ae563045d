#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Pictures of what bench.cpp printed: docs/images/hardware-{tick,claim,transfer}.svg. For waves.sh.

Usage: draw.py FOLDER < the bench's lines
"""

import json
import pathlib
import sys

import wavedrom

TASKS = 2  # bits of a task's number


def bit(samples, name, n=0):
    """A wave of one bit of a signal."""
    values = [str(s[name] >> n & 1) for s in samples]
    return "".join("." if i and v == values[i - 1] else v for i, v in enumerate(values))


def word(samples, shown):
    """A wave of values, by what @shown says of a sample, nothing if there is none; and their texts."""
    values = [shown(s) for s in samples]
    wave = "".join("." if i and v == values[i - 1] else "x" if v is None else "=" for i, v in enumerate(values))
    return wave, [v for i, v in enumerate(values) if v is not None and (not i or v != values[i - 1])]


def signal(name, wave, data=None):
    return {"name": name, "wave": wave, **({"data": data} if data else {})}


def valued(name, samples, shown):
    return signal(name, *word(samples, shown))


def running(cpu):
    return lambda s: f"{s['task'] >> TASKS * cpu & 3}" if s["busy"] >> cpu & 1 else "idle"


def ready(s):
    return " ".join(str(t) for t in range(4) if s["ready"] >> t & 1) or "none"


def field(low):
    """A field of eight bits of SCHED."""
    return lambda s: str(s["rdata"] >> low & 255) if s["rvalid"] else None


def response(prefix):
    return lambda s: {0: "OKAY", 2: "SLVERR", 3: "DECERR"}[s[prefix + "resp"]] if s[prefix + "valid"] else None


def pictures(lines):
    names = lines[0].split()
    samples = [dict(zip(names, [f[0]] + [int(v, 16) for v in f[1:]])) for f in (line.split() for line in lines[1:])]
    part = {p: [s for s in samples if s["part"] == p] for p in ("tick", "claim", "transfer")}

    seen = part["tick"]
    first = next(i for i, s in enumerate(seen) if s["tick"])
    seen = seen[max(first - 1, 0) :][:15]
    tick = [
        signal("clock", "p" + "." * (len(seen) - 1)),
        signal("tick", bit(seen, "tick")),
        valued("ready tasks", seen, ready),
        signal("decided", bit(seen, "decided")),
        valued("CPU 0 is to run", seen, running(0)),
        valued("CPU 1 is to run", seen, running(1)),
        signal("irq[0]", bit(seen, "irq", 0)),
        signal("irq[1]", bit(seen, "irq", 1)),
    ]
    seen = part["claim"]
    claim = [
        signal("clock", "p" + "." * (len(seen) - 1)),
        signal("irq[0]", bit(seen, "irq", 0)),
        signal("arvalid", bit(seen, "arvalid")),
        signal("arready", bit(seen, "arready")),
        valued("araddr", seen, lambda s: "SCHED" if s["arvalid"] else None),
        signal("request", bit(seen, "req")),
        signal("answer", bit(seen, "answered")),
        signal("rvalid", bit(seen, "rvalid")),
        valued("rdata: task", seen, field(0)),
        valued("rdata: job", seen, field(8)),
        signal("irq[1]", bit(seen, "irq", 1)),
    ]
    seen = part["transfer"]
    transfer = [
        signal("clock", "p" + "." * (len(seen) - 1)),
        signal("awvalid", bit(seen, "awvalid")),
        signal("awready", bit(seen, "awready")),
        signal("wvalid", bit(seen, "wvalid")),
        signal("wready", bit(seen, "wready")),
        signal("bvalid", bit(seen, "bvalid")),
        valued("bresp", seen, response("b")),
        {},
        signal("arvalid", bit(seen, "arvalid")),
        signal("arready", bit(seen, "arready")),
        signal("rvalid", bit(seen, "rvalid")),
        valued("rresp", seen, response("r")),
        {},
        signal("request", bit(seen, "req")),
    ]
    return {"tick": tick, "claim": claim, "transfer": transfer}


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    for name, signals in pictures(sys.stdin.read().splitlines()).items():
        wave = json.dumps({"signal": signals, "config": {"hscale": 1 if name == "tick" else 2}, "foot": {"tock": 0}})
        wavedrom.render(wave).saveas(str(folder / f"hardware-{name}.svg"))
    return 0


sys.exit(main())
