#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# How true imported workloads are: hackbench, a compile job and a small web server, recorded in a guest by the kernel's tracing, imported, and
# replayed under the model of the default scheduler. Prints a line a recording, three of each load: recorded and replayed utilisation, switches, wake-up p50 and p99.
#
#   bench/fidelity/run.sh [CPUS [DIR]]      recordings stay in DIR (default: a temporary folder)
#
# The guest counts instructions, so a recording is the same whenever it is made, and a busy computer does no harm. With one CPU its clock
# is as true as a real one; several CPUs take turns of 5 us, so that latencies between them are those of an emulator.
# RUNWEIR names the program (default: the debug build).
set -euo pipefail
cd "$(dirname "$0")/../.."

cpus=${1:-1}
runweir=$(realpath "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
records=${2:-$work/records}
loads=(hackbench compile web)

# Files that need no headers: the guest has none.
cp bench/fidelity/guest.sh "$work/"
for file in pipe graph; do
	gcc -E -P -Icore/include -Icore/port/native -o "$work/$file.i" "core/src/$file.c"
done
cp "$work/pipe.i" "$work/again.i"
cc1=$(gcc -print-prog-name=cc1)
as=$(command -v as)
if [[ ! -s $records/web-3.txt ]]; then
	cp "$runweir" "$work/runweir"
	strip "$work/runweir"
	(cd "$work" && ./runweir vm --cpus "$cpus" --accel tcg --icount --memory 1GiB --timeout 1500s --quiet --record records \
		--with "$work" --with "$(command -v gcc)" --with "$cc1" --with "$as" --with "$(command -v busybox)" \
		-- sh "$work/guest.sh" "${loads[@]}")
	mkdir -p "$records"
	[[ $work/records -ef $records ]] || cp "$work"/records/*.txt "$records/"
fi
printf '%-12s %24s %20s %26s %28s\n' "$cpus CPU" utilisation switches 'wake-up p50' 'wake-up p99'
for load in "${loads[@]/%/-1}" "${loads[@]/%/-2}" "${loads[@]/%/-3}"; do
	"$runweir" import "$records/$load.txt" --machine "smp-$cpus" --json --quiet >"$work/$load.json"
	python3 - "$load" "$work/$load.json" <<'PY'
import json, sys

page = json.load(open(sys.argv[2]))["fidelity"]["all"]
a, b = page["recorded"], page["replayed"]
def pair(key, show):
    x, y = a[key], b[key]
    if x is None or y is None:
        return "-"
    change = f" ({100 * (y / x - 1):+.1f} %)" if x else ""
    return f"{show(x)} -> {show(y)}{change}"
us = lambda ns: f"{ns / 1e3:.1f} us"
cells = [pair("utilisation", lambda u: f"{100 * u:.1f} %"), pair("switches", str), pair("wakeup_p50_ns", us), pair("wakeup_p99_ns", us)]
print(f"{sys.argv[1]:12} {cells[0]:>24} {cells[1]:>20} {cells[2]:>26} {cells[3]:>28}")
PY
done
