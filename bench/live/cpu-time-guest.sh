#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# In the guest: cpu-time-guest.sh ROUNDS TOPOLOGY…, one attachment. Prints `scheduler,load,round,ns`; the kernel's own first.
here=${0%/*} rounds=$1
. "$here/attach.sh"
shift
measure() { # SCHEDULER
	hackbench -g 1 -l 5 >/dev/null
	for round in $(seq "$rounds"); do
		echo "$1,hackbench,$round,$(hackbench -g 1 -l 60 | sed -n 's/^Time: //p' | awk '{ printf "%d", $1 * 1e9 }')"
		for load in spin forks messages; do echo "$1,$load,$round,$("$here/work" $load)"; done
	done
}
measure default
attach "$@"
for t in "$@"; do
	runweir switch --quiet "$t" || continue
	measure "$t"
done
kill -INT $live
wait $live
