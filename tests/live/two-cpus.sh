# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The topologies for two CPUs.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

attach dual --watchdog 9s
load 2
settled
runweir switch --quiet bilingual || fail "no switch"
load 2
settled
detach
clean
