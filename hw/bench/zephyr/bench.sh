#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The module for Zephyr (hw/sw/zephyr) compiled and run on stand-ins of Zephyr's kernel and of the engine. Silent where all is well.
#
#   hw/bench/zephyr/bench.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hw=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -std=gnu11 -O1 -Wall -Wextra -Werror -I "$here/include" -I "$hw/sw" -I "$hw/sw/zephyr" "$hw/sw/zephyr/weir_zephyr.c" "$here/bench.c" -o "$work/bench"
"$work/bench"
