#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# How many instructions the kernel's own fair scheduler takes for each of its steps, counted in a guest under hackbench and two tasks
# that compute: the price of the baseline in experiments/cobas-8.7 and -8.8.
#
#   tools/linux-price.sh >experiments/cobas-8.7/linux.csv
#
# ftrace's function graph measures by the guest's clock, which counts instructions. Only the functions named here are traced, so what
# they call is not slowed down. The tracer's own share of each measurement is that of `umask`, a system call of some eight instructions.
# RUNWEIR names a program that is built already.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in qemu-system-x86_64 busybox hackbench; do
	PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "$0: no $tool; tools/setup.sh installs it" >&2; exit 2; }
done
runweir=${RUNWEIR:-}
if [[ -z $runweir ]]; then
	tools/programs.sh
	runweir=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debug/runweir
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/steps.sh" <<'GUEST'
set -e
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || true
cd /sys/kernel/tracing
for step in select_task_rq_fair enqueue_task_fair wakeup_preempt_fair dequeue_task_fair put_prev_task_fair pick_task_fair \
	set_next_task_fair __x64_sys_umask; do
	echo $step >>set_ftrace_filter
done
echo 0 >tracing_on
echo function_graph >current_tracer
echo 20000 >buffer_size_kb
echo 1 >tracing_on
hackbench -g 2 -l 60 >/dev/null
for k in 1 2 3 4 5 6 7 8 9 10; do umask 022; done
for k in 1 2; do ( i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done ) & done
wait
echo 0 >tracing_on
awk '$NF ~ /\(\);$/ { for (i = 2; i < NF; i++) if ($i == "us") print substr($NF, 1, length($NF) - 3), $(i - 1) }' trace |
	sort -k1,1 -k2,2n >"$RUNWEIR_RECORD/steps"
GUEST

# (A turn of 1 ms: another CPU's seldom falls into a step, and the median does not see it.)
"$runweir" vm --cpus 2 --icount --turn 1ms --timeout 600s --record "$work" --with "$work/steps.sh" -- sh "$work/steps.sh" >&2
[[ -s $work/steps ]] || { echo "$0: the guest recorded nothing" >&2; exit 1; }

# An instruction is two nanoseconds of the guest.
awk '
	function close_step() { if (n) { median[step] = v[int(n / 2) + 1] * 500; calls[step] = n; order[++steps] = step } n = 0 }
	$1 != step { close_step(); step = $1 }
	{ v[++n] = $2 }
	END {
		close_step()
		own = median["__x64_sys_umask"] - 8
		if (own <= 0) { print "no measurement of the tracer itself" >"/dev/stderr"; exit 1 }
		print "step,calls,instructions"
		for (i = 1; i <= steps; i++)
			if (order[i] != "__x64_sys_umask") printf "%s,%d,%.0f\n", order[i], calls[order[i]], median[order[i]] - own
	}' "$work/steps"
