#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Jobs per second of SimSo and of Runweir on the same task sets, one thread each, in one run: global EDF on 4, 64 and 256
# CPUs. For the record in bench/RESULTS.md, never asserted.
#
#   bench/against_simso/run.sh [--json] [--quick] [--cpus 4,64,256] [--sets N]
#
# SimSo comes from PyPI into an environment below the target folder; without Python or network nothing is measured.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=$(tools/simso-env.sh) || {
	echo "$python" >&2
	exit 77
}
target=${CARGO_TARGET_DIR:-target}
cargo build --locked --quiet --release --package runweir
echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" >&2
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/against_simso
exec "$python" bench/against_simso/measure.py --runweir "$(realpath "$target")/release/runweir" "$@"
