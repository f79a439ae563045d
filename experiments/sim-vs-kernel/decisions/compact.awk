# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# compact.awk: the kernel's trace as lines that a test reads: ns since the line before, CPU, what, whom.
#
#   = PID NAME PRIO   a thread that the lines below name; PRIO as the kernel has it (120: nice 0)
#   W PID, N PID      it woke, or was started, and waits on that CPU
#   M PID TO          it moves to another CPU
#   S PID STATE NEXT  PID gave the CPU up (R: while it could go on; else it sleeps), and NEXT has it
#   P PID NICE        it sets its nice value
#   A PID             it has set its policy and slice
#   T, H              a tick; the timer that ends slices
function field(name,   at, rest) {
	at = index($0, " " name "=")
	if (!at) return ""
	rest = substr($0, at + length(name) + 2)
	return match(rest, / [a-z_]+=| ==>/) ? substr(rest, 1, RSTART - 1) : rest
}
function known(p, name, prio) {
	if (p == 0 || (p in seen && seen[p] == name " " prio)) return p
	seen[p] = name " " prio
	gsub(/ /, "_", name)
	print "= " p, name, prio
	return p
}
function say(text) {
	print now - last, cpu, text
	last = now
}
!match($0, /\[[0-9]+\]/) { next }
{
	task = substr($0, 1, RSTART - 1)
	sub(/ *$/, "", task)
	pid = task
	sub(/.*-/, "", pid)
	cpu = substr($0, RSTART + 1) + 0
	rest = substr($0, RSTART + RLENGTH)
	if (!match(rest, /[0-9]+: /)) next
	now = substr(rest, RSTART) + 0
	if (!begun++) last = now
}
/: sched_wakeup: / { known(field("pid"), field("comm"), field("prio")); on = cpu; cpu = field("target_cpu") + 0; say("W " field("pid")); cpu = on }
/: sched_wakeup_new: / { known(field("pid"), field("comm"), field("prio")); cpu = field("target_cpu") + 0; say("N " field("pid")) }
/: sched_migrate_task: / { cpu = field("orig_cpu") + 0; say("M " field("pid") " " field("dest_cpu")) }
/: sched_switch: / {
	known(field("prev_pid"), field("prev_comm"), field("prev_prio"))
	known(field("next_pid"), field("next_comm"), field("next_prio"))
	say("S " field("prev_pid") " " substr(field("prev_state"), 1, 1) " " field("next_pid"))
}
/: sys_setpriority\(/ {
	match($0, /niceval: [0-9a-fx]+/)
	nice = substr($0, RSTART + 9, RLENGTH - 9)
	sub(/0x/, "", nice)
	# Negative numbers have all bits set.
	say("P " pid " " nice)
}
/: sys_sched_setattr -> / { say("A " pid) }
/: hrtimer_expire_entry: .*function=hrtick / { say("H") }
/: hrtimer_expire_entry: .*function=tick_/ { say("T") }
