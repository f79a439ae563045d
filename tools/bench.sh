#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The benchmarks: ratios within one run, for the record in bench/RESULTS.md, never asserted.
# tools/bench.sh [stages|sim]
set -euo pipefail
cd "$(dirname "$0")/.."
echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
cargo run --locked --quiet --release --package weir-bench -- "$@"
