#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Instructions that the core takes for a cycle of relinquish and pick, beside schedulers written by hand, held against the newest record of
# bench/history/instructions.jsonl: 3 % more or less is a failure. They are the same on every machine, if the compiler is.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v valgrind >/dev/null || {
	echo "test-counts: no valgrind: apt-get install valgrind (Fedora, Arch: the package valgrind)" >&2
	exit 77
}
# The C code of the core is compiled as in a release; the rest of the program does not count. Asked of the whole workspace, as in programs.sh.
cargo build --locked --quiet --workspace --bin weir-bench
exec "${CARGO_TARGET_DIR:-target}/debug/weir-bench" counts bench/history/instructions.jsonl
