#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A netlist of LUTs and flip-flops, from Yosys' JSON to the lines that activity.cpp reads.

net 0 and net 1 are the constants. A line is one of
  port NAME NET…                    lowest bit first
  lut OUT TABLE IN…                 bit i of TABLE: the output where the inputs read i
  ff OUT IN ENABLE POLARITY RESET   ENABLE -1: none; RESET: value at reset, x: not reset
"""
import json
import re
import sys

module = next(m for m in json.load(open(sys.argv[1]))["modules"].values() if "cells" in m and "top" in m["attributes"])
nets: dict[object, int] = {"0": 0, "1": 1, "x": 0}


def net(bit: object) -> int:
    # 0 and x are one net.
    return nets.setdefault(bit, len(nets) - 1)


lines = []
for name, port in module["ports"].items():
    lines.append(" ".join(["port", name, *(str(net(b)) for b in port["bits"])]))
for cell in module["cells"].values():
    kind, pins = cell["type"], cell["connections"]
    if kind == "$lut":
        table = int(cell["parameters"]["LUT"].replace("x", "0"), 2)
        lines.append(" ".join(map(str, ["lut", net(pins["Y"][0]), table, *map(net, pins["A"])])))
    elif found := re.fullmatch(r"\$_DFF(E?)_P(N[01])?([NP]?)_", kind):
        enable = net(pins["E"][0]) if found[1] else -1
        reset = found[2][1] if found[2] else "x"
        lines.append(f"ff {net(pins['Q'][0])} {net(pins['D'][0])} {enable} {int(found[3] != 'N')} {reset}")
    elif kind != "$scopeinfo":
        sys.exit(f"netlist.py: {kind}: not known")
print("nets", len(nets) - 1)
print("\n".join(lines))
