#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Every topology of the catalogue for four equal CPUs is in charge of all kinds of load. One attachment: the others
# follow by switches. The watchdog is patient, for `priority`, `pipeline_fcfs` and `pipeline_lcfs` let tasks starve on
# purpose, and the load ends.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

all="decentral central chain1 chain2 chain3 chain4 chain5 chain6 distributed fifo global_rr halves headq \
	hierarchical multipipe multipipe_postponed partitioned postponed priority scaling worksteal pipeline_fcfs \
	pipeline_lcfs foreign rm dm fp edf"
load_under "$(echo $all)"
step "what was not loaded is refused"
refused 2 "is not among those that" runweir switch edzl
settled
detach
clean
