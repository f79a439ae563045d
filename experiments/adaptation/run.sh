#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A pipeline of real threads on one CPU, forward and then backward, under three schedulers of a Linux kernel.
#
#   experiments/adaptation/run.sh [--quick]
#
# RUNWEIR names the program (default: target/release/runweir). Writes data/runs.csv beside this file; --quick does a small
# part and writes nothing. Equal builds give equal numbers: the guest counts instructions instead of time.
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../begin.sh"
scratch
${CC:-cc} -O2 -Wall -static -pthread pipeline.c -o "$work/pipeline"
cp guest.sh "$work/"

# Loops of a stage: some 20 us, 0.6 ms and 6 ms of the guest's time.
iterations="5000 100000 1000000" threads="1 2 4 8 16 32" out=data/runs.csv
if [[ ${1:-} == --quick ]]; then
	iterations=100000 threads="1 8" out=$work/runs.csv
fi
echo "scheduler,threads,iterations,forward_us,announced_us,backward_us,forward_turns,backward_turns" >"$out"
for scheduler in default headq adaptive; do
	"$runweir" vm --quiet --icount --timeout 900s --with "$work" -- \
		sh "$work/guest.sh" "$scheduler" "$iterations" "$threads" | tee -a "$out"
done
