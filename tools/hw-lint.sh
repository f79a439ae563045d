#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Verilator's warnings on each module of hw/rtl, with the default parameters and with others. Silent where there are none.
set -euo pipefail
cd "$(dirname "$0")/../hw/rtl"

lint() { # MODULE PARAMETERS…
	verilator --lint-only -Wall -y . "${@:2}" "$1.sv"
}

for file in *.sv; do
	lint "${file%.sv}"
done
lint weir_laxity -GNumTasks=5 -GNumCpus=3 -GSelect=1
lint weir_laxity -GNumTasks=16 -GNumCpus=1 -GSelect=2 -GSeparation="1'b0" -GPolicies="4'b0001" -GReadBack="1'b0"
lint weir_laxity -GNumTasks=64 -GNumCpus=8 -GSelect=0
lint weir_axil_bus -GNumCpus=8
