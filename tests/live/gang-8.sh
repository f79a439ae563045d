#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# gang.sh in a guest of eight CPUs.
#
# vm: --cpus 8 --turn 100us
. "$(dirname "$0")/gang.sh"
