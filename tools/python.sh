#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/python.sh build [--release]    the wheel of the Python package, into build/python
# tools/python.sh test                 the wheel, installed into a clean environment, with its tests and notebooks
#
# PYTHON is the interpreter (3.11 or later). What is needed besides comes from PyPI, into build/python/venv. maturin's version is fixed: the wheel
# names it, and is the same each time.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:?usage: python.sh build|test [--release]}
python=${PYTHON:-python3}
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
	echo "skipped: no Python 3.11 or later with venv (apt-get install python3-venv)"
	exit 77
}
out=build/python
venv=$out/venv
mkdir -p "$out"
[[ -x $venv/bin/python ]] || "$python" -m venv "$venv"
[[ -x $venv/bin/maturin ]] || "$venv/bin/pip" install --quiet 'maturin==1.16.0' || {
	echo "skipped: maturin cannot be installed from PyPI"
	exit 77
}

# In the target folder of the workspace: libraries that both need are compiled once.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
profile=(--profile dev)
[[ ${2:-} == --release ]] && profile=(--release)
rm -f "$out"/runweir-*.whl
"$venv/bin/maturin" build --quiet --locked --manifest-path python/Cargo.toml --out "$out" "${profile[@]}"
wheel=$(echo "$out"/runweir-*.whl)
echo "built $wheel ($(stat -c %s "$wheel") bytes)"
[[ $wheel == *cp311-abi3* ]] || { echo "the wheel is not for the stable ABI of 3.11" && exit 1; }
[[ $what == test ]] || exit 0

"$venv/bin/pip" install --quiet -r python/tests/requirements.txt || {
	echo "skipped: the libraries that the tests read tables with cannot be installed from PyPI"
	exit 77
}
"$venv/bin/pip" install --quiet --force-reinstall --no-deps "$wheel"
# For the test of `runweir mcp`, where the program is built.
program=${RUNWEIR:-$CARGO_TARGET_DIR/debug/runweir}
if [[ -x $program ]]; then
	RUNWEIR=$(realpath "$program")
	export RUNWEIR
fi
RUNWEIR_LONG=${WEIR_LONG:-} "$venv/bin/python" -m pytest -q -s python/tests
(cd python && "$PWD/../$venv/bin/python" -m mypy --no-error-summary runweir)
"$venv/bin/python" -m mypy --no-error-summary -c 'import runweir
r: runweir.Result = runweir.run("decentral", "smp-2", "hackbench")
n: int = len(r.slices)'
echo "types are right, and found by a checker"
