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
says "counters: instructions, cycles, l1_hits, l1_misses"
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
step "wrong words are refused"
refused 2 "is not a counter" runweir live decentral --counters tlb
clean
