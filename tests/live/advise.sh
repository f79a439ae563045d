#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The topology in charge as text, a recording by the kernel's own tracing, and advice: under one queue with turns of 50 ms others are
# proposed, switched to, and kept since waits get shorter.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

attach_all "slow.weir decentral worksteal" || fail "attach"
above_all

step "the topology in charge as text"
runweir status --weir >/tmp/now.weir || fail "no text"
cmp -s /tmp/now.weir slow.weir || fail "another text: $(cat /tmp/now.weir)"
runweir switch --quiet decentral --set round_robin.slice=7ms || fail "no switch"
runweir status --weir >/tmp/now.weir || fail "no text"
said "slice = 7ms" /tmp/now.weir || fail "the value is not in the text: $(cat /tmp/now.weir)"
runweir check --machine host /tmp/now.weir >/dev/null || fail "what was read back is wrong"
runweir switch --quiet /tmp/now.weir || fail "what was read back cannot be switched to"
runweir status --weir --json | has '"origin":"written"' || fail "it is not what was loaded now"
runweir switch --quiet slow.weir || fail "no way back"

# Three that compute, and four that sleep 4 ms at a time.
chrt -o 0 stress-ng --cpu 3 --timeout 1000 --quiet >/tmp/stress 2>&1 &
stress=$!
wakers=
for _ in 1 2 3 4; do
	chrt -o 0 sh -c 'while [ ! -e /tmp/over ]; do usleep 4000; done' &
	wakers="$wakers $!"
done
usleep 500000

step "a recording"
runweir record --with ftrace -o /tmp/r.txt --duration 1s || fail "no recording"
runweir import /tmp/r.txt --under slow.weir --json >/tmp/import || fail "it cannot be imported"
has '"source":"ftracetext"' </tmp/import || fail "another source: $(head -5 /tmp/import)"
[ ! -d /sys/kernel/tracing/instances ] || [ -z "$(ls /sys/kernel/tracing/instances)" ] || fail "a buffer was left behind"

step "advice"
runweir advise --duration 2s --with ftrace -t decentral -t worksteal --trials 6 --seeds 1 --held-out 2 --jobs 1 \
	--switch --check 4s --out /tmp/advice --json >/tmp/advised || fail "no advice"
grep -A8 '"switched"' /tmp/advised
has '"kept":true' </tmp/advised || fail "not kept: $(tail -30 /tmp/advised)"
# (`status --json` names the former one too, among the waits.)
runweir status --weir --json >/tmp/now
! has '"topology":"slow"' </tmp/now || fail "the former topology is in charge"
runweir check --machine host /tmp/advice/proposal.weir >/dev/null || fail "the proposal does not check"
settled

touch /tmp/over
# shellcheck disable=SC2086 # the numbers are words
wait $wakers
kill $stress
wait $stress
detach
clean
