#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Topologies that go by deadlines and laxities, with components that are in the kernel on request only; an attachment for each
# set. No task publishes a deadline here: what is tried is that the kernel takes these policies, and that each lets all kinds of threads
# run to their end.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

load_sets "llf llf-tick llref lre-tl" "dp-wrap u-edf run" "pd2 er-pd2" "mllf p-mllf p-edzl epdf c-edf" "edf-us edzl p-edf rbed"
step "edf-vd rt-fifo p-llf"
load_under "edf-vd rt-fifo p-llf"

step "timers expire beside the running task"
above_all
hogs=
for hog in 1 2 3; do
	chrt -o 0 sh -c 'while :; do :; done' &
	hogs="$hogs $!"
done
usleep 300000
runs=$($PROBE get runs) timers=$($PROBE get timers)
usleep 300000
runs=$(($($PROBE get runs) - runs)) timers=$(($($PROBE get timers) - timers))
# shellcheck disable=SC2086 # numbers
kill $hogs
# With turns without end, one ends where a thread of the kernel has something to do. (Before Linux 6.15, which counts events, each
# timer ends one.)
[ $timers -gt 1000 ] || fail "a tick each 100 us, and $timers timers in 300 ms"
[ ! -e /sys/kernel/sched_ext/root/events ] || [ $((10 * runs)) -lt $timers ] || fail "$timers timers, and $runs turns"
detach
clean
