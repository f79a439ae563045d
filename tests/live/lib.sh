#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What the guest scripts of tools/live-tests.sh share. $PROBE is the example program `probe`.

log=/tmp/live.log
live=

fail() {
	echo "FAILED: $*"
	# Where it is leaving, it says why in a moment.
	[ -z "$live" ] || sched_ext_is enabled || sleep 2
	echo "the loader said:"
	sed 's/^/  /' $log 2>/dev/null
	echo "the kernel said:"
	dmesg | tail -15 | sed 's/^/  /'
	exit 1
}
uptime_s() { cut -d. -f1 /proc/uptime; }
# `within TENTHS COMMAND…`: it succeeds, now or within so many tenths of a second.
within() {
	tenths=$1
	shift
	until "$@"; do
		[ $tenths -gt 0 ] || return 1
		tenths=$((tenths - 1))
		usleep 100000
	done
}
step() { echo "- $* ($(uptime_s) s by the guest's clock)"; }

# `attach ARGUMENTS…` of `runweir live`; back when it is in charge.
attach() {
	: >$log
	changes_before=$(cat /sys/kernel/sched_ext/hotplug_seq)
	runweir live "$@" 2>$log >/tmp/live.out &
	live=$!
	# The verifier takes 20 s at most. Kernel stacks of waiting tasks are printed.
	within 1200 attached_or_gone $log $live || {
		echo w >/proc/sysrq-trigger
		dmesg | tail -60
		fail "runweir live $* does not attach"
	}
	grep -q ^attached $log || fail "runweir live $* ended at once"
	sched_ext_is enabled || fail "attached, but sched_ext is not enabled"
}
# `attached_or_gone FILE PID`: the process has written there that it is attached, or has ended.
attached_or_gone() { grep -q ^attached "$1" || gone "$2"; }
gone() { ! kill -0 "$1" 2>/dev/null; }
sched_ext_is() { [ "$(cat /sys/kernel/sched_ext/state)" = "$1" ]; }
# `attach_all "TOPOLOGY…" ARGUMENTS…`: the first one, with what the others need and nothing else.
attach_all() {
	with=
	for also in $1; do with="$with --with $also"; done
	first=${1%% *}
	shift
	# shellcheck disable=SC2086 # the options are words
	attach "$first" --only $with --watchdog 9s "$@"
}
# `ended STATUS`: the loader ended, or does so within 20 s, with this status, and the machine has its default scheduler.
ended() {
	within 200 gone $live || fail "the loader does not end"
	wait $live
	status=$?
	[ $status = "$1" ] || fail "the loader ended with $status, not $1"
	back
}
# The default scheduler is in charge, and works.
back() {
	within 100 sched_ext_is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state)"
	hackbench -g 1 -l 5 >/dev/null || fail "no work is done after the end"
}
detach() {
	kill -INT $live
	ended 0
}
# The scheduler did not leave, nothing failed, the counters add up.
settled() {
	! gone $live || fail "the scheduler left"
	$PROBE settled "$@" || fail "$(runweir status | head -12)"
	# Tasks that were chosen for a CPU on its way out, which the kernel counts from Linux 6.15 on. One may be counted when a
	# CPU comes or goes though none is sent there: the kernel takes every CPU's queue out of its domain then and puts it into a
	# new one, and a CPU that takes a task from another at that moment looks as if it were gone.
	strayed=$(sed -n 's/^SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE //p' /sys/kernel/sched_ext/root/events 2>/dev/null)
	changes=$(($(cat /sys/kernel/sched_ext/hotplug_seq) - changes_before))
	[ "${strayed:-0}" -le $changes ] || fail "$strayed tasks were sent to a CPU on its way out; CPUs came and went $changes times"
}
# `said WORDS FILE`: they are there, whatever the line breaks.
said() { tr -s ' \n' '  ' <"$2" | grep -qF -- "$1"; }
# `says WORDS`: the loader has said so. `reports WORDS`: it does within 20 s.
says() { said "$1" $log || fail "no \`$1\` in what the loader said"; }
reports() { within 200 said "$1" $log || fail "nobody says \`$1\`"; }
# `has PART`: the JSON on standard input does, its blanks aside; PART is written without any.
has() { tr -d ' \n' | grep -qF -- "$1"; }
topology_is() { runweir status --json | has "\"topology\":\"$1\""; }
# `refused STATUS WORDS COMMAND…`: it ends with the status and says the words.
refused() {
	wanted=$1 words=$2
	shift 2
	timeout 120 "$@" >/tmp/refused 2>&1
	status=$?
	[ $status = "$wanted" ] || fail "$* ended with $status, not $wanted: $(cat /tmp/refused)"
	said "$words" /tmp/refused || fail "no \`$words\` in: $(cat /tmp/refused)"
	echo "  $(grep -m1 error: /tmp/refused)"
}
# Nothing in the kernel's log that a scheduler could be to blame for. Nothing is excepted.
clean() {
	bad='WARNING|BUG:|Oops|general protection|[Ss]talls? |stalled|lockup|blocked for more than|Call Trace|scx_.*error|sched_ext:.*error'
	dmesg >>/tmp/dmesg.past
	! grep -E "$bad" /tmp/dmesg.past >/tmp/bad || fail "the kernel's log: $(head -3 /tmp/bad)"
}

# Many threads that come and go. stress-ng 0.15 may end with a fault of its own, on the default scheduler, too: a thread that
# starts late reads what its creator has left. It is stress-ng's failure if its counters were not final by then. Such a fault
# is told of and leaves the kernel's log, and a failure with one is tried again, not counted as ours.
threads() {
	attempt=1
	until timeout 100 stress-ng --pthread 1 --pthread-max 16 --pthread-ops 100 --quiet; do
		[ $attempt -lt 5 ] && own_fault || return 1
		attempt=$((attempt + 1))
	done
	own_fault || true
}
own_fault() {
	dmesg | grep 'stress-ng-pthre\[.* in stress-ng\[' || return 1
	dmesg -c | grep -v 'stress-ng-pthre\[.* in stress-ng\[' >>/tmp/dmesg.past
	return 0
}
# `load`: all kinds of threads at once; CPU 1 goes and comes meanwhile. (A real-time thread that wakes more often than
# every millisecond would have an emulated CPU for itself.)
load() {
	timeout 100 hackbench -g 1 -l 30 >/tmp/hackbench 2>&1 &
	messages=$!
	timeout 100 stress-ng --cpu 1 --switch 1 --fork 1 --affinity 1 --yield 1 --cyclic 1 \
		--cyclic-policy rr --cyclic-sleep 2000000 --futex 1 --timeout 1 --quiet >/tmp/stress 2>&1 &
	stress=$!
	threads >/tmp/pthread 2>&1 &
	many=$!
	timeout 100 rt-app app.json >/tmp/rt-app 2>&1 &
	paced=$!
	usleep 100000
	hotplug 0
	usleep 100000
	hotplug 1
	# Enough, if all seven have begun: one that hears of the end before is a failure to stress-ng. Otherwise, and under a topology
	# that lets this script starve, they end by themselves.
	within 3 all_begun && kill -INT $stress
	wait $messages || fail "hackbench: $(cat /tmp/hackbench)"
	wait $stress || fail "stress-ng ended with $?, $begun had begun: $(cat /tmp/stress)"
	wait $many || fail "stress-ng --pthread: $(cat /tmp/pthread)"
	grep ' in stress-ng\[' /tmp/pthread
	wait $paced || fail "rt-app: $(tail -3 /tmp/rt-app)"
}
all_begun() {
	begun=$(cat /proc/[0-9]*/comm 2>/dev/null | grep '^stress-ng-[^p]' | sort -u | wc -l)
	[ "$begun" -ge 7 ]
}
# `load_under "TOPOLOGY…" ARGUMENTS…`: under each of them; one attachment, which stays, for the others follow by switches.
load_under() {
	attach_all "$@"
	for t in $1; do
		[ "$t" = "${1%% *}" ] || runweir switch --quiet "$t" || fail "no switch to $t"
		load
		settled
		clean
	done
}
# `load_sets "TOPOLOGY…"…`: an attachment for each set.
load_sets() {
	for set in "$@"; do
		step "$set"
		load_under "$set"
		detach
	done
}
# `above_all`: loader and script are above the tasks of the topology from now on, or they would wait most of the time. What the
# script starts then begins with `normal`, or with `chrt -o 0` in the background, where a function would be a process more, and `$!` that.
above_all() { chrt -a -r -p 5 $live && chrt -r -p 5 $$ || fail "chrt"; }
normal() { chrt -o 0 "$@"; }
# `busy`: many kinds of threads, until `no_longer_busy`, whatever happens to the topology meanwhile.
busy() {
	rm -f /tmp/over
	chrt -o 0 stress-ng --cpu 1 --switch 1 --fork 1 --yield 1 --cyclic 1 --cyclic-policy rr --cyclic-sleep 2000000 \
		--futex 1 --timeout 1000 --quiet >/tmp/stress 2>&1 &
	stress=$!
	(while [ ! -e /tmp/over ]; do normal timeout 100 hackbench -g 1 -f 5 -l 20 >/tmp/messages 2>&1 || exit 1; done) &
	messages=$!
	(while [ ! -e /tmp/over ]; do normal timeout 100 rt-app app.json >/tmp/rt-app 2>&1 || exit 1; done) &
	paced=$!
	(while [ ! -e /tmp/over ]; do normal timeout 100 $PROBE threads 40 >/tmp/threads 2>&1 || exit 1; done) &
	many=$!
}
no_longer_busy() {
	touch /tmp/over
	wait $messages || fail "hackbench: $(cat /tmp/messages)"
	wait $paced || fail "rt-app: $(tail -3 /tmp/rt-app)"
	wait $many || fail "threads: $(cat /tmp/threads)"
	kill -0 $stress || fail "stress-ng: $(cat /tmp/stress)"
	kill $stress
	wait $stress || fail "stress-ng ended with $?: $(cat /tmp/stress)"
}
# `deadlines`: three threads that need nine tenths of a CPU each, so that two CPUs are not enough, until `no_deadlines`.
deadlines() {
	urgent=
	for thread in 1 2 3; do
		chrt -d --sched-runtime 9000000 --sched-deadline 10000000 --sched-period 10000000 0 sleep 1000 &
		urgent="$urgent $!"
	done
	usleep 500000
}
# shellcheck disable=SC2086 # numbers
no_deadlines() { kill $urgent; }
hotplug() {
	[ ! -e /sys/devices/system/cpu/cpu1/online ] || echo "$1" >/sys/devices/system/cpu/cpu1/online || fail "CPU 1 does not change"
}

cd "$(dirname "$0")" || exit 1
# What the kernel has to say it says, however much it is: `clean` and `threads` go by it.
echo 0 >/proc/sys/kernel/printk_ratelimit
