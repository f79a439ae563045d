#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The live scheduler in real kernels: the guest scripts of tests/live, the longest first, without the one that fails now and then (CAVEATS.md).
exec "$(dirname "$0")/live-tests.sh" catalogue limits fair semantics switches numa ends counters instruction-sets brief watchdog two-cpus
