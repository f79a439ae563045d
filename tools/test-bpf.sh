#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The tests of components on the bytecode of the BPF port: the unit is compiled for the kernel's virtual machine, as the live
# scheduler has it, and runs in an interpreter (crates/weir-core/src/bpf.rs). The kernel's verifier sees it in tests/live.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "${WEIR_CLANG:-clang-19}" >/dev/null; then
	echo "skip: no clang 19: apt-get install clang-19"
	exit 77
fi
# Asked of the whole workspace, so that the libraries of others have the features that they are built with already.
cargo test --locked --quiet --workspace --features weir-tests/bpf --test laws wtest::
