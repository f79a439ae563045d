#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Builds the programs that the scripts here try, without optimisation. They are asked of the whole workspace: one package by
# itself would have its libraries with fewer features, and so built once more than `cargo test --workspace` has built them.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --locked --quiet --workspace --bin runweir --bin runweir-lab --bin weir-glue --example probe --example chain
