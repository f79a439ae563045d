#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The topologies for two CPUs.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

step "the emulator lets both compute"
for cpu in 0 1; do
	taskset $((cpu + 1)) sh -c "trap 'echo \$rounds >/tmp/rounds.$cpu; exit' TERM; while :; do rounds=\$((rounds + 1)); done" &
	counters="${counters:-} $!"
done
sleep 1
# shellcheck disable=SC2086 # numbers
kill $counters
wait
first=$(cat /tmp/rounds.0) second=$(cat /tmp/rounds.1)
echo "  $first and $second rounds"
[ "$first" -gt $((second / 10 * 8)) ] && [ "$second" -gt $((first / 10 * 8)) ] || fail "they do not share evenly"

step "topologies for two"
load_under dual
# Half of it is written in Rust, which the kernel does not take: refused, and nothing changes.
refused 2 "is not written in C" runweir switch bilingual
load
settled
detach
clean
