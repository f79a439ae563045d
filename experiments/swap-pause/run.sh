#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The pause of a reconfiguration by tasks and CPUs, and what being able to reconfigure costs otherwise.
#
#   experiments/swap-pause/run.sh [--quick]      about two minutes; --quick: seconds, up to 10,000 tasks
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo run --release --locked --quiet --package weir-bench -- swap experiments/swap-pause/data "$@"
bench/swap-cost/run.sh | tee experiments/swap-pause/data/hot-path.csv
