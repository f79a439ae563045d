#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# For how long woken tasks wait (tests/live/waits.c), under the kernel's own scheduler and under topologies, in one guest, by counted
# instructions. Prints CSV (waits-guest.sh says which) and, on standard error, a table of it.
#
#   bench/live/waits.sh [HOW [RUNS [SECONDS [CPUS [WORKERS [TOPOLOGY…]]]]]]
#
# HOW is `steady`, `hotplug` or `switches`; without more: 100 runs of 0.25 s with 6 workers on 4 CPUs. RUNWEIR and PROBE name programs that are
# built already. `bench/live/waits.sh table FILE` makes the table of a CSV.
set -euo pipefail
cd "$(dirname "$0")/../.."

table() {
	awk -F, '
	function at(q,    i) { i = int(q * n); if (i < q * n) i++; return worst[i < 1 ? 1 : i] / 1000 }
	/^#/ || NF != 9 { next }
	{
		key = $1 " " $2
		if (!(key in runs)) names[++nr] = key
		runs[key]++; p50[key] += $5; p99[key] += $7
		all[key] = all[key] " " $8; messages[key] += $4
	}
	END {
		print "| how | scheduler | runs | messages | p50 us | p99 us | worst of a run: least | median | p95 | most us | to the default |"
		print "|---|---|---|---|---|---|---|---|---|---|---|"
		for (k = 1; k <= nr; k++) {
			key = names[k]
			n = split(all[key], worst, " ")
			for (i = 2; i <= n; i++) for (j = i; j > 1 && worst[j] + 0 < worst[j - 1] + 0; j--) { t = worst[j]; worst[j] = worst[j - 1]; worst[j - 1] = t }
			split(key, part, " ")
			if (part[2] == "default") { mid = at(0.5); late = at(0.95); most = at(1) }
			printf "| %s | %s | %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f median, %.2f p95, %.2f most |\n", part[1], part[2], n, messages[key], p50[key] / n / 1000,
				p99[key] / n / 1000, at(0), at(0.5), at(0.95), at(1), at(0.5) / mid, at(0.95) / late, at(1) / most
		}
	}' "$1"
}
if [[ ${1:-} == table ]]; then
	table "$2"
	exit
fi
how=${1:-steady} runs=${2:-100} seconds=${3:-0.25} cpus=${4:-4} workers=${5:-6}
shift $(($# < 5 ? $# : 5))
(($#)) || set -- groups linux eevdf worksteal decentral
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip -o "$work/runweir" "${RUNWEIR:-$target/debug/runweir}"
strip -o "$work/probe" "${PROBE:-$target/debug/examples/probe}"
cp bench/live/{waits-guest,attach}.sh "$work/"
"${CC:-cc}" -O2 -static -pthread tests/live/waits.c -o "$work/waits"
with=(--with "$work/waits" --with "$work/probe" --with "$work/waits-guest.sh" --with "$work/attach.sh")
"$work/runweir" vm --quiet --icount --turn 20us --accel tcg --cpus "$cpus" --timeout 36000s "${with[@]}" \
	-- sh "$work/waits-guest.sh" "$how" "$runs" "$seconds" "$workers" "$@" | tee "$work/csv"
table "$work/csv" >&2
