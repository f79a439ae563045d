#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What designs and drivers that use hw/rtl rely on: parameters and ports of the modules that an SoC instantiates, registers, fields and calls.

  tools/hw-interface.py                 print it, a fact per line
  tools/hw-interface.py --against FILE  compare with what an earlier version printed; names what is gone or new and not optional, status 1

A design of the earlier version still fits if each of its facts is there, and each new parameter has a default. A new port would be left open.
"""
import re
import sys
import tomllib
from pathlib import Path

root = Path(__file__).resolve().parent.parent
MODULES = ["weir_laxity", "weir_laxity_axil", "weir_laxity_axil_cross", "weir_kernel", "weir_unified", "weir_axil_bus", "weir_apb_bus",
           "weir_wishbone_bus", "weir_obi_bus", "weir_tlul_bus", "weir_calls_share"]


def head(name: str) -> re.Match:
    text = re.sub(r"//[^\n]*", "", (root / f"hw/rtl/{name}.sv").read_text())
    return re.search(rf"\bmodule\s+{name}\s*#\((.*?)\)\s*\((.*?)\)\s*;", text, re.S) or sys.exit(
        f"hw/rtl/{name}.sv: no module {name} with parameters and ports")


def module_facts(name: str):
    parts = head(name)
    for part in re.split(r",(?=\s*(?:parameter|localparam)\b)", parts[1]):
        words = " ".join(part.split())
        if words.startswith("parameter"):
            declared, _, default = words.removeprefix("parameter ").partition(" = ")
            yield f"{name} parameter {declared} {'has a default' if default else 'must be set'}"
    for part in re.split(r",(?=\s*(?:input|output)\b)", parts[2]):
        yield f"{name} port " + " ".join(part.split())


def map_facts():
    source = tomllib.loads((root / "hw/weir.toml").read_text())
    for r in source["laxity"]["register"]:
        many = f" x {r['count']} every {r['stride']:#x}" if "count" in r else ""
        yield f"register {r['name']} at {r['at']:#x}{many} {r['access']}"
        for f in r.get("fields", []):
            yield f"register {r['name']} field {f['name']} {f['bits'][0]}:{f['bits'][1]}"
    for name, value in source["laxity"]["values"].items():
        yield f"value {name} {value}"
    for name, a in source["address"].items():
        for f in a["fields"]:
            yield f"address of {name}: {f['name']} {f['bits'][0]}:{f['bits'][1]}"
    for unit, u in source["calls"].items():
        for c in u["call"]:
            yield f"call {unit} {u.get('unit', '-')} {c['name']} {c['number']}"
        for answer, fields in u.get("answer", {}).items():
            for f in fields:
                yield f"answer {unit} {answer} {f['name']} {f['bits'][0]}:{f['bits'][1]}"


def as_before(fact: str, known: list[str]) -> str:
    """A port whose range depends on new parameters alone, with their defaults: a design of before does not set them."""
    name, kind, *_ = fact.split()
    if kind != "port":
        return fact
    values = {}
    for part in re.split(r",(?=\s*(?:parameter|localparam)\b)", head(name)[1]):
        declared, _, default = " ".join(part.split()).partition(" = ")
        if any(f.startswith(f"{name} parameter") and f.split()[-4] == declared.split()[-1] for f in known):
            continue
        choice = re.fullmatch(r"\((.*)\) \? (.*) : (.*)", default)
        python = "({1}) if ({0}) else ({2})".format(*choice.groups()) if choice else default
        if re.fullmatch(r"[\w\s()<>+*-]+", python) and set(re.findall(r"[A-Za-z_]\w*", python)) <= {*values, "if", "else"}:
            values[declared.split()[-1]] = eval(python, {}, dict(values))
    bound = lambda m: str(eval(m[0], {}, dict(values))) if set(re.findall(r"[A-Za-z_]\w*", m[0])) <= set(values) else m[0]
    return re.sub(r"(?<=[\[:])[\w+*-]+(?=[\]:])", bound, fact)


now = [*(fact for m in MODULES for fact in module_facts(m)), *map_facts()]
if not sys.argv[1:]:
    print("\n".join(now))
elif sys.argv[1] == "--against" and len(sys.argv) == 3:
    before = Path(sys.argv[2]).read_text().splitlines()
    known = {fact.split()[0] for fact in before}
    fits = {*now, *(as_before(fact, before) for fact in now)}
    bad = [f"gone: {fact}" for fact in before if fact not in fits]
    bad += [f"new, and a design of before leaves it open: {fact}" for fact in now
            if fact not in before and as_before(fact, before) not in before and fact.split()[0] in known and (" port " in fact or fact.endswith(" must be set"))]
    print("\n".join(bad), end="\n" if bad else "")
    sys.exit(bool(bad))
else:
    sys.exit(__doc__)
