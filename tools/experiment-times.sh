#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/experiment-times.sh [ID…]: the processor time of full runs with the release build, for experiments/times.csv, which the list of
# `runweir reproduce` shows. Without IDs: of all experiments, which takes hours. QUICK=1: of reduced sweeps. What cannot be measured on this
# computer is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

lab=${LAB:-target/release/runweir-lab}
ids=("$@")
(($#)) || mapfile -t ids < <("$lab" reproduce --json | python3 -c 'import json, sys; print(*(e["id"] for e in json.load(sys.stdin)), sep="\n")')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U %S'
echo "id,processor_s"
for id in "${ids[@]}"; do
	{ time "$lab" reproduce "$id" ${QUICK:+--quick} --json --quiet >"$work/found" 2>"$work/said"; } 2>"$work/time" ||
		{ echo "experiment-times: $id failed: $(tail -n 1 "$work/said")" >&2 && continue; }
	if grep -q 'Nothing was measured now' "$work/found"; then
		echo "experiment-times: $id cannot be measured here" >&2
		continue
	fi
	awk -v id="$id" '{ printf "%s,%.1f\n", id, $1 + $2 }' "$work/time"
done
