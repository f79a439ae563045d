# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Topologies for machines with several instruction sets, on CPUs that are called so.
#
# vm: --cpus 6
. "$(dirname "$0")/lib.sh"

step "an accelerator"
attach_all "accelerator extended" --machine accel-4x2
load 1
settled
runweir switch --quiet extended || fail "no switch"
load 1
settled
detach

step "an FPGA, before and after"
echo 0 >/sys/devices/system/cpu/cpu5/online
for t in fpga_before fpga_after; do
	[ $t = fpga_before ] && names="alpha beta" || names="beta beta"
	set -- $names
	cat >/tmp/machine.toml <<TOML
name = "fpga"
cpus = [{ count = 4 }, { count = 1, isa = "$1", host = 0 }, { count = 1, isa = "$2", host = 0 }]
TOML
	attach_all $t --machine /tmp/machine.toml
	load 1
	settled
	detach
done
clean
