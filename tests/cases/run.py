#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Run a folder of cases: inputs of users with what is right for them. A line each: right, or not, with the reason.

    tests/cases/run.py [DIR]... [--runweir PROGRAM]

A case is a folder with inputs and `case.toml`; a folder without one takes `tests/cases/checks/NAME.toml`, so that inputs of
others can be tried where they lie. Without DIR, the cases beside this file. `case.toml`:

    right = "what is right, in a sentence"
    [[run]]
    shell = "..."               # a script for bash in an empty folder, with $RUNWEIR and $CASE, instead of args; exit status 77: not here
    [[run]]
    args = ["run", "-t", "linux", "-m", "smp-4", "-w", "app.json", "--json"]
    exit = 0                    # 0 if it is left out
    says = ["did you mean"]     # on stderr
    hushes = ["panicked"]       # not on stderr
    holds = ["task('taker')['jobs'] == 5"]   # of the result: `r`, `task(NAME)`, `tasks(NAME)`, `cpu(NAME)`, `ignored(SETTING)`, `out`, `ms`

    elsewhere = "why this program cannot try it, and what does"    # instead of all the above

Exit status: 0 if all are right.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ms = 1_000_000
# What claims may use besides the result.
BUILTINS = {"all": all, "any": any, "len": len, "abs": abs, "sum": sum, "max": max, "min": min}


class Elsewhere(str):
    """Why a run cannot be tried here."""


def fails(run, folder, program):
    """Why a run is not right; None if it is."""
    args = run.get("args", [])
    command = ["bash", "-euc", run["shell"]] if "shell" in run else [program, *args]
    environment = {**os.environ, "RUNWEIR": program, "CASE": str(folder.resolve())}
    with tempfile.TemporaryDirectory() as empty:
        place = empty if "shell" in run else folder
        try:
            done = subprocess.run(
                command, cwd=place, env=environment, capture_output=True, text=True, errors="replace", timeout=run.get("limit", 120)
            )
        except subprocess.TimeoutExpired:
            return "no end within the time limit"
    where = "the script: " if "shell" in run else f"`{' '.join(args)}`: "
    if "shell" in run and done.returncode == 77:
        return Elsewhere("; ".join(done.stderr.split("\n")[-2:]).strip("; ") or "it cannot be tried here")
    expected = run.get("exit", 0)
    if done.returncode != expected:
        last = " ".join(done.stderr.split())[:300]
        return f"{where}exit status {done.returncode}, not {expected}: {last}"
    # Lines are broken to fit a terminal, with a bar before what continues.
    said = " ".join(done.stderr.replace("│", " ").split())
    for text in run.get("says", []):
        if text not in said:
            return f"{where}does not say `{text}`; it says: {said[:300]}"
    for text in ["panicked at", *run.get("hushes", [])]:
        if text in said:
            return f"{where}says `{text}`"
    result = {}
    if "--json" in args and done.stdout.strip():
        try:
            result = json.loads(done.stdout)
        except json.JSONDecodeError as error:
            return f"{where}stdout is no JSON: {error}"

    def tasks(name):
        return [t for t in result["tasks"] if t["name"] == name or t["name"].startswith(name + "-")]

    def ignored(setting, value=None):
        return [i for i in result["ignored"] if i["setting"] == setting and (value is None or i.get("value") == value)]

    words = {
        "r": result, "out": done.stdout, "err": said, "ms": ms, "tasks": tasks, "task": lambda name: tasks(name)[0],
        "cpu": lambda name: sum(t["cpu_ns"] for t in tasks(name)), "ignored": ignored,
    }
    for claim in run.get("holds", []):
        try:
            holds = eval(claim, {"__builtins__": BUILTINS, **words})
        except Exception as error:  # a claim that cannot be tried is not right
            return f"{where}`{claim}` cannot be tried: {error!r}"
        if not holds:
            return f"{where}not so: `{claim}`"
    return None


def main():
    words = sys.argv[1:]
    program = os.environ.get("RUNWEIR", str(HERE.parent.parent / "target/debug/runweir"))
    if "--runweir" in words:
        at = words.index("--runweir")
        program = words[at + 1]
        del words[at : at + 2]
    program = str(pathlib.Path(program).resolve())
    folders = [pathlib.Path(w) for w in words] or [HERE]
    wrong = 0
    for folder in folders:
        cases = sorted(c for c in folder.iterdir() if c.is_dir() and c != HERE / "checks")
        if not cases:
            sys.exit(f"cases: {folder} has no cases")
        for case in cases:
            file = case / "case.toml"
            if not file.exists():
                file = HERE / "checks" / f"{case.name}.toml"
            if not file.exists():
                print(f"-      {case.name}: nothing here says what is right")
                continue
            spec = tomllib.loads(file.read_text())
            if "elsewhere" in spec:
                print(f"-      {case.name}: {spec['elsewhere']}")
                continue
            reasons = [why for run in spec["run"] if (why := fails(run, case, program))]
            if reasons and all(isinstance(why, Elsewhere) for why in reasons):
                print(f"-      {case.name}: {'; '.join(reasons)}")
                continue
            wrong += bool(reasons)
            print(f"{'not   ' if reasons else 'right '} {case.name}: {'; '.join(reasons) if reasons else spec['right']}", flush=True)
    sys.exit(1 if wrong else 0)


main()
