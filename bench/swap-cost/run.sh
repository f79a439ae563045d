#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What the ability to reconfigure costs on the hot path: the same core with it and without it, in turns, in one run.
#
#   bench/swap-cost/run.sh [rounds, 15 unless told]
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=${1:-15}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --locked --quiet --package weir-glue
"$(realpath "${CARGO_TARGET_DIR:-target}")"/debug/weir-glue plain . >"$work/unit.c"
build() { # port output
	"$cc" -std=gnu11 -O3 -Wno-unused-parameter -I core/include -I "$1" -I core/src -o "$work/$2" \
		"$work/unit.c" core/port/native/{port,host}.c bench/swap-cost/hot.c -lpthread
}
build core/port/native with
build bench/swap-cost/without without

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

echo "threads,with_ns,without_ns,ratio"
for threads in 1 2; do
	: >"$work/a" && : >"$work/b"
	for ((i = 0; i < rounds; i++)); do
		"$work/with" $threads 200 >>"$work/a"
		"$work/without" $threads 200 >>"$work/b"
	done
	a=$(median <"$work/a") b=$(median <"$work/b")
	echo "$threads,$a,$b,$(awk "BEGIN { printf \"%.3f\", $a / $b }")"
done
