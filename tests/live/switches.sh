# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# 500 switches between five topologies under load: no task is lost, the default scheduler is never in between. How
# long tasks wait is told; docs/sched-ext-semantics.md says what that means in an emulator.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

attach decentral --watchdog 9s
timeout 590 stress-ng --cpu 1 --switch 1 --fork 1 --yield 1 --futex 1 --timeout 580 --quiet &
stress=$!
(while [ ! -e /tmp/over ]; do timeout 100 hackbench -g 1 -l 20 >/tmp/hackbench 2>&1 || exit 1; done) &
messages=$!
t=../../topologies
$PROBE switches 500 $t/fifo.weir $t/worksteal.weir $t/global_rr.weir $t/hierarchical.weir $t/decentral.weir || fail "see above"
touch /tmp/over
wait $messages || fail "hackbench: $(cat /tmp/hackbench)"
kill $stress
wait $stress 2>/dev/null
settled
detach
clean
