#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A yield, a wake-up and a creation in the thread library under several policies, against a FIFO runtime written by hand and against Linux, in
# one run: bench/threads/run.sh [ROUNDS]. CPU time, one JSON object a line. Needs `make threads` and a built runweir.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath "${CARGO_TARGET_DIR:-target}")
runweir=$target/release/runweir
[[ -x $runweir ]] || runweir=$target/debug/runweir
[[ -f $target/threads/libweir_threads.a ]] || { echo "run.sh: no thread library: run \`make threads\`" >&2 && exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'entry -> round_robin(slice = 3ms) -> cpus;' >"$work/rr.weir"
"$runweir" compile "$work/rr.weir" -m smp-1 -q -o "$work/rr1.plan"
for policy in priority edf linux; do
	"$runweir" compile $policy -m smp-1 -q -o "$work/${policy}1.plan"
done
${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O2 -Iruntimes/threads/include -o "$work/yield" bench/threads/yield.c "$target/threads/libweir_threads.a" -lpthread
"$work/yield" "$work" "${1:-200000}"
