#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What releases promise (RELEASING.md), against files that earlier ones wrote, in tests/promises/VERSION: topologies mean the same graph, a result
# has each field that it had, of the same kind, an old folder of results is understood, a component that was built then still runs or is refused
# with the reason, and designs with the RTL of then fit today's.
#
#   tools/test-promises.sh             compare
#   tools/test-promises.sh --record V  write tests/promises/V, for a release, with the topologies, component and workload of the newest folder and those already there
set -euo pipefail
cd "$(dirname "$0")/.."

command -v jq >/dev/null || { echo "test-promises: no jq: apt-get install jq (Fedora, Arch: the package jq)" >&2; exit 77; }
tools/programs.sh
runweir=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/runweir
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
pass() { passed=$((passed + 1)) && echo "ok   $1"; }
fail() { failed=$((failed + 1)) && echo "FAIL $1"; }

# The same run each time.
run() { # FOLDER OUT
	"$runweir" run --quiet --topology eevdf --machine smp-2 --workload "$1/app.toml" --duration 100ms --seed 1 --out "$2" >/dev/null 2>&1
}
waits() { "$runweir" explain "$1" --worst 3 --json | jq -c '[.[] | [.task.name, .from_ns, .ns]]'; }
# Each field of a result with its kind; elements of lists are one.
fields() { jq -r 'def kind: type; [paths(true)] as $all | $all[] as $p | ($p | map(if type == "number" then "[]" else . end) | join(".")) + " " + (getpath($p) | kind)' "$1" | sort -u; }

if [[ ${1:-} == --record ]]; then
	new=tests/promises/${2:?usage: test-promises.sh --record VERSION}
	last=$(find tests/promises -mindepth 1 -maxdepth 1 -type d ! -path "$new" | sort -V | tail -1)
	mkdir -p "$new"
	# What is there already stays: more topologies than the last time, with their machines.
	for file in "$last"/*.{weir,toml,txt,c}; do
		[[ ! -e $file || $file == */rtl.txt ]] || cp -n "$file" "$new"
	done
	while read -r topology machine; do
		"$runweir" graph "$new/$topology.weir" --machine "$machine" -o "$new/$topology.mmd" >/dev/null 2>&1
	done <"$new/machines.txt"
	run "$new" "$work/run"
	mkdir -p "$new/run"
	cp "$work"/run/{summary.json,trace.pftrace} "$new/run"
	waits "$new/run" >"$new/waits.json"
	(cd "$new" && "$runweir" component build promised.c -o "promised-$(uname -m).so" >/dev/null && strip "promised-$(uname -m).so")
	tools/hw-interface.py >"$new/rtl.txt"
	echo "written: $new"
	exit
fi

for old in tests/promises/*/; do
	old=${old%/}
	version=${old##*/}
	while read -r topology machine; do
		if "$runweir" graph "$old/$topology.weir" --machine "$machine" -o "$work/now.mmd" >/dev/null 2>"$work/said" && cmp -s "$old/$topology.mmd" "$work/now.mmd"; then
			pass "$version: $topology means the same graph"
		else
			cat "$work/said" && diff "$old/$topology.mmd" "$work/now.mmd" | head -20 || true
			fail "$version: $topology means another graph"
		fi
	done <"$old/machines.txt"

	run "$old" "$work/run" || true
	fields "$old/run/summary.json" >"$work/had"
	fields "$work/run/summary.json" >"$work/has"
	# A field that is null in one run may have a value in another.
	gone=$(grep -v ' null$' "$work/had" | comm -23 - "$work/has" | while read -r field kind; do grep -q "^$field null$" "$work/has" || echo "$field ($kind)"; done)
	if [[ -z $gone ]]; then pass "$version: summary.json has each field"; else
		echo "$gone" | head -20
		fail "$version: fields of summary.json are gone or of another kind"
	fi
	if [[ $(waits "$old/run" 2>"$work/said") == "$(cat "$old/waits.json")" ]]; then
		pass "$version: its trace says the same"
	else
		cat "$work/said"
		fail "$version: its trace says something else"
	fi
	rm -rf "$work/run"

	# The binary of then, not its source: what a user has who upgrades.
	component=$old/promised-$(uname -m).so
	if [[ -e $component ]]; then
		echo 'annotate priority; entry -> promised -> cpus;' >"$work/own.weir"
		if "$runweir" run "$work/own.weir" --load "$component" --machine smp-2 --workload "$old/app.toml" --duration 100ms >"$work/said" 2>&1; then
			pass "$version: its component runs"
		# A message is broken into lines where they are full.
		elif sed 's/^ *│ *//' "$work/said" | tr '\n' ' ' | grep -q 'another version of the component interface'; then
			pass "$version: its component is refused: $(grep -m1 'another version' "$work/said")"
		else
			cat "$work/said"
			fail "$version: its component neither runs nor is refused with the reason"
		fi
	fi
	if [[ -e $old/rtl.txt ]]; then
		if tools/hw-interface.py --against "$old/rtl.txt" >"$work/said"; then pass "$version: designs with its RTL fit"; else
			cat "$work/said"
			fail "$version: the RTL has other ports, registers or calls"
		fi
	fi
done

# The ABI of components: the hash of the headers follows the magic word (core/include/weir/plugin.h). One with another hash is refused.
if (cd "$work" && "$runweir" component new --kind order promised && "$runweir" component build promised.c && "$runweir" component check promised.so) >"$work/said" 2>&1; then
	python3 - "$work/promised.so" "$work/older.so" <<'PY'
import sys

data = bytearray(open(sys.argv[1], "rb").read())
data[data.index(b"WPLUGIN2") + 8] ^= 1
open(sys.argv[2], "wb").write(data)
PY
	if "$runweir" component check "$work/older.so" >"$work/said" 2>&1; then
		fail "a component built with other headers is taken"
	elif grep -q "another version of the" "$work/said"; then
		pass "a component built with other headers is refused: $(head -1 "$work/said")"
	else
		cat "$work/said"
		fail "a component built with other headers is refused without saying why"
	fi
else
	cat "$work/said"
	fail "a component of \`component new\` is not taken"
fi

echo "$passed passed, $failed failed"
((failed == 0))
