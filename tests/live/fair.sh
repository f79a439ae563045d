#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Fair schedulers in the kernel: all kinds of load, and shares by nice value on one CPU.
#
# vm: --cpus 3
. "$(dirname "$0")/lib.sh"

busy() { # NICE: a busy loop on CPU 0
	nice -n "$1" taskset 1 sh -c 'while :; do :; done' &
}
ticks() { cut -d' ' -f14 "/proc/$1/stat"; }

all="cfs eevdf stride lottery scx-simple scx-pick-two pmc-fair cache-aware"
load_under "$all"
# Nice 5 has weight 335 where nice 0 has 1024.
for t in cfs eevdf stride; do
	step "$t: shares by nice value"
	runweir switch --quiet $t || fail "no switch to $t"
	busy 0
	much=$!
	busy 5
	little=$!
	sleep 1
	a=$(ticks $much) b=$(ticks $little)
	sleep 2
	a=$(($(ticks $much) - a)) b=$(($(ticks $little) - b))
	kill $much $little
	wait $much $little
	echo "  $a to $b ticks, 3.06 to 1 by weight"
	[ $((a * 100)) -gt $((b * 240)) ] && [ $((a * 100)) -lt $((b * 390)) ] || fail "not by weight"
done
settled
detach
clean
