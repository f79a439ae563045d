#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Runweir against SimSo on the same random task sets, job by job (tests/against_simso).
#
#   tools/test-against-simso.sh            200 sets a policy
#   tools/test-against-simso.sh --full     1,000 sets a policy
#   tools/test-against-simso.sh ARGS...    what compare.py takes: --sets N, --seed N, --only rm, --keep DIR ...
#
# SimSo comes from PyPI into an environment of its own below the target folder, and stays there. Without
# Python or network the test is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
	echo "skipped: $1"
	exit 77
}

arguments=("$@")
[[ ${1:-} == --full ]] && arguments=(--sets 1000 "${@:2}")
(($#)) || arguments=(--sets 200)

python=${PYTHON:-python3}
command -v "$python" >/dev/null || skip "there is no $python"
here=tests/against_simso
target=${CARGO_TARGET_DIR:-target}
environment=$target/against-simso
stamp=$(cat $here/*requirements.txt | sha256sum | cut -d' ' -f1)

if [[ $(cat "$environment/stamp" 2>/dev/null) != "$stamp" ]]; then
	rm -rf "$environment"
	mkdir -p "$target"
	"$python" -m venv "$environment" >/dev/null 2>&1 || skip "$python cannot make environments (Debian: python3-venv)"
	install=("$environment/bin/python" -m pip --quiet --disable-pip-version-check install --require-hashes)
	for list in build-requirements requirements; do
		"${install[@]}" --no-deps --no-build-isolation -r "$here/$list.txt" >"$environment/log" 2>&1 || {
			tail -3 "$environment/log"
			skip "SimSo cannot be installed from PyPI (no network?)"
		}
	done
	echo "$stamp" >"$environment/stamp"
fi

cargo build --locked --quiet --package runweir
export PYTHONDONTWRITEBYTECODE=1
"$environment/bin/python" $here/compare.py --runweir "$(realpath "$target")/debug/runweir" "${arguments[@]}"
