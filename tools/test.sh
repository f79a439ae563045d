#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The test suite: all Rust tests, then every tools/test-*.sh, two at a time. `tools/test.sh tools` runs only the
# latter. A script ends with 0 (passed), 77 (skipped, saying why) or anything else (failed); what it says comes when it ends.
# The last line sums up.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
passed=0 failed=0 skipped=0 broken=0
began=$SECONDS
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

if [[ $what == all ]]; then
	if cargo test --locked --workspace --no-fail-fast 2>&1 | tee "$work/rust"; then :; else
		echo "test: the Rust tests failed" >&2
		broken=1
	fi
	while read -r ok bad ignored; do
		passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + ignored))
	done < <(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; \([0-9]*\) ignored;.*/\1 \2 \3/p' "$work/rust")
	# A test binary that did not build or was killed has no result line of its own.
	((broken == 0 || failed > 0)) || failed=1
	echo "test: the Rust tests took $((SECONDS - began)) s"
fi

# Run one, and tell what it said in one piece.
try() { # NAME
	local start=$SECONDS status=0 word
	"tools/$1.sh" </dev/null >"$work/$1.log" 2>&1 || status=$?
	case $status in
	0) word=passed ;;
	77) word=skipped ;;
	*) word="FAILED (status $status)" ;;
	esac
	{
		flock 9
		echo "== $1"
		cat "$work/$1.log"
		echo "== $1: $word in $((SECONDS - start)) s"
	} 9>>"$work/lock"
	echo "${word%% *}" >"$work/$1.word"
}

# Most use one core. The live scheduler's guests take longest, and as many cores as there are.
shopt -s nullglob
names=(test-live)
for script in tools/test-*.sh; do
	name=$(basename "$script" .sh)
	[[ $name == test-live ]] || names+=("$name")
done
for name in "${names[@]}"; do
	while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done
	try "$name" &
	pids+=($!)
done
wait "${pids[@]}" || true
pids=()
for name in "${names[@]}"; do
	case $(cat "$work/$name.word" 2>/dev/null) in
	passed) passed=$((passed + 1)) ;;
	skipped) skipped=$((skipped + 1)) ;;
	*) failed=$((failed + 1)) ;;
	esac
done

echo "test: took $((SECONDS - began)) s"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
