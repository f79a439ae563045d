# SPDX-License-Identifier: MIT OR GPL-2.0-only
# results.csv of several sweeps: share of sets without a miss by density, in steps of a quarter of a CPU.
BEGIN { FS = ","; print "deadlines,topology,density_from,density_to,sets,success,ratio,low,high" }
FNR == 1 {
	for (i = 1; i <= NF; i++) column[$i] = i
	next
}
{
	kind = FILENAME ~ /sporadic/ ? "constrained" : "implicit"
	# Upwards, so that a set of exactly 4 is one that does not exceed 4.
	bin = int(($column["density_ppm"] + 249999) / 250000)
	key = kind "," $column["topology"] "," sprintf("%.2f,%.2f", (bin - 1) / 4, bin / 4)
	if (!(key in sets)) order[++count] = sprintf("%s %04d %s", kind, bin, key)
	sets[key]++
	if ($column["deadline_misses"] == 0) good[key]++
}
END {
	z = 1.959964
	for (i = 2; i <= count; i++) {
		for (j = i; j > 1 && order[j] < order[j - 1]; j--) { t = order[j]; order[j] = order[j - 1]; order[j - 1] = t }
	}
	for (i = 1; i <= count; i++) {
		key = order[i]; sub(/^[a-z]+ [0-9]+ /, "", key)
		n = sets[key]; p = good[key] / n
		mid = (p + z * z / (2 * n)) / (1 + z * z / n)
		half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
		low = mid - half < 0 || p == 0 ? 0 : mid - half
		high = mid + half > 1 || p == 1 ? 1 : mid + half
		printf "%s,%d,%d,%.4f,%.4f,%.4f\n", key, n, good[key], p, low, high
	}
}
