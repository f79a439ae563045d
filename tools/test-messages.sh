#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# UMP and bulk channels, monitors (docs/messages.md): every interleaving of two ends with the model checker of tests/concurrency, eleven mistakes that
# it must find, then real threads with checksums; names, binds and agreement of up to 16 monitors, messages in random order; stubs of an interface over
# every transport; memory that does not cohere. Eight more mistakes are built in, one at a time.
#
#   tools/test-messages.sh [messages, 20000 by default]
set -euo pipefail
cd "$(dirname "$0")/.."

messages=${1:-20000}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/programs.sh
"$(realpath "${CARGO_TARGET_DIR:-target}")/debug/weir-glue" plain . >"$work/unit.c"
flags=(-std=gnu11 -g -O1 -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unused-parameter)
includes=(-Itests/concurrency/model -Icore/include -Icore/src)
for file in "$work/unit.c" core/port/native/host.c tests/concurrency/{plan,model/checker}.c; do
	"$cc" "${flags[@]}" "${includes[@]}" -c -o "$work/$(basename "$file" .c).o" "$file"
done
model() { # SECONDS FLAGS...
	"$cc" "${flags[@]}" "${includes[@]}" "${@:2}" -o "$work/model" tests/concurrency/ump/scenarios.c "$work"/{unit,host,plan,checker}.o
	timeout 300 "$work/model" "$1"
}

model 1
for break in {1..11}; do
	status=0
	model 0.5 -DUMP_BREAK="$break" >"$work/log" 2>&1 || status=$?
	if ((status != 3)); then
		tail -20 "$work/log"
		echo "FAIL mistake $break was not found (status $status)"
		exit 1
	fi
done
echo "ok   UMP: eleven mistakes found"

"$cc" "${flags[@]}" -O2 -Icore/include -Icore/port/native -o "$work/messages" tests/threads/messages.c core/port/native/port.c -lpthread
"$work/messages" "$messages"
"$cc" "${flags[@]}" -O2 -DUMP_BREAK=12 -Icore/include -Icore/port/native -o "$work/mistake" tests/threads/messages.c core/port/native/port.c -lpthread
if ("$work/mistake" 1000) >"$work/log" 2>&1 || ! grep -q 'messages.c' "$work/log"; then
	echo "FAIL mistake 12 was not found" && exit 1
fi

# --- monitors: names, binds, agreement --------------------------------------------------------------

monitors() { # FLAGS...
	"$cc" "${flags[@]}" "$@" -Icore/include -Icore/port/native -Iruntimes/multikernel -o "$work/monitors" \
		tests/multikernel/monitors.c runtimes/multikernel/{monitor,commit}.c
}
monitors -fsanitize=address,undefined
"$work/monitors" "${WEIR_CASES:-1000}"
for break in {1..5}; do
	status=0
	monitors -DMK_COMMIT_BREAK="$break"
	"$work/monitors" 2000 >"$work/log" 2>&1 || status=$?
	((status == 3)) || { cat "$work/log" && echo "FAIL mistake $break was not found (status $status)" && exit 1; }
done
echo "ok   monitors: five mistakes found"

# --- stubs of an interface, over every transport ----------------------------------------------------

"$(realpath "${CARGO_TARGET_DIR:-target}")/debug/runweir" stubs tests/multikernel/all.toml --lang c -o "$work" 2>"$work/log" ||
	{ cat "$work/log" && exit 1; }
multikernel() { # PROGRAM FLAGS...
	local files=("tests/multikernel/$1.c" core/port/native/port.c)
	[[ $1 != stubs ]] || files+=("$work/all.c" runtimes/multikernel/stub.c)
	"$cc" "${flags[@]}" -Icore/include -Icore/port/native -Iruntimes/multikernel -I"$work" "${@:2}" -o "$work/$1" "${files[@]}"
}
mistakes() { # PROGRAM MACRO CASES
	local break status
	for break in {1..4}; do
		multikernel "$1" "-D$2=$break"
		status=0
		timeout 300 "$work/$1" "$3" >"$work/log" 2>&1 || status=$?
		((status == 3)) || { cat "$work/log" && echo "FAIL mistake $break of $1 was not found (status $status)" && exit 1; }
	done
	echo "ok   $1: four mistakes found"
}
multikernel stubs -fsanitize=address,undefined
"$work/stubs" "${WEIR_CASES:-1000}"
mistakes stubs STUB_BREAK 2000
multikernel noncoherent -fsanitize=undefined
"$work/noncoherent" "${WEIR_CASES:-2000}"
mistakes noncoherent NC_BREAK 2000
