#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Two NUMA nodes with caches of their own: the topologies that look at them.
#
# vm: --machine tests/live/numa.toml
. "$(dirname "$0")/lib.sh"

load_under "flat_mesh hierarchical halves decentral"
detach
