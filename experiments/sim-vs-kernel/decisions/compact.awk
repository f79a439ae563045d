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
#   U, Y              the account of the running task for another reason, such as that its time is read; Y: the CPU is to choose, as when
#                     the task ends and is moved to the root's group
#
# Times are those by which the scheduler accounts: while the CPU is busy, its clock advances by what sched_stat_runtime says. With -v lines=1
# they are those of the lines: for several CPUs, which have a clock each, and for classes above the fair one.
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
# What happens on @on, at its clock.
function emit(on, text,   at) {
	at = lines ? now : clock[on]
	if (at < last) at = last
	print at - last, on, text
	last = at
	was[on] = substr(text, 1, 1)
}
function say(on, text) {
	looked(on)
	delete account[on]
	emit(on, text)
}
# The tick or timer, which came before the account that it causes.
function looked(on,   what) {
	if (!(on in timer)) return
	what = timer[on]
	delete timer[on]
	emit(on, what)
}
# Nothing ran on @on that was accounted: its clock is the time of the line.
function idle(on) {
	if (!runs[on]) clock[on] = now
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
/: sched_stat_runtime: / {
	if (field("pid") + 0 != runs[cpu]) next
	# Most precede a wake-up or a switch, and belong to it. N: the CPU has been asked to choose since.
	asked = $0 ~ /\] dN/
	quiet = $0 ~ /\] d\./
	if (cpu in account) emit(cpu, asked || account[cpu] ? "Y" : "U")
	delete account[cpu]
	sub(/.* runtime=/, "")
	clock[cpu] += $1
	counted[cpu] = 1
	if (cpu in timer) {
		looked(cpu)
	} else if (runs[cpu] in call && quiet) {
		emit(cpu, call[runs[cpu]])
		delete call[runs[cpu]]
	} else {
		account[cpu] = asked
	}
}
/: sched_wakeup: / {
	known(field("pid"), field("comm"), field("prio"))
	idle(on = field("target_cpu") + 0)
	say(on, "W " field("pid"))
}
/: sched_wakeup_new: / {
	known(field("pid"), field("comm"), field("prio"))
	idle(on = field("target_cpu") + 0)
	say(on, "N " field("pid"))
}
/: sched_migrate_task: / { say(field("orig_cpu") + 0, "M " field("pid") " " field("dest_cpu")) }
/: sched_switch: / {
	known(field("prev_pid"), field("prev_comm"), field("prev_prio"))
	known(field("next_pid"), field("next_comm"), field("next_prio"))
	if (!counted[cpu]) clock[cpu] = now
	# The new nice value is why.
	if (account[cpu] && was[cpu] == "P") emit(cpu, "Y")
	say(cpu, "S " field("prev_pid") " " substr(field("prev_state"), 1, 1) " " field("next_pid"))
	runs[cpu] = field("next_pid") + 0
	counted[cpu] = 0
}
/: sys_setpriority\(/ {
	match($0, /niceval: [0-9a-fx]+/)
	nice = substr($0, RSTART + 9, RLENGTH - 9)
	sub(/0x/, "", nice)
	# Negative numbers have all bits set.
	# It takes effect with the next account that no interrupt, and no switch because of one, has caused.
	call[pid + 0] = "P " pid " " nice
}
/: sys_sched_setattr -> / { say(cpu, "A " pid) }
/: hrtimer_expire_entry: .*function=hrtick / { timer[cpu] = "H" }
/: hrtimer_expire_entry: .*function=tick_/ { timer[cpu] = "T" }
