# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Two NUMA nodes with caches of their own: the topologies that look at them.
#
# vm: --machine tests/live/numa.toml
. "$(dirname "$0")/lib.sh"

attach_all "flat_mesh hierarchical halves decentral"
load 1
settled
for t in hierarchical halves decentral; do
	runweir switch --quiet $t || fail "no switch to $t"
	load 1
	settled
done
detach
clean
