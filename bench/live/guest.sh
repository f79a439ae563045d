#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# In the guest: guest.sh ROUNDS SCHEDULER… Prints `load,scheduler,round,value`; for 0 rounds what each callback costs instead:
# `callback,scheduler,name,runs,ns`. LOADS names the loads; hackbench-N has N groups. TOPOLOGY:component.parameter=value sets
# a parameter.
here=${0%/*} rounds=$1
shift
tool=$here/weir-bench-live
ops=/sys/kernel/sched_ext
start() { # SCHEDULER
	case $1 in
	default) return ;;
	fifo) "$tool" fifo "$here/fifo.bpf.o" >/run/sched.log 2>&1 & ;;
	bpfland) "$here/scx_bpfland" >/run/sched.log 2>&1 & ;;
	*:*) runweir live "${1%%:*}" --set "${1#*:}" --only --quiet >/run/sched.log 2>&1 & ;;
	*) runweir live "$1" --only --quiet >/run/sched.log 2>&1 & ;;
	esac
	pid=$!
	# The verifier takes a minute or more in an emulated machine.
	for _ in $(seq 6000); do
		[ "$(cat $ops/state)" = enabled ] && return
		kill -0 "$pid" 2>/dev/null || break
		usleep 50000
	done
	echo "guest.sh: $1 does not start: $(tail -3 /run/sched.log)" >&2
	return 1
}
stop() {
	[ "$1" = default ] && return
	kill -TERM "$pid" # a background job of sh begins with SIGINT ignored
	wait "$pid"
	while [ "$(cat $ops/state)" != disabled ]; do usleep 20000; done
}
# Eight compilations, four at a time: s.
compile() {
	began=$(cut -d' ' -f1 /proc/uptime)
	for i in 1 2 3 4; do
		(for _ in 1 2; do "$here/cc1" -quiet -O1 -fpreprocessed "$here/unit.i" -o /tmp/$i.s; done) &
	done
	wait
	awk -v began="$began" '{ printf "%.2f\n", $1 - began }' /proc/uptime
}
load() {
	case $1 in
	compile) compile ;;
	hackbench) hackbench -g 2 -l 50 | sed -n 's/^Time: //p' ;;
	hackbench-*) hackbench -g "${1#*-}" -l 20 | sed -n 's/^Time: //p' ;;
	pingpong) "$tool" pingpong 1000 ;;
	wakeup) "$tool" wakeup 8 20 ;;
	switch) stress-ng --switch 2 --switch-ops 4000 --metrics-brief 2>&1 | sed -n 's/.* \([0-9.]*\) nanosecs per context switch.*/\1/p' ;;
	esac
}
# Rotate who goes first; a short load warms each up.
for round in $(seq "$rounds"); do
	for scheduler in "$@"; do
		start "$scheduler" || continue
		hackbench -g 1 -l 5 >/dev/null
		for what in $LOADS; do
			echo "$what,$scheduler,$round,$(load $what)"
		done
		stop "$scheduler"
	done
	first=$1
	shift
	set -- "$@" "$first"
done
[ "$rounds" = 0 ] || exit 0
echo 1 >/proc/sys/kernel/bpf_stats_enabled
for scheduler in "$@"; do
	[ "$scheduler" = default ] && continue
	start "$scheduler" || continue
	hackbench -g 2 -l 50 >/dev/null
	"$tool" stats | sed "s/^/callback,$scheduler,/"
	stop "$scheduler"
	sleep 2 # until the kernel has let go of its programs
done
