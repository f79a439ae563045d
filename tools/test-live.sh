#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The live scheduler in a real kernel, in short: see tests/live/switches.sh and brief.sh. `make test-live` runs all that there is.
exec "$(dirname "$0")/live-tests.sh" switches brief
