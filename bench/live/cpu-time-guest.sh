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
# The least that a scheduler for sched_ext can do, beside the first set only.
if [ -e "$here/fifo.bpf.o" ]; then
	"$here/probe" rival "$here/fifo.bpf.o" 2>/tmp/rival.log &
	rival=$!
	until [ "$(cat /sys/kernel/sched_ext/state)" = enabled ]; do
		kill -0 $rival || { cat /tmp/rival.log >&2; exit 1; }
		usleep 50000
	done
	measure least
	kill $rival
	until [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; do usleep 50000; done
fi
attach "$@"
for t in "$@"; do
	runweir switch --quiet "$t" || continue
	measure "$t"
done
kill -INT $live
wait $live
