#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The CSV of run.sh as tables: medians over the rounds, each with its ratio to the kernel's own scheduler, and what a
# callback costs with its ratio to the yardstick's.
#
#   bench/live/ratios.sh [--json] live.csv
#
# --json prints one object a row instead: of a load against the default, of a callback against the least FIFO and, if it was measured, scx_bpfland.
set -euo pipefail
json=0
[[ ${1:-} == --json ]] && json=1 && shift
[[ $# == 1 && -r $1 ]] || { echo "usage: $0 [--json] FILE.csv (what bench/live/run.sh printed)" >&2; exit 2; }

awk -F, -v json=$json '
function median(key, n,    i, j, t, v) {
	for (i = 1; i <= n; i++) v[i] = sample[key, i]
	for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
$1 == "callback" { cost[$2, $3] = $5 / $4; runs[$2, $3] = $4; if (!seen_name[$3]++) names[++nr_names] = $3; seen_cb[$2] = 1; if (!seen_sched[$2]++) scheds[++nr_scheds] = $2; next }
NF == 4 {
	n = split($4, values, " ")
	for (i = 1; i <= n; i++) {
		load = $1 (n == 3 ? " p" (i == 1 ? 50 : i == 2 ? 95 : 99) : "")
		if (!seen_load[load]++) loads[++nr_loads] = load
		if (!seen_sched[$2]++) scheds[++nr_scheds] = $2
		sample[load SUBSEP $2, ++count[load, $2]] = values[i]
	}
}
function row(subject, size, figure, unit, ratio, yard) {
	printf "{\"subject\":\"%s\",\"size\":%d,\"figure\":%.3f,\"unit\":\"%s\",\"ratio\":%.4f,\"yardstick\":\"%s\"}\n", subject, size, figure, unit, ratio, yard
}
# A kernel keeps 15 characters of the name of a program, and its prefix is not the same in all schedulers.
function short_of(name) { sub(/^(weir|fifo|bpfland)_/, "", name); return substr(name, 1, 7) }
BEGIN { whole["dispatc"] = "dispatch"; whole["runnabl"] = "runnable"; whole["stoppin"] = "stopping"; whole["init_ta"] = "init_task" }
function name_of(short) { return short in whole ? whole[short] : short }
END {
	if (json) {
		for (l = 1; l <= nr_loads; l++) for (s = 1; s <= nr_scheds; s++) {
			if (scheds[s] == "default" || !count[loads[l], scheds[s]] || !count[loads[l], "default"]) continue
			m = median(loads[l] SUBSEP scheds[s], count[loads[l], scheds[s]])
			row(scheds[s], 4, m, loads[l], m / median(loads[l] SUBSEP "default", count[loads[l], "default"]), "default")
		}
		for (s = 1; s <= nr_scheds; s++) for (y = 1; y <= nr_scheds; y++) {
			if ((scheds[y] != "fifo" && scheds[y] != "bpfland") || scheds[s] == scheds[y] || scheds[s] == "fifo") continue
			for (i = 1; i <= nr_names; i++) for (j = 1; j <= nr_names; j++)
				if (((scheds[s], names[i]) in cost) && ((scheds[y], names[j]) in cost) && short_of(names[i]) == short_of(names[j]))
					row(scheds[s], 1, cost[scheds[s], names[i]], "ns/" name_of(short_of(names[i])), cost[scheds[s], names[i]] / cost[scheds[y], names[j]], scheds[y])
		}
		exit
	}
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
