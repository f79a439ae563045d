#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The live scheduler in real kernels: the guest scripts of tests/live.
exec "$(dirname "$0")/live-tests.sh"
