# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Topologies whose components are in the kernel on request only: three sets, an attachment for each, the others of a set follow by
# switches. No task tells a deadline here: what is tried is that the kernel takes these policies, and that each lets all kinds of
# threads run to their end.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

# `set_of "TOPOLOGY…"`: the first one is attached.
set_of() {
	step "$1"
	attach_all "$1"
	for t in $1; do
		[ "$t" = "${1%% *}" ] || runweir switch --quiet "$t" || fail "no switch to $t"
		load 1
		settled
		clean
	done
	detach
}

set_of "edf-us edzl p-edf rbed edf-vd rt-fifo p-llf"
set_of "llf llf-tick llref lre-tl dp-wrap u-edf run pd2 er-pd2"
set_of "linux capacity-aware scx-interactive bvt"
