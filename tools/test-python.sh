#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The Python package: wheel, tables in three libraries, Ctrl-C, memory, notebooks.
exec "$(dirname "$0")/python.sh" test
