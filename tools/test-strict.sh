#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The tests of components and the framework's laws against the strict port: native code under the rules of
# the kernel (loop budget, arena ranges, lock order). A broken rule ends the test with its name.
set -euo pipefail
cd "$(dirname "$0")/.."

# Asked of the whole workspace, so that the libraries of others have the features that they are built with already.
# The native port has had all of them; half of the random cases show whether a rule is broken here.
export WEIR_HALF=1
cargo test --locked --quiet --workspace --features weir-tests/strict --test laws --test reshape
