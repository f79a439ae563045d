#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# One case of experiments/sim-vs-kernel: the same rt-app file, machine and topology in the simulator and in a Linux kernel. With one
# CPU both are to agree about how much each task computes, and that none moves.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in qemu-system-x86_64 rt-app jq; do
	command -v $tool >/dev/null || { echo "skipped: no $tool (tools/setup.sh installs it)"; exit 77; }
done
[[ $(uname -m) == x86_64 ]] || { echo "skipped: the virtual machine needs an x86-64 computer"; exit 77; }
tools/programs.sh
status=0
errors=$(RUNWEIR=${CARGO_TARGET_DIR:-target}/debug/runweir experiments/sim-vs-kernel/run.sh --quick) || status=$?
echo "$errors"
((status == 0)) || exit 1
awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ cases++ }
	$at["share_error_max"] > 1.5 { print "the shares of a task differ by " $at["share_error_max"] " points"; bad = 1 }
	$at["p50_ratio"] > 3 || $at["p50_ratio"] < 1 / 3 { print "waits differ " $at["p50_ratio"] " times in the middle"; bad = 1 }
	$at["migrations_sim"] + $at["migrations_kernel"] > 0 { print "a task moved, with one CPU"; bad = 1 }
	END { exit bad || cases != 1 }' <<<"$errors"
