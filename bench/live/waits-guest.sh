#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# In the guest: waits-guest.sh HOW RUNS SECONDS WORKERS TOPOLOGY… Prints `how,scheduler,run,messages,p50,p95,p99,max,timers max`
# (ns), and after each block of runs, as a comment, the longest calls of the core since the attachment.
#
# HOW: `steady`; `hotplug`, where CPU 1 goes and comes all the time; `switches`, where the topologies take turns every 50 ms
# below the same runs, which then count for none of them.
here=${0%/*} how=$1 runs=$2 seconds=$3 workers=$4
. "$here/attach.sh"
shift 4
cpu1=/sys/devices/system/cpu/cpu1/online
measure() { # SCHEDULER FIRST LAST
	for run in $(seq "$2" "$3"); do
		"$here/waits" "$seconds" "$workers" 300 | sed -E 's/[a-z0-9_"]+://g; s/[{}]//g' |
			awk -F, -v OFS=, -v how="$how" -v name="$1" -v run="$run" '{ print how, name, run, $1, $2, $3, $4, $5, $10 }'
	done
}
# Whoever left says why.
calls() {
	kill -0 $live 2>/dev/null || { cat /tmp/live.log >&2; dmesg | tail -20 >&2; exit 1; }
	"$here/probe" calls 1000 2>&1 | sed "s/^ */# $1: /"
}
events() {
	while [ ! -e /tmp/over ]; do
		echo 0 >$cpu1
		usleep 30000
		echo 1 >$cpu1
		usleep 30000
	done
}
begin() { rm -f /tmp/over; [ "$how" != hotplug ] || { events & events=$!; }; }
end() { touch /tmp/over; [ "$how" != hotplug ] || wait "$events"; }

begin
measure default 1 "$runs"
end
attach "$@"
if [ "$how" = switches ]; then
	(while [ ! -e /tmp/over ]; do
		for t in "$@"; do
			runweir switch --quiet "$t" || exit 1
			usleep 50000
		done
	done) &
	switcher=$!
	measure switching 1 "$runs"
	touch /tmp/over
	wait $switcher || exit 1
	calls switching
else
	# Blocks take turns, so that no topology has all the late runs.
	block=$(((runs + 4) / 5))
	for first in $(seq 1 $block "$runs"); do
		for t in "$@"; do
			runweir switch --quiet "$t" || exit 1
			usleep 200000
			last=$((first + block - 1))
			[ $last -le "$runs" ] || last=$runs
			begin
			measure "$t" "$first" $last
			end
			calls "$t"
		done
	done
fi
kill -INT $live
wait $live
