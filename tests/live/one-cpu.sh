#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The topology for one CPU.
#
# vm: --cpus 1
. "$(dirname "$0")/lib.sh"

load_under single
detach

# Only what the topology needs.
step "the components of one topology alone"
attach decentral --only
detach
