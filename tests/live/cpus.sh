#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# CPUs that are going offline: no task is sent there, and one may stay after all.
#
# vm: --cpus 3
. "$(dirname "$0")/lib.sh"

step "nobody is sent to a CPU that is on its way out"
attach_all counting.weir
stress-ng --yield 2 --switch 1 --fork 1 --timeout 100 --quiet &
stress=$!
for round in 1 2 3 4 5 6; do
	usleep 100000
	hotplug 0
	usleep 50000
	hotplug 1
done
kill $stress
wait $stress
settled

step "a CPU that threads with deadlines need stays, and serves"
deadlines
echo 0 2>/dev/null >/sys/devices/system/cpu/cpu1/online && fail "CPU 1 went, threads with deadlines or not"
no_deadlines
before=$($PROBE get aside)
taskset 2 hackbench -g 1 -l 20 >/dev/null || fail "no work is done there"
[ "$($PROBE get aside)" -lt $((before + 10)) ] || fail "the graph still believes that CPU 1 is gone"
settled
detach
clean
