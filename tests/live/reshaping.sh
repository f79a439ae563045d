#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A topology that reshapes itself: a queue for each of four CPUs, one for three, one with long slices while POWER says battery, and
# back. Nothing is restarted, no task waits for ever.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

has_instance() { runweir status --json | has "\"name\":\"$1\""; }
lacks_instance() { ! has_instance "$1"; }
cpu3() { echo "$1" >/sys/devices/system/cpu/cpu3/online; }

attach grows --only --watchdog 9s
(while :; do hackbench -g 1 -l 20 >/dev/null; done) &
load=$!
has_instance load_balancer || fail "four CPUs: a queue for each"
step "three CPUs"
cpu3 0
within 100 lacks_instance load_balancer || fail "three CPUs: one queue"
step "four CPUs"
cpu3 1
within 100 has_instance load_balancer || fail "four CPUs again"
step "battery and mains"
runweir publish POWER value=1 --quiet || fail "publish"
within 100 lacks_instance load_balancer || fail "battery: one queue"
runweir publish POWER value=0 --quiet || fail "publish"
within 100 has_instance load_balancer || fail "mains: a queue for each"
kill $load
settled
detach
clean
