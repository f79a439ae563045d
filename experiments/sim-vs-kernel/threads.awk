# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# threads.awk: what the kernel's trace of scheduler events says of each thread. In: the text of tracefs, with sched_switch,
# sched_waking and sched_wakeup_new. Out: a line a thread, with tabs: pid, name, us on CPUs, times that it got a CPU which had run
# another thread, times that it gave one up, times that one was taken from it, times that it went on elsewhere; then its
# wakeup latencies in us.
#
# The definitions are the simulator's (docs/metrics.md): latency is from the wake-up to the CPU; taken from it is a CPU that it
# leaves while it could go on; the idle thread does not count, so a thread that goes on after it has not been switched to.
function field(name,   at, rest) {
	at = index($0, " " name "=")
	if (!at) return ""
	rest = substr($0, at + length(name) + 2)
	return match(rest, / [a-z_]+=| ==>/) ? substr(rest, 1, RSTART - 1) : rest
}
match($0, /\[[0-9]+\]/) && match($0, / [0-9]+\.[0-9]+: sched_/) {
	now = substr($0, RSTART + 1) + 0
	match($0, /\[[0-9]+\]/)
	cpu = substr($0, RSTART + 1) + 0
}
/: sched_(waking|wakeup_new): / {
	p = field("pid")
	if (!(p in woken) && !(p in since)) woken[p] = now
}
/: sched_switch: / {
	p = field("prev_pid")
	if (p in since) {
		ran[p] += now - since[p]
		delete since[p]
		if (field("prev_state") ~ /^R/) taken[p]++
		else { gave[p]++; delete woken[p] }
	}
	p = field("next_pid")
	name[p] = field("next_comm")
	since[p] = now
	if (p == 0) next
	if (before[cpu] != p) got[p]++
	before[cpu] = p
	if (p in last && last[p] != cpu) moved[p]++
	last[p] = cpu
	if (p in woken) {
		late[p] = late[p] "\t" sprintf("%.0f", (now - woken[p]) * 1e6)
		delete woken[p]
	}
}
END {
	for (p in name)
		printf "%d\t%s\t%.0f\t%d\t%d\t%d\t%d%s\n", p, name[p], ran[p] * 1e6, got[p], gave[p], taken[p], moved[p], late[p]
}
