#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# In the guest: cpu-time-guest.sh ROUNDS TOPOLOGY…, one attachment. Prints `scheduler,load,round,ns`; the kernel's own first.
here=${0%/*} rounds=$1
shift
measure() { # SCHEDULER
	hackbench -g 1 -l 5 >/dev/null
	for round in $(seq "$rounds"); do
		echo "$1,hackbench,$round,$(hackbench -g 1 -l 60 | sed -n 's/^Time: //p' | awk '{ printf "%d", $1 * 1e9 }')"
		for load in spin forks messages; do echo "$1,$load,$round,$("$here/work" $load)"; done
	done
}
measure default
with=
for t in "$@"; do with="$with --with $t"; done
# shellcheck disable=SC2086 # the options are words
runweir live "$1" --only $with --watchdog 9s 2>/tmp/live.log &
live=$!
until grep -q ^attached /tmp/live.log; do
	kill -0 $live || { cat /tmp/live.log >&2; exit 1; }
	usleep 50000
done
for t in "$@"; do
	runweir switch --quiet "$t" || continue
	measure "$t"
done
kill -INT $live
wait $live
