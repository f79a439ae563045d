#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Which loaders may attach and which are refused, and switches by a loader that is one of its own tasks. The watchdog is as patient as in
# catalogue.sh.
#
# vm: --cpus 3
. "$(dirname "$0")/lib.sh"

nobody=65534
step "without rights"
refused 2 "CAP_BPF" $PROBE as $nobody runweir live fifo
sched_ext_is disabled || fail "attached without rights"

step "nobody in charge"
refused 2 "not in charge" runweir switch fifo
refused 2 "not in charge" runweir status

step "another scheduler in charge"
$PROBE rival ./rival.bpf.o >/tmp/rival &
rival=$!
within 1200 attached_or_gone /tmp/rival $rival && ! gone $rival || fail "the rival does not attach"
refused 2 "rival" runweir live fifo
kill -0 $rival || fail "the rival left"
[ "$(cat /sys/kernel/sched_ext/root/ops)" = rival ] || fail "the rival is gone"
kill $rival
wait $rival
back

step "a second one, another scheduler, another user"
attach_all "decentral edf"
timeout 300 hackbench -g 1 -l 400 >/tmp/hackbench 2>&1 &
messages=$!
refused 2 "in charge already" runweir live decentral
refused 2 "in charge already" runweir live decentral --socket /run/other.sock
refused 1 "rival.bpf.o" $PROBE rival ./rival.bpf.o
refused 2 "another user" $PROBE as $nobody runweir switch decentral
refused 2 "another user" $PROBE as $nobody runweir status
[ "$(stat -c %a:%u /run/runweir/live.sock)" = 600:0 ] || fail "the socket: $(ls -l /run/runweir)"
settled

step "switches under load"
nr=0
while kill -0 $messages 2>/dev/null || [ $nr -lt 20 ]; do
	for t in edf decentral; do
		runweir switch --quiet $t || fail "no switch to $t"
		nr=$((nr + 1))
	done
	[ $nr -lt 400 ] || break
done
wait $messages || fail "hackbench: $(tail -3 /tmp/hackbench)"
echo "  $nr switches"
settled

step "what was not asked for is refused, and nothing changes"
refused 2 "is not among those that" runweir switch worksteal
topology_is decentral || fail "another topology is in charge"
settled

step "the end"
detach
clean
