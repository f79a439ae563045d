# SPDX-License-Identifier: MIT OR GPL-2.0-only
# results.csv of tick.toml: switches times 976 ns, as a share of two CPUs, and the bound delta / T_sched.
BEGIN {
	FS = ","
	ns["10ms"] = 1e7; ns["4ms"] = 4e6; ns["1ms"] = 1e6; ns["100us"] = 1e5; ns["10us"] = 1e4
	print "tick,util,runs,mean_pct,max_pct,bound_pct"
}
FNR == 1 {
	for (i = 1; i <= NF; i++) column[$i] = i
	next
}
{
	key = $column["topology"] "," $column["keys.util"]
	if (!(key in runs)) order[++count] = key
	all = 2 * $column["duration_ns"]
	share = 100 * 976 * $column["context_switches"] / all
	runs[key]++; sum[key] += share
	if (share > most[key]) most[key] = share
}
END {
	for (i = 1; i <= count; i++) {
		key = order[i]; split(key, part, ",")
		printf "%s,%d,%.5f,%.5f,%.5f\n", key, runs[key], sum[key] / runs[key], most[key], 100 * 976 / ns[part[1]]
	}
}
