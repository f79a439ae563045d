# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The topologies for two CPUs.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

load_under dual
# Half of it is written in Rust, which the kernel does not take: refused, and nothing changes.
refused 2 "is not written in C" runweir switch bilingual
load
settled
detach
clean
