#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Make the waveforms of docs/hardware.md from the RTL itself: Verilator simulates the engine behind AXI4-Lite (bench.cpp), WaveDrom
# draws (draw.py). Writes docs/images/hardware-{tick,claim,transfer}.svg.
#
#   hw/waves/waves.sh [--check]
#
#   --check   write nothing; status 1 if a picture is not what the RTL does
#
# Needs `make hw-setup`; without the tools it ends with 77.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD root=$(cd ../.. && pwd) check=0
while (($#)); do
	case $1 in
	--check) check=1 && shift ;;
	*) sed -n '4,11s/^# \{0,1\}//p' "$(basename "$0")" >&2; exit 2 ;;
	esac
done
bin=$("$root/tools/hw-setup.sh" --where) && command -v verilator >/dev/null 2>&1 || {
	echo "skipped: the tools are missing: run \`make hw-setup\`"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
verilator --cc --exe --build --public-flat-rw --top-module weir_laxity_axil -GNumTasks=4 -GNumCpus=2 -GSelect=0 \
	-CFLAGS "-O0 -I$root/hw/sw" --Mdir "$work/sim" -o bench "$here/bench.cpp" -F "$root/hw/rtl/weir.f" >"$work/log" 2>&1 || {
	tail -20 "$work/log" >&2
	exit 1
}
"$work/sim/bench" >"$work/lines"
mkdir "$work/images"
"$bin/python3" "$here/draw.py" "$work/images" <"$work/lines"
bad=0
for image in "$work"/images/*.svg; do
	name=$(basename "$image")
	if ((!check)); then
		cp "$image" "$root/docs/images/$name"
	elif ! cmp -s "$image" "$root/docs/images/$name"; then
		echo "waves: docs/images/$name is out of date: run hw/waves/waves.sh" >&2
		bad=1
	fi
done
exit "$bad"
