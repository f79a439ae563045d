#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""tools/kernels.py [--check]: which lines of the Linux runtime are there because kernels differ, by version, as tables in Markdown.

A line counts for a version if its statement names something that the version brought: a function or a field that is looked up when the program is
loaded, or what of ours is for that version alone. A function of ours that is for one version alone counts whole. Comments and tests do not count. The second
table has the commits to the runtime whose subjects name kernel versions, by git. With --check, complain if docs/porting.md does not have these rows.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/porting.md"
KERNEL_SIDE = ["runtimes/linux", "core/port/bpf"]
LOADER = ["crates/weir-linux/src"]

# What a version brought: why it matters, names in statements, functions of ours that are for it alone.
VERSIONS = {
    ("v6.12", "v6.13"): (
        "`dispatch` and `consume` have other names",
        ["scx_bpf_dispatch___compat", "scx_bpf_consume___compat", "scx_bpf_dsq_insert___compat", "scx_bpf_dsq_move_to_local___compat"],
        [],
    ),
    ("v6.13", "v6.14"): (
        "a program may switch interrupts off",
        ["bpf_local_irq_save___compat", "bpf_local_irq_restore___compat"],
        [],
    ),
    ("v6.14", "v6.15"): (
        "timers expire at once, interrupts are seen, counters may be read",
        ["scx_bpf_events___compat", "scx_event_stats", "SCX_EV_SELECT_CPU_FALLBACK", "__preempt_count", "TIMERS_AT_ONCE", "any_timer_news", "weir_shows_interrupts", "this kernel lets no scheduler read them"],
        ["weir_shows_interrupts", "weir_in_interrupt"],
    ),
    ("v6.15", "v6.16"): ("", [], []),
    ("v6.16", "v6.17"): (
        "limits of control groups are reported",
        ["bw_period_us", "bw_quota_us", "bw_burst_us", "cgroup_set_bandwidth", "does not report limits"],
        ["weir_cgroup_set_bandwidth"],
    ),
    ("v6.17", "v6.18"): ("", [], []),
    ("v6.18", "v6.19"): (
        "second versions of two functions; a slice is set by a call",
        ["scx_bpf_dsq_insert___v2___compat", "scx_bpf_task_set_slice___compat", "scx_bpf_reenqueue_local___compat", "scx_bpf_reenqueue_local___v2___compat"],
        [],
    ),
    ("v6.19", "v7.0"): ("", [], []),
    ("v7.0", "v7.1"): (
        "a second version of one function",
        ["scx_bpf_dsq_move_to_local___v2___compat"],
        [],
    ),
    ("v7.1", "v7.2"): (
        "functions that are verified alone no longer count in a chain of calls",
        ["MAX_FRAMES", "DEEP_CHAINS", "max_frames"],
        ["max_frames"],
    ),
    ("v7.2", "v7.3"): ("", [], []),
}
# Looked up at load time because of how a kernel is built, whatever its version.
BY_BUILD = ["args->cgroup"]


def sources(folders):
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [f for f in listed if f.endswith((".c", ".h", ".rs")) and "/tests" not in f]


def code(path):
    """The file's lines without comments and tests."""
    lines = []
    comment = False
    for line in (ROOT / path).read_text().splitlines():
        if line.startswith("#[cfg(test)]"):
            break
        if comment:
            comment = "*/" not in line
            continue
        line = re.sub(r"/\*.*?\*/|//.*", "", line)
        if "/*" in line:
            line, comment = line[: line.index("/*")], True
        lines.append(line.rstrip())
    return lines


def counted(lines, names, functions):
    """How many of the lines are in statements with one of the names, or in one of the functions."""
    name = re.compile("|".join(rf"(?<!\w){re.escape(n)}(?!\w)" for n in names) or r"(?!)")
    begins = re.compile("|".join(rf"(?<![\w.>]){re.escape(f)}\(" for f in functions) or r"(?!)")
    n, i = 0, 0
    while i < len(lines):
        # A statement, up to what ends or opens one; a function that counts whole, up to its brace.
        end = i
        while end + 1 < len(lines) and lines[end] and not lines[end].endswith((";", "{", "}", ")", ",", ":", "]")):
            end += 1
        text = " ".join(lines[i : end + 1])
        defines = begins.search(text) and not lines[i].startswith((" ", "\t")) and not text.rstrip().endswith(";")
        if defines:
            while not lines[end].startswith("}"):
                end += 1
        if defines or name.search(text):
            n += sum(1 for line in lines[i : end + 1] if line.strip())
        i = end + 1
    return n


def forgotten():
    """What is looked up at load time and belongs to no version."""
    known = {n for _, names, _ in VERSIONS.values() for n in names} | set(BY_BUILD)
    looked_up = set()
    for path in sources(KERNEL_SIDE):
        text = "\n".join(code(path))
        looked_up |= set(re.findall(r"(\w+)(?:\([^;]*\))? __ksym_weak;", text))
        looked_up |= {m if m in BY_BUILD else m.split("->")[-1] for m in re.findall(r"weir_kernel_knows\((args->\w+)\)", text)}
    return sorted(looked_up - known)


def by_version():
    rows = ["| from | to | kernel side | loader | what differs |", "|---|---|---:|---:|---|"]
    sums = [0, 0]
    for (old, new), (why, names, functions) in VERSIONS.items():
        counts = [sum(counted(code(f), names, functions) for f in sources(side)) for side in (KERNEL_SIDE, LOADER)]
        sums = [a + b for a, b in zip(sums, counts)]
        rows.append(f"| {old} | {new} | {counts[0]} | {counts[1]} | {why or 'nothing that we use'} |")
    rows.append(f"| all | | {sums[0]} | {sums[1]} | |")
    return rows


def by_commit():
    """None where the history is not there: a tarball, a shallow clone."""
    def git(*args):
        return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return None
    rows = ["| commit | files | insertions | deletions |", "|---|---:|---:|---:|"]
    log = git("log", "--reverse", "--no-merges", "--format=%x01%s", "--numstat", "--", *KERNEL_SIDE, *LOADER).stdout
    for entry in log.split("\x01")[1:]:
        subject, *changes = entry.splitlines()
        if not re.search(r"(Linux|kernels?) (before )?[67]\.\d|older kernels", subject):
            continue
        changes = [c.split("\t") for c in changes if c]
        changes = [(int(a), int(b)) for a, b, path in changes if path.endswith((".c", ".h", ".rs"))]
        if changes:
            rows.append(f"| {subject.replace('|', ' ')} | {len(changes)} | {sum(a for a, _ in changes)} | {sum(b for _, b in changes)} |")
    return rows


def main():
    lost = forgotten()
    if lost:
        sys.exit(f"tools/kernels.py: looked up at load time, and of no version in the list: {', '.join(lost)}")
    tables = [by_version(), by_commit()]
    if "--check" not in sys.argv[1:]:
        print("\n\n".join("\n".join(t) for t in tables if t))
        return
    page = set(PAGE.read_text().splitlines())
    stale = [row for table in tables if table for row in table if row not in page]
    if stale:
        sys.exit("these rows of docs/porting.md are out of date: put in what tools/kernels.py prints\n" + "\n".join(stale))


main()
