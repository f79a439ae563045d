#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Little memory, many threads, fork bombs, senseless requests.
#
# vm: --cpus 4 --memory 2GiB
. "$(dirname "$0")/lib.sh"

step "10,000 threads"
echo 20000 >/proc/sys/kernel/threads-max
attach_all decentral
$PROBE threads 10000 || fail "threads"
settled

step "senseless requests under load"
stress-ng --switch 2 --cpu 1 --timeout 300 --quiet &
stress=$!
$PROBE fuzz 20261121 400 || fail "see above"
kill $stress
wait $stress
settled

step "a fork bomb in a group of 150 threads"
mkdir /sys/fs/cgroup/bomb
echo +pids >/sys/fs/cgroup/cgroup.subtree_control
echo 150 >/sys/fs/cgroup/bomb/pids.max || fail "no limit on threads"
(
	echo 0 >/sys/fs/cgroup/bomb/cgroup.procs
	# shellcheck disable=SC2264 # a fork bomb, on purpose
	bomb() { bomb 2>/dev/null & bomb 2>/dev/null; }
	(bomb) 2>/dev/null &
	sleep 3
) 2>/dev/null &
usleep 2500000
began=$(uptime_s)
hackbench -g 1 -l 5 >/dev/null || fail "hackbench beside the bomb"
echo "  hackbench beside it: $(($(uptime_s) - began)) s"
echo 1 >/sys/fs/cgroup/bomb/cgroup.kill
sleep 1
settled

step "memory pressure"
timeout 60 stress-ng --vm 2 --vm-bytes 60% --fork 2 --timeout 2 --quiet || echo "  (stress-ng was short of memory)"
settled
detach

step "an arena that is too small for all"
attach_all decentral --memory 4MiB --max-tasks 1024
$PROBE threads 1500 || fail "threads"
settled lost
echo "  $($PROBE get no_memory) tasks ran outside the graph because memory ran out"
[ "$($PROBE get no_memory)" -gt 0 ] || fail "it had room for all"
load
settled lost
detach
clean
