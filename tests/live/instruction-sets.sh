#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Topologies for machines with several instruction sets, on CPUs that are called so.
#
# vm: --cpus 6
. "$(dirname "$0")/lib.sh"

step "an accelerator"
load_under "accelerator extended" --machine accel-4x2
detach

# `fpga NATIVE "SETS" "TOPOLOGIES"`: so many native CPUs, and a soft core for each of these instruction sets.
fpga() {
	step "an FPGA: $3"
	echo 'name = "fpga"' >/tmp/machine.toml
	printf '[[cpus]]\ncount = %s\n' "$1" >>/tmp/machine.toml
	for set in $2; do
		printf '[[cpus]]\ncount = 1\nisa = "%s"\nhost = 0\n' "$set" >>/tmp/machine.toml
	done
	load_under "$3" --machine /tmp/machine.toml
	detach
}
echo 0 >/sys/devices/system/cpu/cpu5/online
fpga 4 "alpha beta" fpga_before
fpga 4 "beta beta" fpga_after
fpga 2 "alpha beta beta beta" "fpga_watched fpga_reshaped"
