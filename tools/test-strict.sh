#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The tests of components and the framework's laws against the strict port: native code under the rules of
# the kernel (loop budget, arena ranges, lock order). A broken rule ends the test with its name.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --locked --quiet --package weir-tests --features strict --no-fail-fast
