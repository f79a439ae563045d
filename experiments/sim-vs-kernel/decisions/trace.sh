#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# trace.sh LOAD FILE: in the guest, run LOAD while the kernel traces what its scheduler hears and decides, with a clock of 1 ns, and leave
# that in $RUNWEIR_RECORD/trace.
tracing=/sys/kernel/tracing
# Groups are those of the load.
echo 0 >/proc/sys/kernel/sched_autogroup_enabled
[ ! -e /sys/fs/cgroup/cgroup.subtree_control ] || echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
echo 16384 >$tracing/buffer_size_kb
echo x86-tsc >$tracing/trace_clock
for event in sched/sched_switch sched/sched_wakeup sched/sched_wakeup_new sched/sched_migrate_task timer/hrtimer_expire_entry \
	sched/sched_stat_runtime syscalls/sys_enter_setpriority syscalls/sys_exit_sched_setattr; do
	echo 1 >$tracing/events/$event/enable
done
# Threads of the kernel wake once while nothing runs, so that the trace knows what they are owed.
sleep 1
"$1" "$2"
ended=$?
echo 0 >$tracing/tracing_on
{
	echo "kernel $(uname -r)"
	cat /sys/kernel/debug/sched/features /sys/kernel/debug/sched/base_slice_ns
} >"$RUNWEIR_RECORD/settings"
cat $tracing/trace >"$RUNWEIR_RECORD/trace"
exit $ended
