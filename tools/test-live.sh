#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The live scheduler in real kernels: the guest scripts of tests/live, the longest first, but for `requested` and `groups`, which
# `make test-live` runs, too: with them the whole suite would take more than half an hour on two cores (CAVEATS.md).
exec "$(dirname "$0")/live-tests.sh" catalogue limits fair semantics switches numa ends counters instruction-sets brief watchdog \
	adaptation two-cpus
