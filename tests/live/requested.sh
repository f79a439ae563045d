# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Topologies with components that are in the kernel on request only, and the others for real-time tasks; an attachment for each
# set. No task tells a deadline here: what is tried is that the kernel takes these policies, and that each lets all kinds of threads
# run to their end.
#
# vm: --cpus 4
. "$(dirname "$0")/lib.sh"

for set in "edf-us edzl p-edf rbed edf-vd rt-fifo p-llf" "llf llf-tick llref lre-tl dp-wrap u-edf run pd2 er-pd2" \
	"linux capacity-aware scx-interactive bvt" "mllf p-mllf p-edzl epdf c-edf" "p-rm p-dm p-fp p-edf-vd" \
	"cbs p-cbs sched-deadline sporadic rt-rr classes"; do
	step "$set"
	load_under "$set"
	detach
done
