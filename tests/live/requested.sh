#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The other topologies with components that are in the kernel on request only: fair and interactive ones, fixed priorities, servers,
# and those that ask for heat, batteries and clocks.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

load_sets "linux capacity-aware scx-interactive bvt" "p-rm p-dm p-fp p-edf-vd" \
	"cbs p-cbs sched-deadline sporadic rt-rr" "classes" "push-pull" "cool thrifty paced"
