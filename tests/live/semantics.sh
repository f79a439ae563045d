#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What the kernel expects of every sched_ext scheduler: affinities are kept, a task of a real-time class takes
# precedence but starves no task, tasks that leave while they wait are given up, a scheduler can be loaded again and
# again. docs/sched-ext-semantics.md has the list.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

# CPUs on which a process may run, and where it is: field 39 of its stat, after the name.
where() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f37; }
# What is set aside for deadlines, on any CPU: one value, if all is well.
bandwidth() { grep -h 'dl_bw->total_bw' /sys/kernel/debug/sched/debug | sort -u; }
# Threads of the normal classes (SCHED_OTHER, BATCH, IDLE, EXT): field 41 of their stat.
normal_threads() {
	cat /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | cut -d' ' -f39 | grep -c '^[0357]$'
}
before_all=$(bandwidth)
spin() { while :; do :; done; }

for t in partitioned decentral global_rr; do
	[ -n "$live" ] && { runweir switch --quiet $t || fail "no switch"; } || attach_all "partitioned decentral global_rr"
	step "$t: a task runs where it may, and only there"
	stress-ng --cpu 4 --timeout 100 --quiet &
	stress=$!
	spin &
	bound=$!
	for cpus in 2 0 3 1 2; do
		taskset -pc $cpus $bound >/dev/null || fail "taskset"
		usleep 200000
		for look in 1 2 3; do
			at=$(where $bound)
			[ "$at" = $cpus ] || fail "bound to $cpus, it is on $at"
			usleep 50000
		done
	done
	before=$(cut -d' ' -f14 /proc/$bound/stat)
	sleep 1
	after=$(cut -d' ' -f14 /proc/$bound/stat)
	echo "  bound to one CPU beside 4 others on 4 CPUs, it had $((after - before)) % of a CPU"
	[ $after -gt $before ] || fail "it does not run"
	kill $bound $stress
	wait $bound $stress 2>/dev/null
	settled
done

step "tasks that are killed, stopped and changed while they wait"
for turn in 1 2 3 4 5; do
	pids=
	for i in 1 2 3 4 5 6 7 8; do
		spin &
		pids="$pids $!"
	done
	usleep 200000
	for p in $pids; do
		kill -STOP $p
		renice -n $turn -p $p >/dev/null
		taskset -pc $((p % 4)) $p >/dev/null
		kill -CONT $p
		chrt -f -p 1 $p 2>/dev/null && chrt -o -p 0 $p
	done
	kill -KILL $pids
	wait $pids 2>/dev/null
done
settled
echo "  $($PROBE get dequeues) were taken back"
[ "$($PROBE get dequeues)" -gt 0 ] || fail "none was taken back while it waited"

step "a real-time program holds CPU 1 for 6 s"
taskset -c 1 sh -c 'while :; do :; done' &
bound=$!
sleep 1
$PROBE hog 1 6 &
hog=$!
usleep 500000
before=$(cut -d' ' -f14 /proc/$bound/stat)
began=$(uptime_s)
timeout 60 hackbench -g 1 -l 30 >/dev/null || fail "hackbench beside it"
echo "  hackbench beside it: $(($(uptime_s) - began)) s"
sleep 4
after=$(cut -d' ' -f14 /proc/$bound/stat)
wait $hog || fail "the hog"
echo "  a task bound to that CPU had $((after - before)) ticks of 4 s and more"
[ $after -gt $before ] || fail "it starved"
kill $bound
wait $bound 2>/dev/null
settled held

step "the graph hears that CPU 1 is taken, and that it is back"
cpu_1_is() { runweir status --json | has "\"cpu\":1,\"online\":$1"; }
$PROBE hog 1 6 &
hog=$!
within 50 cpu_1_is false || fail "it did not hear that a real-time program has the CPU"
wait $hog || fail "the hog"
within 50 cpu_1_is true || fail "it did not hear that the CPU is back"
settled held

step "1,000 forks later there are as many records as tasks"
stress-ng --fork 2 --fork-ops 1000 --quiet || fail "stress-ng"
sleep 1
there=$(normal_threads)
known=$($PROBE get tasks)
echo "  $known records, $there threads"
[ $((known - there)) -lt 10 ] && [ $((there - known)) -lt 10 ] || fail "records and threads do not match"

step "bandwidth set aside for deadlines"
[ "$(bandwidth)" = "$before_all" ] || fail "total_bw was $before_all, is $(bandwidth)"

step "threads of the kernel that belong to a CPU are unharmed"
[ "$($PROBE get direct)" -gt 0 ] || fail "none came along"

step "again and again"
detach
for turn in 1 2; do
	attach_all fifo
	load
	settled
	detach
done
[ "$(cat /sys/kernel/sched_ext/enable_seq)" = 3 ] || fail "enable_seq is $(cat /sys/kernel/sched_ext/enable_seq)"
[ "$(bandwidth)" = "$before_all" ] || fail "total_bw was $before_all, is $(bandwidth)"
clean
