#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# 500 switches between five topologies under a load of many kinds: no task is lost, none waits longer than 500 ms, the default
# scheduler is never in between. Then a SIGKILL. How long tasks wait is printed; docs/sched-ext-semantics.md says what that means
# in an emulator. The loader is above the tasks of the topology here; in brief.sh it is one of them.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

attach_all "decentral fifo worksteal global_rr hierarchical"
above_all
busy
step "500 switches"
t=../../topologies
$PROBE switches 500 $t/fifo.weir $t/worksteal.weir $t/global_rr.weir $t/hierarchical.weir $t/decentral.weir || fail "see above"
settled
clean
step "killed under load"
kill -KILL $live
ended 137
step "the load goes on"
no_longer_busy
clean
