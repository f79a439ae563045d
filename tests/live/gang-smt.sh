#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Gangs of whole cores, as core scheduling has them: in its slots nobody shares a core with a member. Two cores of two threads; while a
# gang with one member a core has its slots, no hog computes on any CPU, and between them all do.
#
# vm: --machine tests/live/smt.toml --turn 100us
. "$(dirname "$0")/lib.sh"

[ "$(cat /sys/devices/system/cpu/cpu1/topology/thread_siblings_list)" = 0-1 ] || fail "CPUs 0 and 1 are not one core"
gang_is() { runweir gang list | grep "^$1: " | grep -qF -- "$2"; }
no_gangs() { runweir gang list | grep -q "no gangs"; }
# CPU time of the hogs so far, in ticks of 10 ms, and the guest's clock, in the same unit. No process is started for it.
computed() {
	sum=0
	for stat in /proc/[0-9]*/stat; do
		read -r fields 2>/dev/null <"$stat" || continue
		case $fields in *"(slots)"*) ;; *) continue ;; esac
		# shellcheck disable=SC2086 # fields behind the name: state first, utime is the twelfth of them
		set -- ${fields##*)}
		sum=$((sum + ${12} + ${13}))
	done
	read -r up _ </proc/uptime
	at=${up%.*}${up#*.}
}
# Hogs of an earlier call may still be there; they count, too.
# What hogs get of the four CPUs in two seconds beside a gang with so many threads and such cores, percent: `left`. The gang sleeps, so all that
# is lost is what its slots keep free.
left_beside() {
	./slots hogs 8 60 &
	hogs=$!
	runweir gang idle --slot 20ms --period 40ms --threads "$1" --cores "$2" -- sleep 60 &
	gang=$!
	within 100 gang_is idle "20.0 ms in each 40.0 ms" || fail "$(runweir gang list)"
	# One gang is one line of the file, however it is broken for the screen.
	runweir gang list | tr -s '\n ' ' ' >>/tmp/gangs
	echo >>/tmp/gangs
	usleep 200000
	computed
	before=$sum began=$at
	usleep 2000000
	computed
	left=$(((sum - before) * 100 / (4 * (at - began))))
	kill $gang $hogs
	wait $gang $hogs
	within 50 no_gangs || fail "the gang is still there: $(runweir gang list)"
}

attach gang --only --watchdog 9s
: >/tmp/gangs
step "what a gang that sleeps leaves to others"
left_beside 2 shared
shared=$left
left_beside 2 one
one=$left
left_beside 2 whole
whole=$left
sed 's/^/  /' /tmp/gangs
echo "  hogs have: shared $shared %, one member a core $one %, one whole core $whole % of the CPUs"
sed -n 2p /tmp/gangs | grep -q "on CPUs 0,2, alone on their cores with 1,3" || fail "one a core: $(cat /tmp/gangs)"
sed -n 3p /tmp/gangs | grep -q "on CPUs 0-1, alone on their cores," || fail "a whole core: $(cat /tmp/gangs)"
# Slots of half of the time: nothing is lost, half of all, half of one core.
[ "$shared" -ge 90 ] || fail "a gang that shares its cores keeps others out"
[ "$one" -ge 40 ] && [ "$one" -le 58 ] || fail "one member a core"
[ "$whole" -ge 65 ] && [ "$whole" -le 83 ] || fail "a whole core"
settled

step "a member meets nobody"
# The gap of a thread that reads the clock all the time: with its sibling idle it has the CPU for the whole slot, 20 ms.
./slots hogs 8 6 &
runweir gang clock --slot 20ms --period 40ms --threads 2 --cores one -- ./slots 2 2 10000 >/tmp/skew || fail "slots"
wait $!
echo "  starts; skew in us (p50, p99, worst); starts of a thread alone: $(cat /tmp/skew)"
refused 2 "too few whole cores" runweir gang three --slot 20ms --period 40ms --threads 3 --cores one -- true
refused 2 "other tasks wait" runweir gang long --slot 5000ms --period 6000ms --cores whole -- true
settled

step "a swap and a CPU that goes and comes"
runweir gang idle --slot 20ms --period 40ms --threads 2 --cores one -- sleep 20 &
gang=$!
within 100 gang_is idle "20.0 ms in each 40.0 ms" || fail "$(runweir gang list)"
hotplug 0
usleep 200000
hotplug 1
runweir switch --quiet gang || fail "no switch"
usleep 200000
hackbench -g 1 -l 20 >/dev/null || fail "hackbench"
kill $gang
wait $gang
within 50 no_gangs || fail "the gang is still there: $(runweir gang list)"
settled
clean
detach
