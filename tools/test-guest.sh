#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The live scheduler in one real kernel, in short: a guest boots, is scheduled under load, switched, and left.
exec "$(dirname "$0")/live-tests.sh" first
