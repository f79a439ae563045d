#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# For how long woken tasks wait for a CPU, as they see it themselves (waits.c), under topologies of every kind beside the kernel's
# default in the same guest; and that no call of the core lasts. The guest's CPUs take turns of 20 us, so that one that
# waits for another does not wait for its slice. The longest wait is printed; only an order of magnitude would be wrong.
#
# vm: --cpus 4 --turn 20us --memory 2GiB --timeout 3600s
. "$(dirname "$0")/lib.sh"

# `measured FILE`: the distribution, of three runs that with the middle maximum.
measured() {
	for run in 1 2 3; do
		normal ./waits 1 6 300 >"$1.$run" || fail "waits: $(cat "$1.$run")"
	done
	sort -t: -k7 -n "$1".[123] | sed -n 2p >"$1"
}
# `under TOPOLOGY`: it is in charge. A call may take 1 ms; a wait twice the usual one and 8 ms (seen: 1.9 ms where the
# usual is 0.8, and 6.1 under `llref`).
under() {
	measured /tmp/ours
	echo "$1"
	$PROBE waits /tmp/usual /tmp/ours 2 8 || fail "$1: tasks wait too long"
	$PROBE calls 1000 || fail "$(runweir status | head -40)"
	settled
}

step "the kernel's default"
measured /tmp/usual
cat /tmp/usual
# All that suit four equal CPUs, but `pipeline_fcfs` and `pipeline_lcfs`, which let tasks starve on purpose.
[ $# -gt 0 ] || set -- \
	"decentral fifo worksteal global_rr central hierarchical priority scaling cache-aware partitioned halves headq distributed foreign" \
	"chain1 chain2 chain3 chain4 chain5 chain6 multipipe multipipe_postponed postponed pipeline grows tenants" \
	"eevdf cfs linux lottery stride scx-simple scx-pick-two" "groups" "scx-interactive" "bvt pmc-fair capacity-aware" \
	"edf rm dm fp rt-fifo" "cbs sporadic sched-deadline rt-rr" "classes" "p-rm p-dm p-fp p-edf-vd" "p-cbs" "gang" "cool thrifty paced" \
	"llf llf-tick llref lre-tl" "dp-wrap u-edf run" "pd2 er-pd2" "mllf p-mllf p-edzl c-edf edf-tick edzl-tick epdf" \
	"edf-us edzl p-edf rbed" "edf-vd p-llf"
for set in "$@"; do
	step "$set"
	# shellcheck disable=SC2086 # topologies
	attach_all "$set"
	for t in $set; do
		[ "$t" = "${set%% *}" ] || runweir switch --quiet "$t" || fail "no switch to $t"
		under "$t"
	done
	detach
	clean
done
