#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# However the loader ends, the machine is back on its default scheduler.
#
# vm: --cpus 3
. "$(dirname "$0")/lib.sh"

compute() { stress-ng --cpu 2 --switch 2 --fork 1 --timeout 300 --quiet & stress=$!; }
quiet() { kill $stress; wait $stress; }

for signal in INT TERM KILL; do
	step "SIG$signal under load"
	attach_all fifo
	compute
	kill -$signal $live
	case $signal in KILL) ended 137 ;; *) ended 0 ;; esac
	kill -0 $stress || fail "the load ended, too"
	quiet
done

step "after SIGKILL, the socket that was left is no obstacle; a duration ends it"
attach_all fifo --duration 1s
ended 0
step "stop at the socket"
attach_all fifo
$PROBE stop || fail "stop is refused"
ended 0
step "after a CPU has gone and come, on that CPU"
attach_all fifo
for round in 1 2 3 4 5 6; do
	# (What waits for a CPU's end is woken by that CPU, which takes no interrupts by then.)
	hotplug 0
	usleep 100000
	hotplug 1
	$PROBE hears 1 || fail "CPU 1 is not what it was"
done
taskset -ap 2 $live >/dev/null
detach
clean
