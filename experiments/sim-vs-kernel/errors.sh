#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# errors.sh DIR: a line a case. `share`: CPU time in percent of a CPU over the 2 s of the run; the error is in points.
# Latencies: geometric mean over the tasks of kernel / simulator. Counts: sums over the tasks.
set -euo pipefail
awk -F, -v OFS=, '
BEGIN {
	print "machine,topology,workload,share_error_mean,share_error_max,total_share_sim,total_share_kernel,p50_ratio,p95_ratio,p99_ratio,migrations_sim,migrations_kernel,preemptions_sim,preemptions_kernel,switches_sim,switches_kernel"
}
{
	key = $1 OFS $2 OFS $3
	if (!(key in n)) order[++cases] = key
	n[key]++
	e = ($6 - $5) / 20; if (e < 0) e = -e
	sum[key] += e; if (e > max[key]) max[key] = e
	sim[key] += $5 / 20; kernel[key] += $6 / 20
	for (i = 0; i < 3; i++) ratio[key, i] += log(($(8 + 2 * i) + 1) / ($(7 + 2 * i) + 1))
	for (i = 0; i < 6; i++) count[key, i] += $(13 + i)
}
END {
	for (c = 1; c <= cases; c++) {
		k = order[c]
		printf "%s,%.2f,%.2f,%.1f,%.1f", k, sum[k] / n[k], max[k], sim[k], kernel[k]
		for (i = 0; i < 3; i++) printf ",%.2f", exp(ratio[k, i] / n[k])
		for (i = 0; i < 6; i++) printf ",%d", count[k, i]
		print ""
	}
}' "$1"/*-*-*.csv
