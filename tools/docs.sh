#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/docs.sh PROGRAM [DIR]: write the pages and pictures that are made from the program and the workspace into DIR
# (docs/). They are committed; `make check` fails when they are out of date.
set -euo pipefail

program=$(realpath "${1:?usage: docs.sh PROGRAM [DIR]}")
cd "$(dirname "$0")/.."
dir=${2:-docs}
mkdir -p "$dir/images"

"$program" graph decentral --machine smp-4 -o "$dir/images/decentral.svg"
"$program" graph accelerator -o "$dir/images/accelerator.svg" 2>/dev/null

"$program" docs "$dir"
tools/draw-crates.sh >"$dir/crates.md"
tools/layers.sh >"$dir/architecture.md"
