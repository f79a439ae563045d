#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Runweir against SimSo on the same random task sets, job by job (tests/against_simso).
#
# Then files with costs and arrivals of their own, run as they are: 100, 2,000 with WEIR_LONG (costs.py).
#
#   tools/test-against-simso.sh            15 sets a policy, 200 with WEIR_LONG
#   tools/test-against-simso.sh --full     1,000 sets a policy
#   tools/test-against-simso.sh ARGS...    what compare.py takes: --sets N, --seed N, --only rm, --keep DIR ...
#
# SimSo comes from PyPI into an environment of its own below the target folder, and stays there. Without
# Python or network the test is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

arguments=("$@")
[[ ${1:-} == --full ]] && arguments=(--sets 1000 "${@:2}")
(($#)) || arguments=(--sets "$([[ ${WEIR_LONG:-} ]] && echo 200 || echo 15)")

python=$(tools/simso-env.sh) || {
	echo "$python"
	exit 77
}
target=${CARGO_TARGET_DIR:-target}
tools/programs.sh
export PYTHONDONTWRITEBYTECODE=1
"$python" tests/against_simso/compare.py --runweir "$(realpath "$target")/debug/runweir" "${arguments[@]}"
"$python" tests/against_simso/costs.py --runweir "$(realpath "$target")/debug/runweir" --sets "$([[ ${WEIR_LONG:-} ]] && echo 2000 || echo 100)"
