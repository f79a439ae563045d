# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# pelt.awk -v name=THREAD: of a kernel's trace what one thread did, and what the kernel said of its load. Out: us, event; `look` is
# when the kernel was asked, `seen` has its util_avg and load_avg of then.
function field(name,   at, rest) {
	at = index($0, " " name "=")
	if (!at) return ""
	rest = substr($0, at + length(name) + 2)
	return match(rest, / [a-z_]+=| ==>/) ? substr(rest, 1, RSTART - 1) : rest
}
match($0, / [0-9]+\.[0-9]+: /) { now = substr($0, RSTART + 1) * 1e6 }
/: sched_(waking|wakeup_new): / && field("comm") == name { pid = field("pid"); say("woke") }
/: sched_switch: / && field("prev_comm") == name { pid = field("prev_pid"); say(field("prev_state") ~ /^R/ ? "off" : "slept") }
/: sched_switch: / && field("next_comm") == name { pid = field("next_pid"); say("on") }
# A look counts only if nothing happened to the thread meanwhile.
/: tracing_mark_write: look / { whole = field("pid") == pid }
/: tracing_mark_write: looked / { if (whole) say("look"); looked = whole }
/: tracing_mark_write: seen / { if (looked) say("seen," field("util") "," field("load")); looked = 0 }
function say(what) {
	if (what != "look") whole = 0
	if (!first) first = now
	printf "%.0f,%s\n", now - first, what
}
