#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Run libgomp's own test suite, in C, C++ and Fortran, with this project's OpenMP library.

Debian's package gcc-12-source has the suite; nothing of it is here. A test counts as right if it ends as it does with libgomp itself: what
fails there too is left out and said.

    tests/threads/libgomp-suite.py RUNWEIR [--ways ours,decentral,priority] [--keep DIR] [PATTERN...]

`ours` is the library without a policy; other ways are policies, under `RUNWEIR threads`. Tests of OpenACC are left out: its interface is
absent. `--keep` is a folder for compiled tests, which a second run finds there. PATTERNs are regular expressions for names of tests.

Ends with 0 if all tests are right, 1 if not, 77 if the suite or a compiler is missing.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

FOLDERS = ["libgomp.c", "libgomp.c-c++-common", "libgomp.c++", "libgomp.fortran"]
# What a test says of itself, in DejaGnu's words.
DIRECTIVE = re.compile(r"\{ dg-([a-z-]+)\s*(.*?)\s*\}\s*(?:\*/|$)", re.MULTILINE)
# Conditions that hold on this machine; all others are taken as not met.
HERE = re.compile(r"\*-\*-\*|\*-\*-linux|x86_64|i\?86|lp64|vect_|pthread|tls|sync|avx|pie")
DEVICES = re.compile(r"offload|nvptx|gcn|openacc|device")


class Test:
    def __init__(self, suite, folder, name):
        self.folder, self.name = folder, name
        self.path = f"{suite}/{folder}/{name}"
        self.options, self.env, self.more = [], {}, []
        self.why = ""
        self.compiler = {"c": "gcc", "C": "g++"}.get(name.rsplit(".", 1)[-1], "gfortran")
        kind = "run"
        with open(self.path, errors="replace") as file:
            text = file.read()
        for what, words in DIRECTIVE.findall(text):
            condition = words.split("target", 1)[1] if "target" in words else ""
            met = not condition or HERE.search(condition)
            if what == "do":
                kind = words.split()[0]
                if not met:
                    self.why = f"for {condition.strip()}"
            elif what in ("options", "additional-options") and met:
                quoted = re.match(r'"([^"]*)"', words)
                self.options += quoted[1].split() if quoted else []
            elif what == "set-target-env-var":
                variable = re.match(r'(\S+)\s+"([^"]*)"', words)
                if variable:
                    self.env[variable[1]] = variable[2]
            elif what == "additional-sources":
                self.more += [f"{suite}/{folder}/{source.strip(chr(34))}" for source in words.split()]
            elif what == "require-effective-target" and DEVICES.search(words):
                self.why = f"needs {words.split()[0]}"
        if kind != "run":
            self.why = f"is only to {kind}"

    def build(self, suite, keep):
        self.program = f"{keep}/{self.folder}-{self.name}.exe"
        if self.why or os.path.exists(self.program):
            return
        command = [self.compiler, "-fopenmp", "-O2", "-w", "-foffload=disable", f"-I{suite}/..", f"-I{suite}/{self.folder}"]
        command += [*self.options, self.path, *self.more, "-o", self.program, "-lm", "-latomic"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=keep)
        if done.returncode:
            self.why = "does not compile here"

    def status(self, command, preload, limit, keep):
        """How it ends: its status, or None after the limit."""
        env = dict(os.environ, **self.env)
        if preload:
            env["LD_PRELOAD"] = preload
        try:
            return subprocess.run([*command, self.program], env=env, capture_output=True, timeout=limit, cwd=keep).returncode
        except subprocess.TimeoutExpired:
            return None


def lines_of(test, suite, keep, runweir, ways, limit):
    """What is wrong, a line each; or why it was left out."""
    test.build(suite, keep)
    if test.why:
        return []
    plain = test.status([], None, limit, keep)
    # (A status above 0 may be what a test wants.)
    if plain is None or plain < 0:
        test.why = "fails with libgomp, too"
        return []
    gomp = os.path.realpath(os.path.join(os.path.dirname(runweir), "../threads/libweir_gomp.so"))
    wrong = []
    for way in ways:
        command, preload = ([], gomp) if way == "ours" else ([runweir, "threads", way, "--"], None)
        status = test.status(command, preload, limit, keep)
        # Once more before it is said: a machine that does other work makes a test of times fail.
        if status != plain and test.status(command, preload, limit, keep) != plain:
            wrong.append(f"{way}: {'no end' if status is None else f'status {status}'}, with libgomp {plain}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runweir")
    parser.add_argument("--ways", default="ours,decentral,priority")
    parser.add_argument("--keep")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a test")
    parser.add_argument("patterns", nargs="*")
    words = parser.parse_args()
    archives = glob.glob("/usr/src/gcc-12/gcc-12*.tar.xz")
    if not archives or not shutil.which("g++") or not shutil.which("gfortran"):
        print("skipped: no gcc-12-source, g++ or gfortran (apt-get install gcc-12-source g++ gfortran)")
        return 77
    runweir = os.path.realpath(words.runweir)
    with tempfile.TemporaryDirectory() as temporary:
        keep = words.keep or temporary
        os.makedirs(keep, exist_ok=True)
        if not glob.glob(f"{keep}/gcc-12*"):
            with tarfile.open(archives[0]) as archive:
                archive.extractall(keep, [m for m in archive if "/libgomp/testsuite/libgomp." in m.name or re.search(r"/libgomp/[^/]*\.h$", m.name)])
        suite = glob.glob(f"{keep}/gcc-12*/libgomp/testsuite")[0]
        tests = [
            Test(suite, folder, name)
            for folder in FOLDERS
            for name in sorted(os.listdir(f"{suite}/{folder}"))
            if re.search(r"\.(c|C|f|F|f90|F90|f03|f08)$", name) and (not words.patterns or any(re.search(p, name) for p in words.patterns))
        ]
        right = wrong = 0
        left = {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
            ran = pool.map(lambda t: lines_of(t, suite, keep, runweir, words.ways.split(","), words.limit), tests)
            for test, lines in zip(tests, ran):
                if test.why:
                    left[test.why] = left.get(test.why, 0) + 1
                    continue
                right += not lines
                wrong += bool(lines)
                for line in lines:
                    print(f"{test.folder}/{test.name}: {line}", flush=True)
    print(f"{right} tests right, {wrong} wrong; left out: " + ", ".join(f"{n} {why}" for why, n in sorted(left.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
