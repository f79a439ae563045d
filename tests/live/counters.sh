#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Hardware counters as information: a machine without any says so and the scheduler runs on; the way that they take is
# tried with events of the kernel.
#
# vm: --cpus 3
. "$(dirname "$0")/lib.sh"

step "none"
attach_all counting.weir
says "counters: none; this machine has none"
load
settled
[ "$($PROBE get stints)" = 0 ] || fail "counters where there are none"
detach

step "events of the kernel in their place"
attach_all "counting.weir decentral" --counters software
says "counters: instructions, cycles, l1_hits, l1_misses, l2_hits, l2_misses"
# No CPU goes away: it would be counted no more.
stress-ng --cpu 2 --switch 1 --fork 1 --timeout 4 --quiet || fail "stress-ng"
settled
stints=$($PROBE get stints) counted=$($PROBE get instructions) runs=$($PROBE get runs) busy=$($PROBE get busy_ns)
echo "  $counted ns in $stints of $runs stints, $busy ns by the scheduler's clock"
[ "$stints" -gt $((runs / 2)) ] || fail "few stints were reported"
# The same time by two clocks, which are read at slightly different moments.
[ "$counted" -gt $((busy / 10 * 8)) ] && [ "$counted" -lt $((busy / 10 * 12)) ] || fail "the counters are off"
step "a topology that subscribes to none receives none"
runweir switch --quiet decentral || fail "no switch"
hackbench -g 1 -l 10 >/dev/null
stints=$($PROBE get stints)
hackbench -g 1 -l 10 >/dev/null
[ "$($PROBE get stints)" = "$stints" ] || fail "counters are reported to nobody"
detach

# The measuring chain of source 4: the log in the kernel, the reader, the driver, means.
trace=/sys/kernel/tracing
[ -e $trace/trace_pipe ] || mount -t tracefs none $trace || fail "no tracefs"
measure() { # DIRECTORY: two runs of two programs, with light ones in between
	$CHAIN drive --trace $trace/trace_pipe --out "$1" --runs 2 --pause 20,60 \
		--heavy "messages=hackbench -g 1 -l 40" --heavy "forks=sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/busybox true; done'" \
		--light "busybox true" 2>/tmp/drive || fail "the driver: $(cat /tmp/drive)"
	sed 's/^/  /' /tmp/drive
	! grep -v ', 0 lost$' /tmp/drive || fail "the reader lost events"
	$CHAIN mean "$1" >"$1/means.csv" || fail "no means"
}
# `mean_of DIRECTORY PROGRAM METRIC`, a whole number.
mean_of() { sed -n "s/^$2,$3,[0-9]*,\(-\?[0-9]*\)\..*/\1/p" "$1/means.csv"; }
step "the log of counts, a reader, a driver"
attach_all pmc-fair --counters software --counter-log 2 --set pmc_fair.log_only=true
measure /tmp/base
# One process, 20 senders and 20 receivers; ten children.
for n in 1 2; do
	forks=$(grep -c 'copy_process:' /tmp/base/run-$n.log) ends=$(grep -c 'free_task:' /tmp/base/run-$n.log)
	[ "$forks" -ge 50 ] && [ "$ends" -ge 50 ] || fail "run $n: $forks forks, $ends ends"
done
sed 's/^/  /' /tmp/base/means.csv
[ "$(mean_of /tmp/base messages VCSW)" -gt 100 ] || fail "hackbench did not wait"
[ "$(mean_of /tmp/base messages Penalty)" = 0 ] || fail "a penalty that is only logged was applied"
# Page faults in place of misses at L2, one context switch a stint in place of hits: who exec()s has more of the first.
faults=$(mean_of /tmp/base forks CMR) few=$(mean_of /tmp/base messages CMR)
[ "$faults" -gt 10 ] && [ "$faults" -gt $((2 * few)) ] && [ "$faults" -le 100 ] || fail "rates of $faults and $few percent"
step "filters"
root=$(sed -n 's/^forks //p' /tmp/base/run-1.pids)
$CHAIN read --trace /tmp/base/run-1.log --pid "$root" --function copy_process -o /tmp/children 2>/tmp/read || fail "$(cat /tmp/read)"
[ "$(wc -l </tmp/children)" -ge 10 ] || fail "$(wc -l </tmp/children) children of $root"
! grep -v "do_exit\|free_task\|copy_process" /tmp/base/run-1.log || fail "lines of others"
readings=$($PROBE get readings) ns=$($PROBE get count_ns)
echo "  a reading of 6 counters takes $((ns / readings)) ns of $readings readings, with the two of the clock"
[ "$readings" -gt 1000 ] && [ $((ns / readings)) -gt 0 ] || fail "the cost of a reading is unknown"
detach
step "the same with penalties: who misses L1 little gets a negative one"
attach_all pmc-fair --counters software --counter-log 2
measure /tmp/ours
[ "$(mean_of /tmp/ours messages Penalty)" -lt -30 ] || fail "no penalty in the log"
$CHAIN mean /tmp/ours --against /tmp/base >/tmp/changes || fail "no comparison"
sed 's/^/  /' /tmp/changes
detach
step "no log without a request"
echo >$trace/trace
attach_all pmc-fair --counters software
timeout 100 hackbench -g 1 -l 10 >/dev/null || fail "hackbench"
detach
! grep -q PMC_SCHED $trace/trace || fail "lines that nobody asked for"
step "wrong words are refused"
refused 2 "0 is not in 1..=3" runweir live pmc-fair --counter-log 0
refused 2 "is not a counter" runweir live decentral --counters tlb
clean
