#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# How much of the kernel's waits is the emulated computer: a case of run.sh again and again, with CPUs of other speeds and with
# other turns. A wait that is so many instructions halves on CPUs twice as fast, one that is made of turns follows these.
#
#   experiments/sim-vs-kernel/speed.sh [CASE...]
#
# CASE is one of run.sh's (default: smp-4/decentral/apart). RUNWEIR as there. Writes data/speed.csv: the speed in million
# instructions a second of the guest's clock, the turn in us, and run.sh's errors.
# shellcheck source=experiments/begin.sh
source "$(dirname "$0")/../begin.sh"
scratch
(($#)) || set -- smp-4/decentral/apart

# QEMU's speed is 1000 >> SHIFT; `runweir vm` knows 500 only.
qemu=$(command -v qemu-system-x86_64)
mkdir "$work/bin"
cat >"$work/bin/qemu-system-x86_64" <<-END
	#!/bin/sh
	for word; do
		shift
		case \$word in shift=1,*) word=shift=\$SHIFT,\${word#*,} ;; esac
		set -- "\$@" "\$word"
	done
	exec "$qemu" "\$@"
END
chmod +x "$work/bin/qemu-system-x86_64"

for setting in "1 5" "0 5" "2 5" "3 5" "1 1" "1 20" "1 100"; do
	read -r shift turn <<<"$setting"
	SHIFT=$shift TURN=${turn}us DATA=$work/$shift-$turn RUNWEIR=$runweir PATH=$work/bin:$PATH ./run.sh "$@" >/dev/null
	awk -F, -v OFS=, -v speed=$((1000 >> shift)) -v turn="$turn" \
		'NR > 1 { print speed, turn, $0 } NR == 1 && speed == 500 && turn == 5 { print "mips,turn_us", $0 }' \
		"$work/$shift-$turn/errors.csv"
done | tee data/speed.csv
