#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Makes the Python environment in which SimSo is compared with Runweir, once, and prints its interpreter.
#
# SimSo comes from PyPI, pinned by hash, into an environment of its own below the target folder, and stays there.
# Ends with 77, and says why on stdout, where there is no Python or no network.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
	echo "skipped: $1"
	exit 77
}

python=${PYTHON:-python3}
command -v "$python" >/dev/null || skip "there is no $python"
lists=tests/against_simso
target=${CARGO_TARGET_DIR:-target}
environment=$target/against-simso
stamp=$(cat $lists/*requirements.txt | sha256sum | cut -d' ' -f1)

if [[ $(cat "$environment/stamp" 2>/dev/null) != "$stamp" ]]; then
	rm -rf "$environment"
	mkdir -p "$target"
	"$python" -m venv "$environment" >/dev/null 2>&1 || skip "$python cannot make environments (Debian: python3-venv)"
	install=("$environment/bin/python" -m pip --quiet --disable-pip-version-check install --require-hashes)
	for list in build-requirements requirements; do
		"${install[@]}" --no-deps --no-build-isolation -r "$lists/$list.txt" >"$environment/log" 2>&1 || {
			tail -3 "$environment/log"
			skip "SimSo cannot be installed from PyPI (no network?)"
		}
	done
	echo "$stamp" >"$environment/stamp"
fi
echo "$environment/bin/python"
