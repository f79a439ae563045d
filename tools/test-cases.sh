#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Small inputs as users have them, each with what is right for it (tests/cases): files of rt-app, SimSo and hwloc, settings that
# nobody obeys, work that is left. `tests/cases/run.py DIR` tries other folders of cases.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v python3 >/dev/null || { echo "no python3" && exit 77; }
tools/programs.sh
exec python3 tests/cases/run.py --runweir "${CARGO_TARGET_DIR:-target}/debug/runweir"
