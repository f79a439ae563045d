#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Verilator's warnings on each module of hw/rtl with its default parameters and with others, each parameter at its limits and beside
# them (hw/weir.toml), whether the mutants of the proofs still fit, and whether what headers name is there. Silent where all is well.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/hw-parameters.py
hw/formal/prove.sh --fits
# What a header names, as a twin, is there.
while IFS= read -r file; do
	[[ -e $file ]] || { echo "hw-lint: $(grep -lF "$file" hw/rtl/*.sv | head -1) names $file, which is not there" >&2 && exit 1; }
done < <(grep -hoE '\b(hw|docs|components)/[a-zA-Z0-9_./-]+\.(sv|c|rs|md)\b' hw/rtl/*.sv | sort -u)
cd hw/rtl

lint() { # MODULE PARAMETERS…
	verilator --lint-only -Wall --top-module "$1" "${@:2}" -f weir.f
}

for file in weir_*.sv; do
	[[ $file == *_pkg.sv ]] || lint "${file%.sv}"
done
lint weir_laxity -GNumTasks=5 -GNumCpus=3 -GSelect=1 -GHold="1'b1" -GBudget="1'b1" -GCriticality="1'b1"
lint weir_laxity -GNumTasks=16 -GNumCpus=1 -GSelect=2 -GSeparation="1'b0" -GPolicies="4'b0001" -GReadBack="1'b0" -GBudget="1'b1"
lint weir_laxity -GNumTasks=64 -GNumCpus=8 -GSelect=0 -GCriticality="1'b1"
lint weir_kernel -GNumCpus=2 -GNumThreads=8 -GKeys="1'b1" -GKeyWidth=12
lint weir_kernel -GNumCpus=5 -GNumThreads=8 -GHardware="1'b1"
