#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Four policies on random task sets (E1 of the hardware scheduler's paper), how often they switch, and what ticks cost.
#
#   experiments/e1-policies/run.sh                100,000 sets: see README.md for how long that takes
#   experiments/e1-policies/run.sh --sets 2000    fewer sets
#   experiments/e1-policies/run.sh --quick        a small part; writes nothing
#
# RUNWEIR names the program (default: target/release/runweir). Writes data/*.csv and data/*.svg beside this file.
# Ended in the middle, the same command goes on; WORK names the folder that holds what is done (default: a
# folder below target/).
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../begin.sh"
sets=100000 quick=
case ${1:-} in
--sets) sets=$2 ;;
--quick) sets=180 quick=1 ;;
esac
work=${WORK:-../../target/e1-policies}/$sets
mkdir -p "$work" data

# Eighteen points share the sets: nine loads of each half.
seeds=$(((sets + 17) / 18))
few=$((seeds < 100 ? seeds : 100))
# The costs that specifications name lie beside them.
cp switch-only.toml "$work/"
for spec in implicit sporadic switches tick; do
	sed "s/= SEEDS/= $seeds/; s/= [A-Z]*_SEEDS/= $few/" $spec.toml >"$work/$spec.toml"
	(cd "$work" && "$runweir" sweep $spec.toml --out $spec --quiet)
done

# Share of sets without a miss by their density, with Wilson's interval: the axis of the paper's figure.
awk -f density.awk "$work"/implicit/results.csv "$work"/sporadic/results.csv >"$work/density.csv"
# What switches take of the CPUs, beside the bound.
awk -f overhead.awk "$work"/tick/results.csv >"$work/overhead.csv"
cat "$work/density.csv" "$work/overhead.csv"
if [[ -z $quick ]]; then
	for spec in implicit sporadic switches tick; do
		cp "$work/$spec/summary.csv" "data/$spec.csv"
	done
	cp "$work/density.csv" "$work/overhead.csv" data/
	cp "$work/implicit/success.svg" data/implicit.svg
	cp "$work/sporadic/success.svg" data/sporadic.svg
	for y in preemptions migrations context_switches; do
		cp "$work/switches/$y.svg" "data/$y.svg"
	done
fi
