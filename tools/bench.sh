#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The benchmarks: ratios within one run, for the record in bench/RESULTS.md, never asserted.
#
#   tools/bench.sh [stages|fair|sim|simso|live]     tables; without a word: stages, fair and sim
#   tools/bench.sh costs                            what the core takes on this machine, as a file for `--costs`
#   tools/bench.sh --json stages|sim|simso|live     one object a row: subject, size, figure, unit, ratio, yardstick
#   tools/bench.sh record                           count instructions and add them to bench/history, which tools/test-counts.sh reads
#
# stages: a cycle of relinquish and pick against schedulers written by hand (bench/hand). sim: slices a second of the simulator.
# simso: against SimSo, which comes from PyPI. live: in a guest of QEMU, against the kernel's default (half an hour).
# Status 77: what the benchmark needs is not there, and standard error says what.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
	echo "usage: tools/bench.sh [stages|fair|sim|costs|simso|live|record], or tools/bench.sh --json stages|sim|simso|live" >&2
	exit 2
}

json=()
if [[ ${1:-} == --json ]]; then
	json=(--json)
	shift
	[[ $# == 1 && $1 =~ ^(stages|sim|simso|live)$ ]] || usage
fi
[[ $# -le 1 && ${1:-sim} =~ ^(stages|fair|sim|costs|simso|live|record)$ ]] || {
	[[ ${1:-} == --help ]] && sed -n '4,14s/^# \?//p' tools/bench.sh && exit 0
	usage
}

case ${1:-} in
simso)
	exec bench/against_simso/run.sh "${json[@]}"
	;;
record)
	machine="$(nproc) × $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
	commit=$(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo " and changes")
	exec cargo run --locked --quiet --package weir-bench -- \
		record bench/history/instructions.jsonl "$commit" "$(date -u +%F)" "$machine"
	;;
live)
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	command -v qemu-system-x86_64 >/dev/null || {
		echo "bench.sh: no qemu-system-x86_64: make vm-setup installs what guests need" >&2
		exit 77
	}
	cargo build --locked --quiet --release --package runweir
	bench/live/run.sh "${ROUNDS:-3}" >"$work/live.csv"
	bench/live/ratios.sh "${json[@]}" "$work/live.csv"
	;;
*)
	commit="commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
	# The cost table is a file of its own.
	if [[ ${1:-} == costs ]]; then echo "# $commit"; elif [[ ${#json[@]} == 0 ]]; then echo "$commit"; else echo "$commit" >&2; fi
	exec cargo run --locked --quiet --release --package weir-bench -- "${json[@]}" "$@"
	;;
esac
