#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The CSV of run.sh as tables: medians over the rounds, each with its ratio to the kernel's own scheduler, and what a
# callback costs with its ratio to the yardstick's.
#
#   bench/live/ratios.sh live.csv
set -euo pipefail
[[ $# == 1 && -r $1 ]] || { echo "usage: $0 FILE.csv (what bench/live/run.sh printed)" >&2; exit 2; }

awk -F, '
function median(key, n,    i, j, t, v) {
	for (i = 1; i <= n; i++) v[i] = sample[key, i]
	for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
$1 == "callback" { cost[$2, $3] = $5 / $4; runs[$2, $3] = $4; if (!seen_name[$3]++) names[++nr_names] = $3; seen_cb[$2] = 1; next }
NF == 4 {
	n = split($4, values, " ")
	for (i = 1; i <= n; i++) {
		load = $1 (n == 3 ? " p" (i == 1 ? 50 : i == 2 ? 95 : 99) : "")
		if (!seen_load[load]++) loads[++nr_loads] = load
		if (!seen_sched[$2]++) scheds[++nr_scheds] = $2
		sample[load SUBSEP $2, ++count[load, $2]] = values[i]
	}
}
END {
	printf "| load |"; for (s = 1; s <= nr_scheds; s++) printf " %s |", scheds[s]
	printf "\n|---|"; for (s = 1; s <= nr_scheds; s++) printf "---|"; print ""
	for (l = 1; l <= nr_loads; l++) {
		base = count[loads[l], "default"] ? median(loads[l] SUBSEP "default", count[loads[l], "default"]) : 0
		printf "| %s |", loads[l]
		for (s = 1; s <= nr_scheds; s++) {
			if (!count[loads[l], scheds[s]]) { printf " - |"; continue }
			m = median(loads[l] SUBSEP scheds[s], count[loads[l], scheds[s]])
			if (base) printf " %g (%.2f) |", m, m / base; else printf " %g |", m
		}
		print ""
	}
	print "\n| callback, ns a call (calls; ratio to the yardstick) |"
	for (s = 1; s <= nr_scheds; s++) {
		if (!seen_cb[scheds[s]]) continue
		printf "%s:", scheds[s]
		for (i = 1; i <= nr_names; i++) {
			if (!((scheds[s], names[i]) in cost)) continue
			short = names[i]; sub(/^(weir|fifo|bpfland)_/, "", short)
			yard = cost["fifo", short] # its programs have no prefix
			printf " %s %.0f (%d%s)", short, cost[scheds[s], names[i]], runs[scheds[s], names[i]], yard ? sprintf("; %.2f", cost[scheds[s], names[i]] / yard) : ""
		}
		print ""
	}
}' "$1"
