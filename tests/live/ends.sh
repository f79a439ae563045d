# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# However the loader ends, the machine is back on its default scheduler; and who may not attach is told why.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

nobody=65534
busy() { stress-ng --cpu 2 --switch 2 --fork 1 --timeout 300 --quiet & stress=$!; }
quiet() { kill $stress; wait $stress; }

step "without rights"
refused 2 "CAP_BPF" $PROBE as $nobody runweir live fifo
[ "$(cat /sys/kernel/sched_ext/state)" = disabled ] || fail "attached without rights"

step "nobody in charge"
refused 2 "not in charge" runweir switch fifo
refused 2 "not in charge" runweir status

step "another scheduler in charge"
$PROBE rival ./rival.bpf.o >/tmp/rival &
rival=$!
until grep -q attached /tmp/rival; do usleep 100000; kill -0 $rival || fail "the rival does not attach"; done
refused 2 "rival" runweir live fifo
kill -0 $rival || fail "the rival left"
[ "$(cat /sys/kernel/sched_ext/root/ops)" = rival ] || fail "the rival is gone"
kill $rival
wait $rival
back

for signal in INT TERM KILL; do
	step "SIG$signal under load"
	attach fifo --watchdog 9s
	busy
	if [ $signal = INT ]; then
		step "a second one, another scheduler, another user"
		refused 2 "in charge already" runweir live decentral
		refused 2 "in charge already" runweir live decentral --socket /run/other.sock
		refused 1 "rival.bpf.o" $PROBE rival ./rival.bpf.o
		refused 2 "another user" $PROBE as $nobody runweir switch decentral
		refused 2 "another user" $PROBE as $nobody runweir status
		[ "$(stat -c %a:%u /run/runweir/live.sock)" = 600:0 ] || fail "the socket: $(ls -l /run/runweir)"
		settled
	fi
	kill -$signal $live
	case $signal in KILL) ended 137 ;; *) ended 0 ;; esac
	kill -0 $stress || fail "the load ended, too"
	quiet
done

step "after SIGKILL, the socket that was left is no obstacle; a duration ends it"
attach decentral --duration 1s
ended 0
step "stop at the socket"
attach decentral
$PROBE stop || fail "stop is refused"
ended 0
clean
