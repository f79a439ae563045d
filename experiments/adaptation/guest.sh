#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# In the guest: guest.sh SCHEDULER "ITERATIONS…" "THREADS…". Prints a line of CSV a run.
set -eu
here=${0%/*}
scheduler=$1 cpu=3
export RUNWEIR_SOCKET=/run/adaptation.sock
if [ "$scheduler" != default ]; then
	topology=headq
	[ "$scheduler" = adaptive ] && topology=pipeline_fcfs
	runweir live "$topology" --watchdog 60s 2>/run/live.log &
	live=$!
	until grep -q '^attached' /run/live.log; do
		kill -0 "$live" 2>/dev/null || { cat /run/live.log >&2; exit 1; }
		usleep 50000
	done
fi
socket=
[ "$scheduler" = adaptive ] && socket="$RUNWEIR_SOCKET fcfs lcfs"
# The first run loses: pages, caches of translated code.
"$here/pipeline" 4 1000 "$cpu" $socket >/dev/null
for iterations in $2; do
	for threads in $3; do
		echo "$scheduler,$("$here/pipeline" "$threads" "$iterations" "$cpu" $socket)"
	done
done
if [ "$scheduler" != default ]; then
	kill -INT "$live"
	wait "$live" || { cat /run/live.log >&2; exit 1; }
fi
