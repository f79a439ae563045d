#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What an operator reads: which process has the machine and at which socket, that the loader is stopped, that the same command may
# succeed later (status 1) or will not (2), what a topology ignores, whether anybody hears a message, and how tasks fared.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

refused_once() { ! runweir status >/dev/null 2>&1; }
hundredths() { cut -d' ' -f1 /proc/uptime | tr -d .; }

step "another runweir at another socket: its process and socket are named"
attach_all "decentral fifo cache-aware" --socket /tmp/other.sock
refused 2 "process $live, socket /tmp/other.sock" runweir live decentral --socket /tmp/mine.sock
refused 2 "nobody listens at /run/runweir/live.sock" runweir status
export RUNWEIR_SOCKET=/tmp/other.sock
runweir status >/dev/null || fail "no status at the socket"
detach
unset RUNWEIR_SOCKET

step "a loader that is stopped: reported within a second; the scheduler goes on"
attach_all "decentral fifo cache-aware"
kill -STOP $live
for command in "status" "switch fifo" "top --once"; do
	began=$(hundredths)
	# shellcheck disable=SC2086 # words
	refused 1 "is stopped and answers nobody (process $live, socket /run/runweir/live.sock)" runweir $command
	took=$(($(hundredths) - began))
	[ $took -le 150 ] || fail "$command took $took hundredths of a second"
done
hackbench -g 1 -l 5 >/dev/null || fail "no work is done while the loader is stopped"
kill -CONT $live
within 50 runweir status >/dev/null || fail "no status when the loader goes on"
topology_is decentral || fail "the topology is another"

step "as many clients as may be: status 1, and again 0 when they are gone"
$PROBE clients 32 &
clients=$!
within 100 refused_once || fail "33 clients are served"
refused 1 "32 clients of this user (number 0) are connected already" runweir status
kill $clients
wait $clients
within 50 runweir status >/dev/null || fail "no status when the clients are gone"

step "switches at the same time: each is done or may be tried again"
running=
for t in fifo cache-aware decentral fifo cache-aware decentral; do
	runweir switch --quiet $t >/tmp/switch.$t 2>&1 &
	running="$running $!"
done
for one in $running; do
	wait $one
	case $? in 0 | 1) ;; *) fail "a switch is refused for good: $(cat /tmp/switch.*)" ;; esac
done
settled

step "what a topology ignores is reported at a switch"
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/heavy && echo 300 >/sys/fs/cgroup/heavy/cpu.weight || fail "no group"
runweir switch fifo >/tmp/switch 2>&1 || fail "no switch: $(cat /tmp/switch)"
for code in nice-ignored group-ignored; do said $code /tmp/switch || fail "no $code: $(cat /tmp/switch)"; done
runweir switch cache-aware >/tmp/switch 2>&1 || fail "no switch: $(cat /tmp/switch)"
said nice-ignored /tmp/switch || fail "no nice-ignored: $(cat /tmp/switch)"
! said affinity-ignored /tmp/switch || fail "cache-aware goes by affinities"

step "what each CPU runs"
chrt -o 0 sh -c 'while :; do :; done' &
hog=$!
runs_hog() { runweir status --json | has "\"curr\":$hog,"; }
within 50 runs_hog || fail "no CPU is said to run task $hog: $(runweir status | head -40)"
kill $hog

step "whether anybody hears a message"
runweir publish MARKER value=7 >/tmp/publish 2>&1
echo "  $(head -1 /tmp/publish)"
runweir publish MARKER value=7 --json 2>/dev/null | has '"hearers":0' || fail "a component hears: $(cat /tmp/publish)"

step "without a recording: waits by topology and by pipe, the longest calls, rescues"
hackbench -g 1 -l 20 >/dev/null
runweir status --json >/tmp/status
for part in '"waits":[{"topology":"cache-aware"' '"last_10s":{' '"p99_ns":' '"longest_10s_ns":' '"lock_wait_ns":' '"rescues":0'; do
	has "$part" </tmp/status || fail "no $part in the status"
done
settled
detach
clean
