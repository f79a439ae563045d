#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The RTL, as far as seconds go: Verilator's lint. Proofs and twins: make hw-prove, make hw-test.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v verilator >/dev/null 2>&1; then
	echo "skipped: no Verilator here: run \`make hw-setup\`"
	exit 77
fi
tools/hw-lint.sh
