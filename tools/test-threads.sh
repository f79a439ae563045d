#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What C runtimes load: every topology of the catalogue as a flat plan, run, and damaged in many ways.
set -euo pipefail
cd "$(dirname "$0")/.."

cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/programs.sh
debug=$(realpath "${CARGO_TARGET_DIR:-target}")/debug
"$debug/weir-glue" plain . >"$work/unit.c"
flags=(-std=gnu11 -g -O1 -Wall -Wextra -Werror -Wno-unused-parameter -Icore/include -Icore/port/native -Icore/src)

plans=0
for file in topologies/*.weir; do
	for machine in smp-1 smp-4; do
		name=$(basename "$file" .weir)
		"$debug/runweir" compile "$name" -m $machine -q -o "$work/$name-$machine.plan" 2>/dev/null && plans=$((plans + 1))
	done
done
((plans > 100)) || { echo "FAIL only $plans plans were compiled" && exit 1; }
"$cc" "${flags[@]}" -fsanitize=address -o "$work/plan" "$work/unit.c" core/port/native/{port,host}.c \
	runtimes/multikernel/plan.c tests/threads/plan.c
"$work/plan" 60 "$work"/*.plan
echo "ok   flat plans"
