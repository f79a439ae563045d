#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# trace.sh FILE.json: in the guest, run rt-app while the kernel traces each switch and wake-up, and leave that in
# $RUNWEIR_RECORD/trace for threads.awk, with what the scheduler is set to beside it in `settings`. Shell built-ins and `cat` only.
tracing=/sys/kernel/tracing
sched=/sys/kernel/debug/sched
{
	echo "kernel $(uname -r)"
	for f in features base_slice_ns migration_cost_ns nr_migrate preempt; do echo "$f $(cat $sched/$f)"; done
} >"$RUNWEIR_RECORD/settings" 2>/dev/null
echo 16384 >$tracing/buffer_size_kb
echo mono >$tracing/trace_clock
for event in sched_switch sched_waking sched_wakeup_new; do echo 1 >$tracing/events/sched/$event/enable; done
rt-app "$1"
ended=$?
echo 0 >$tracing/tracing_on
cat $tracing/trace >"$RUNWEIR_RECORD/trace"
exit $ended
