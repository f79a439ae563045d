#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/porting.sh: what it takes to bring the framework to a runtime, counted: files, lines with code in them, and the names that the port
# has to define. Prints a table in Markdown; docs/porting.md says how to read it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Lines of C, Rust or shell that hold more than a comment.
code() {
	cat "$@" | awk '
		/^[[:space:]]*$/ { next }
		/^[[:space:]]*\/\// { next }
		comment { if (/\*\//) comment = 0; next }
		/^[[:space:]]*\/\*/ { if (!/\*\//) comment = 1; next }
		{ n++ }
		END { print n + 0 }'
}

# Lines that are not empty, comments included.
lines() {
	cat "$@" | grep -c '[^[:space:]]'
}

# Names that core and components use of a port: what all ports define.
names() {
	grep -ohE '^(#define |WEIR_INLINE [^(]*|static inline [^(]*|[a-z][a-z0-9_ *]* )\*?(weir|WEIR)_[A-Za-z0-9_]+' "$1" |
		grep -oE '(weir|WEIR)_[A-Za-z0-9_]+$' | sort -u | wc -l
}

row() {
	local name=$1 port=$2
	shift 2
	local files=()
	while IFS= read -r file; do files+=("$file"); done < <(git ls-files "$@" | grep -E '\.(c|h|rs|sh)$' | grep -vE '/(tests|examples|snapshots)/')
	printf '| %s | %s | %s | %s | %s | %s |\n' "$name" "${#files[@]}" "$(code "${files[@]}")" "$(lines "${files[@]}")" "$(code "$port")" "$(names "$port")"
}

echo '| runtime | files | lines of code | with comments | code of the port | names that it defines |'
echo '|---|---:|---:|---:|---:|---:|'
row 'zero: everything mapped to nothing' core/port/native/weir/port.h runtimes/zero core/port/native/weir/port.h
row 'a Rust program (`weir_core::host`)' core/port/native/weir/port.h crates/weir-core/src/host core/port/native
row 'threads of a Linux program' core/port/native/weir/port.h runtimes/threads core/port/native/weir/port.h core/port/native/port.c
row 'Linux kernel (BPF)' core/port/bpf/weir/port.h runtimes/linux core/port/bpf
row 'the kernel'"'"'s rules in a process (strict)' core/port/strict/weir/port.h core/port/strict
[[ -d core/port/bare && -d runtimes/bare ]] && row 'bare metal (RISC-V)' core/port/bare/weir/port.h runtimes/bare core/port/bare
printf '\nRequired of every runtime (weir/runtime.h): %s functions. Offered to it (weir/schedule.h): %s.\n' \
	"$(grep -cE '^(void|u64|int) weir_rt_' core/include/weir/runtime.h)" \
	"$(grep -cE '^(void|u64|u32|int|struct [a-z_]+ weir_mem \*) ?\*?weir_[a-z_]+\(' core/include/weir/schedule.h)"
