#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Where tasks run under `linux`, beside the kernel's own scheduler: on cores and nodes of their own, by nice value, and on large CPUs.
#
# vm: --machine tests/live/placement.toml
. "$(dirname "$0")/lib.sh"

hogs=
hog() { # COMMAND: a busy loop
	"$@" sh -c 'while :; do :; done' &
	hogs="$hogs $!"
}
rest() {
	# shellcheck disable=SC2086 # a list
	kill $hogs
	# shellcheck disable=SC2086 # a list
	wait $hogs 2>/dev/null
	hogs=
}
# The CPU of each hog, a line each.
where() { for h in $hogs; do sed 's/.*) //' "/proc/$h/stat" | cut -d' ' -f37; done; }
# How many of them have a core to themselves, or a CPU, or are in a node: for `apart` 2, 1 or 4 CPUs make one.
apart() { where | awk -v n="$1" '{ at[int($1 / n)] } END { print length(at) }'; }
# Its time on a CPU, in ms: of stat's ticks, only the sum is exact.
ran() { echo $(($(cut -d' ' -f1 "/proc/$1/schedstat") / 1000000)); }
# `is WHAT PER WANTED`, see apart(); a look takes a CPU itself, so one of ten in a second counts.
is() {
	within 10 is_apart "$2" "$3" && echo "  $1: $3" || fail "$1: not $3; they are on $(where | tr '\n' ' ')"
}
is_apart() { [ "$(apart "$1")" = "$2" ]; }
placed() { # CORES: how many of them four hogs have at least
	for _ in 1 2 3 4; do hog env; done
	sleep 1
	echo "  four hogs, cores: $(apart 2)"
	[ "$(apart 2)" -ge "$1" ] || fail "four hogs have fewer than $1 cores; they are on $(where | tr '\n' ' ')"
	is "four hogs, nodes" 4 2
	for _ in 1 2 3 4; do hog env; done
	sleep 1
	is "eight hogs, CPUs" 1 8
	rest
}
shares() {
	hog taskset 1
	hog nice -n 5 taskset 1
	# shellcheck disable=SC2086 # a list
	set -- $hogs
	sleep 1
	much=$(ran "$1") little=$(ran "$2")
	sleep 2
	much=$(($(ran "$1") - much)) little=$(($(ran "$2") - little))
	rest
	echo "  nice 0 and 5: $much to $little ms, 3.06 to 1 by weight"
	[ $((much * 100)) -gt $((little * 260)) ] && [ $((much * 100)) -lt $((little * 350)) ] || fail "not by weight"
}

step "the kernel's own scheduler"
placed 4
shares
attach linux --only --watchdog 9s
step "linux"
# A task that runs beside another one of its core does not go to an idle core (docs/fair.md): it came while something else ran there.
placed 3
shares
settled
detach
attach linux --only --watchdog 9s --machine ./hybrid.toml
step "large and small CPUs"
for _ in 1 2 3 4; do hog taskset f; done
sleep 1
# shellcheck disable=SC2086 # a list
for h in $hogs; do taskset -p ff "$h" >/dev/null; done
sleep 1
echo "  the hogs are on $(where | tr '\n' ' ')"
# Whoever looks takes a CPU for a moment, and what waited there meanwhile may go to a small one and come back: a tenth of the looks at most.
small=0
for _ in $(seq 20); do
	small=$((small + $(where | awk '$1 < 4' | wc -l)))
	usleep 50000
done
echo "  in 80 looks, hogs on small CPUs: $small"
[ "$small" -le 8 ] || fail "hogs stay on small CPUs: in $small of 80 looks"
rest
settled
detach
clean
