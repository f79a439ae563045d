#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# record.sh [LOAD...]: run the loads, or those that are named, under Linux's own scheduler in the virtual machine, and write what its
# scheduler heard and decided to data/LOAD.trace. RUNWEIR names the program (default: target/release/runweir). Needs cc with a static
# C library.
export RUNWEIR=${RUNWEIR:-$(dirname "$0")/../../../target/release/runweir}
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../../begin.sh"
scratch
cc -O2 -static -o "$work/load" load.c -lpthread
mkdir -p data
(($#)) || { names=(loads/*.txt); set -- "${names[@]##*/}"; set -- "${@%.txt}"; }
for load in "$@"; do
	machine=smp-1 lines=0
	case $load in
	affinity) machine=smp-2 lines=1 ;;
	# The fair class is not charged when a thread of a higher one wakes, so its accounts do not say when that was.
	realtime | deadline) lines=1 ;;
	esac
	"$runweir" vm --quiet -m $machine --record "$work/$load" --icount --timeout 900s --with "$work/load" --with "$PWD/loads/$load.txt" \
		--with "$PWD/trace.sh" -- sh "$PWD/trace.sh" "$work/load" "$PWD/loads/$load.txt" >"$work/log" 2>&1 ||
		{ tail -20 "$work/log" >&2; exit 1; }
	[[ -z ${KEEP:-} ]] || { mkdir -p "$KEEP"; cp "$work/$load/trace" "$KEEP/$load.trace"; }
	awk -v lines=$lines -f compact.awk "$work/$load/trace" >"data/$load.trace"
	cp "$work/$load/settings" data/settings
	echo "$load: $(grep -c ' S ' "data/$load.trace") switches" >&2
done
