#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Control groups under `groups`: weights, limits, limits around limits, threads and groups that come, move and go. Under the kernel's
# own scheduler (7.2.13), `shares` saw 1019 to 3060, 2035 to 2034 and 1015 to 3024 ms of 4 s, `limits` 799 and 1217 ms.
#
# (With turns of 1 ms a limit is passed by a turn of each CPU in each period.)
# vm: --cpus 3 --turn 200us
. "$(dirname "$0")/lib.sh"

root=/sys/fs/cgroup
hogs=

hog() { # GROUP CPUS: a busy loop in it
	sh -c 'echo $$ >'"$root/$1/cgroup.procs"'; exec taskset '"$2"' sh -c "while :; do :; done"' &
	hogs="$hogs $!"
}
rest() {
	# shellcheck disable=SC2086 # a list
	kill $hogs
	# shellcheck disable=SC2086 # a list
	wait $hogs
	hogs=
}
used() { sed -n 's/^usage_usec //p' "$root/$1/cpu.stat"; }
now_ms() { awk '{ print int($1 * 1000) }' /proc/uptime; }
# `usage SECONDS GROUP…`: CPU time of each in that time, in ms, as u1, u2, …. (This script waits for a CPU, too, and may sleep
# longer: by the clock.)
usage() {
	seconds=$1
	shift
	i=0
	for g in "$@"; do
		i=$((i + 1))
		eval "s$i=$(used "$g")"
	done
	lasted=$(now_ms)
	sleep "$seconds"
	lasted=$(($(now_ms) - lasted))
	i=0
	for g in "$@"; do
		i=$((i + 1))
		eval "u$i=\$((($(used "$g") - s$i) * seconds / lasted))"
	done
	[ $lasted -lt $((seconds * 1200)) ] || echo "  (it took $lasted ms)"
}
# `between LEAST VALUE MOST WHAT`
between() {
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ] && return
	runweir status
	fail "$4: $2, not $1 to $3"
}

echo +cpu >$root/cgroup.subtree_control
mkdir $root/light $root/heavy $root/capped $root/pod
echo +cpu >$root/pod/cgroup.subtree_control
mkdir $root/pod/inner $root/pod/other
echo 300 >$root/heavy/cpu.weight
echo "20000 100000" >$root/capped/cpu.max
echo "30000 100000" >$root/pod/cpu.max

shares() {
	hog light 1
	hog light 1
	hog heavy 1
	sleep 1
	usage 2 light heavy
	echo "  $u1 to $u2 ms, 1 to 3 by weight"
	between 240 $((u2 * 100 / u1)) 380 "weights, in hundredths"
	# Another weight while they run.
	echo 100 >$root/heavy/cpu.weight
	sleep 1
	usage 2 light heavy
	echo "  $u1 to $u2 ms, 1 to 1"
	between 80 $((u2 * 100 / u1)) 125 "changed weights, in hundredths"
	# And another group.
	for p in $(cat $root/light/cgroup.procs); do
		echo "$p" >$root/heavy/cgroup.procs
		break
	done
	echo 300 >$root/heavy/cpu.weight
	sleep 1
	usage 2 light heavy
	echo "  $u1 to $u2 ms, 1 to 3 with a thread that moved"
	between 240 $((u2 * 100 / u1)) 380 "shares after a move, in hundredths"
	rest
}
limits() {
	hog capped 1
	hog capped 2
	hog pod/inner 1
	hog pod/other 2
	sleep 1
	usage 4 capped pod pod/inner
	echo "  $u1, $u2 and in it $u3 ms of 4 s; limits of 800 and 1200"
	between 600 "$u1" 900 "limit of two CPUs' threads, ms"
	between 950 "$u2" 1300 "limit around two groups, ms"
	echo max >$root/pod/cpu.max
	sleep 1
	usage 2 pod
	echo "  $u1 ms of 2 s without the limit"
	between 2500 "$u1" 4000 "no limit, ms"
	echo "30000 100000" >$root/pod/cpu.max
	rest
}

attach_all "groups decentral"
step "weights"
shares
step "limits"
limits
step "groups that come and go, more than there are numbers for"
hog light 1
i=0
while [ $i -lt 300 ]; do
	mkdir $root/g$i
	echo "${hogs# }" >$root/g$i/cgroup.procs
	i=$((i + 1))
done
usage 1 g299
between 300 "$u1" 1100 "a group beyond the numbers, ms"
rest
i=0
while [ $i -lt 300 ]; do
	rmdir $root/g$i || fail "group g$i cannot be removed"
	i=$((i + 1))
done
load
step "reported again to a graph that comes later"
runweir switch decentral 2>/tmp/said || fail "no switch"
grep -q 'does not keep the limits of control groups' /tmp/said || fail "no warning: $(cat /tmp/said)"
runweir switch --quiet groups || fail "no switch back"
limits
settled
detach
clean
