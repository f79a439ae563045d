#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The test suite: all Rust tests, then every tools/test-*.sh. `tools/test.sh tools` runs only the
# latter. A script ends with 0 (passed), 77 (skipped, saying why) or anything else (failed).
# The last line sums up.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
passed=0 failed=0 skipped=0 broken=0
began=$SECONDS

if [[ $what == all ]]; then
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if cargo test --locked --workspace --no-fail-fast 2>&1 | tee "$log"; then :; else
		echo "test: the Rust tests failed" >&2
		broken=1
	fi
	while read -r ok bad ignored; do
		passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + ignored))
	done < <(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; \([0-9]*\) ignored;.*/\1 \2 \3/p' "$log")
	# A test binary that did not build or was killed has no result line of its own.
	((broken == 0 || failed > 0)) || failed=1
fi

shopt -s nullglob
for script in tools/test-*.sh; do
	name=$(basename "$script" .sh)
	echo "== $name"
	start=$SECONDS
	status=0
	"$script" </dev/null || status=$?
	case $status in
	0) passed=$((passed + 1)) word=passed ;;
	77) skipped=$((skipped + 1)) word=skipped ;;
	*) failed=$((failed + 1)) word="FAILED (status $status)" ;;
	esac
	echo "== $name: $word in $((SECONDS - start)) s"
done

echo "test: took $((SECONDS - began)) s"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
