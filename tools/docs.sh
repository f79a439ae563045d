#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/docs.sh PROGRAM [DIR]: write the pages and pictures that are made from the program, runweir-lab beside it, and the workspace
# into DIR (docs/). They are committed; `make check` fails when they are out of date.
set -euo pipefail

program=$(realpath "${1:?usage: docs.sh PROGRAM [DIR]}")
cd "$(dirname "$0")/.."
dir=${2:-docs}
mkdir -p "$dir/images"

"$program" graph decentral --machine smp-4 -o "$dir/images/decentral.svg"
"$program" graph accelerator -o "$dir/images/accelerator.svg" 2>/dev/null
# A switch under load, as it happens.
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
"$program" run --scenario rescue --quiet --out "$run/rescue" 2>/dev/null
"$program" gantt "$run/rescue" --quiet --span 80ms..160ms --play 10s --group compositor --group player --group sound --group mixer \
	--group click --group cc-large-1 --group cc-large-2 --group cc-large-3 -o "$dir/images/switch.svg"

"$program" docs "$dir"
tools/python-docs.py >"$dir/python.md"
"$(dirname "$program")/runweir-lab" docs "$dir"
tools/draw-crates.sh >"$dir/crates.md"
tools/layers.sh >"$dir/architecture.md"
