#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# sample.sh FILE.json: in the guest, run rt-app and write down every tenth of a second what the kernel counts of its threads, into
# $RUNWEIR_RECORD/samples: thread, name, ns on CPUs, ns that it waited, turns, moves, voluntary and involuntary switches.
# The last line of a thread is what it came to. Shell built-ins only: a guest has few programs.
rt-app "$1" &
pid=$!
while kill -0 $pid 2>/dev/null; do
	for t in /proc/$pid/task/*; do
		read -r name <"$t/comm" && read -r ran waited turns <"$t/schedstat" || continue
		moves=0 voluntary=0 involuntary=0
		while read -r key _ value; do
			case $key in
			se.nr_migrations) moves=$value ;;
			nr_voluntary_switches) voluntary=$value ;;
			nr_involuntary_switches) involuntary=$value ;;
			esac
		done <"$t/sched"
		echo "${t##*/} $name $ran $waited $turns $moves $voluntary $involuntary"
	done
	sleep 0.1
done >"$RUNWEIR_RECORD/samples" 2>/dev/null
wait $pid
