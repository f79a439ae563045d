#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A program that asks for another policy between its phases (experiments/adaptation, source 0, section 8.8): the least work is
# done in vain, by far, where the graph changes with it.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

socket=/run/runweir/live.sock
# `both POLICIES…`: us of both phases, with what was announced between them; eight threads of 0.6 ms each.
both() { ./pipeline 8 100000 3 "$@" | awk -F, '{ print $3 + $4 + $5 }'; }

step "the kernel's own scheduler"
both >/dev/null
default=$(both)
attach_all "headq pipeline_fcfs pipeline_lcfs"
step "round robin"
robin=$(both)
runweir switch --quiet pipeline_fcfs || fail "no switch to pipeline_fcfs"
step "first come, first served, and the last ones first on the way back"
adaptive=$(both $socket fcfs lcfs)
echo "  $default us by default, $robin by round robin, $adaptive with the program's own changes"
[ $((adaptive * 2)) -lt "$default" ] || fail "no better than the default by half"
[ $((adaptive * 4)) -lt "$robin" ] || fail "no better than round robin by three quarters"
settled
detach
clean
