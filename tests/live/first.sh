#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The short form of all that the other scripts try: attach, a load of many kinds, switches under load, the end; and that the verifier
# takes the largest topologies that people begin with, each with its own components only.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

step "attach"
attach_all "decentral edf"
topology_is decentral || fail "another topology is in charge"
step "load"
load
settled
step "switches under load"
timeout 300 hackbench -g 1 -l 100 >/tmp/hackbench 2>&1 &
messages=$!
for t in edf decentral edf decentral edf; do
	runweir switch --quiet $t || fail "no switch to $t"
done
topology_is edf || fail "another topology is in charge"
wait $messages || fail "hackbench: $(tail -3 /tmp/hackbench)"
settled
refused 2 "is not among those that" runweir switch worksteal
step "the end"
detach
# `classes` has all of `linux`, and of `eevdf` but its balancer.
for t in classes groups worksteal; do
	step "$t loads"
	attach $t --only --watchdog 9s
	topology_is $t || fail "another topology is in charge"
	hackbench -g 1 -l 20 >/dev/null || fail "no work is done under $t"
	settled
	detach
done
clean
