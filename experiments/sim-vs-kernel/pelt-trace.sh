#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# pelt-trace.sh FILE.json: in the guest, run rt-app while the kernel traces each switch and wake-up, and look now and then what the
# kernel says of the load of its threads. The trace, with these looks in it as marks, is left in $RUNWEIR_RECORD/trace.
#
# The kernel writes the whole file of a thread when its first line is read; so the look is between the marks `look` and
# `looked`, however long the rest takes. Shell built-ins only.
tracing=/sys/kernel/tracing
echo 16384 >$tracing/buffer_size_kb
echo mono >$tracing/trace_clock
for event in sched_switch sched_waking sched_wakeup_new; do echo 1 >$tracing/events/sched/$event/enable; done
rt-app "$1" &
pid=$!
while kill -0 $pid 2>/dev/null; do
	for t in /proc/$pid/task/*; do
		thread=${t##*/}
		[ "$thread" = $pid ] && continue
		exec 3<"$t/sched" || continue
		echo "look pid=$thread" >$tracing/trace_marker
		read -r key <&3
		echo "looked pid=$thread" >$tracing/trace_marker
		util= load=
		while read -r key _ value; do
			case $key in
			se.avg.util_avg) util=$value ;;
			se.avg.load_avg) load=$value ;;
			esac
		done <&3
		echo "seen pid=$thread util=$util load=$load" >$tracing/trace_marker
	done
	sleep 0.023
done 2>/dev/null
echo 0 >$tracing/tracing_on
cat $tracing/trace >"$RUNWEIR_RECORD/trace"
wait $pid
