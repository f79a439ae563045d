#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Instructions of a cycle of relinquish and pick, in C alone: count-cycles.sh [UNIT.c], UNIT.c being what `weir-glue plain .` makes. Beside each its
# yardstick and the bound. What tools/bench.sh stages counts from Rust, in a tenth of the time. WORK keeps the program and a profile of each subject.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${WORK:-$(mktemp -d)}
[[ ${WORK:-} ]] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
unit=${1:-$work/unit.c}
[[ ${1:-} ]] || "${CARGO_TARGET_DIR:-target}"/debug/weir-glue plain . >"$unit"
flags=(-O3 -g --param=max-inline-insns-auto=120 --param=inline-unit-growth=300 -std=gnu11 -D_GNU_SOURCE -ffreestanding -fno-strict-aliasing
	-fvisibility=hidden -ftls-model=initial-exec -fomit-frame-pointer -w -Icore/include -Icore/port/native -Icore/src -Itests/concurrency)
objects=()
for file in "$unit" core/port/native/{port,host}.c bench/hand/{decentral,edf,eevdf}.c tests/concurrency/{plan,cycles}.c; do
	o=$work/$(basename "$file" .c).o
	[[ $file == bench/* ]] && o=$work/hand_$(basename "$file" .c).o
	[[ $o -nt $file && $file != "$unit" && $file != tests/* ]] || gcc "${flags[@]}" -c "$file" -o "$o"
	objects+=("$o")
done
gcc "${objects[@]}" -lpthread -o "$work/cycles"
ir() { valgrind --tool=callgrind --callgrind-out-file="$work/$1-$2.$3" "$work/cycles" "$1" "$2" "$3" 2>&1 | sed -n 's/.*Collected : *//p'; }
cycle() { echo $((($(ir "$1" "$2" 6000) - $(ir "$1" "$2" 2000)) / 4000)); }
row() { # SUBJECT SIZE BOUND
	local ours theirs
	ours=$(cycle "$1" "$2") theirs=$(cycle "hand-$1" "$2")
	printf '%-10s %4s %6s %6s  %s (%s)\n' "$1" "$2" "$ours" "$theirs" "$(awk "BEGIN { printf \"%.2f\", $ours / $theirs }")" "$3"
}
row decentral 4 1.9
[[ ${QUICK:-} ]] || row decentral 64 -
row block 4 -
row edf 4 2.4
[[ ${QUICK:-} ]] || row edf 64 -
for n in 4 16 64 256; do row eevdf $n "$([[ $n == 16 ]] && echo 1.6 || echo -)"; done
one=$(cycle chain 1) six=$(cycle chain 6)
echo "chain of 1: $one, of 6: $six, a further stage $(((six - one) / 5)) (25)"
