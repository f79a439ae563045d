#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What the kernel says of a thread's load, and what the thread did: data/pelt.csv, which a test of crates/weir-core holds the
# load tracking of our balancer against.
#
#   experiments/sim-vs-kernel/pelt.sh
#
# RUNWEIR names the program (default: target/release/runweir).
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../begin.sh"
scratch
"$runweir" vm --quiet -m smp-1 --record "$work/kernel" --icount --timeout 900s --with "$PWD/pelt.json" --with "$PWD/pelt-trace.sh" \
	-- sh "$PWD/pelt-trace.sh" "$PWD/pelt.json" >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; exit 1; }
awk -v name=duty -f pelt.awk "$work/kernel/trace" >"$work/pelt.csv"
grep -q seen "$work/pelt.csv" || { echo "$0: the trace has no looks at the thread" >&2; exit 1; }
mv "$work/pelt.csv" data/pelt.csv
