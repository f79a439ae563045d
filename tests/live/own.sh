#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A component that is not ours (tools/live-tests.sh builds it from a skeleton): it is in charge, is switched away from and back to,
# and is refused where the kernel does not have it.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

step "a component that is not ours is in charge"
attach ./own.weir --load ./own.so --only --with fifo --watchdog 9s
hackbench -g 2 -l 50 >/dev/null || fail "hackbench"
runweir status --json | has '"component":"own"' || runweir status --json | has '"own"' || fail "own is not among the components"
runweir switch fifo || fail "switch away"
topology_is fifo || fail "fifo is not in charge"
runweir switch ./own.weir --load ./own.so || fail "switch back"
topology_is own || fail "own is not in charge"
hackbench -g 2 -l 50 >/dev/null || fail "hackbench after the switches"
settled
detach

step "the one that was built for simulations alone"
refused 2 "does not run in the kernel" runweir live ./own.weir --load ./plain.so

step "a scheduler that was loaded without it"
attach fifo --only --watchdog 9s
refused 2 "unknown component" runweir switch ./own.weir --load ./own.so
settled
detach
