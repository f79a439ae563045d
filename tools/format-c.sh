#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/format-c.sh [--check]: lay the C files out as .clang-format says, or name those that are not and fail.
set -euo pipefail
cd "$(dirname "$0")/.."

# One version, since they differ in details.
format=clang-format-19
command -v "$format" >/dev/null || { echo "format-c: $format is not installed: make setup" >&2 && exit 1; }

# As C: `clang-format` takes some headers for Objective-C.
formatted() { "$format" --assume-filename=file.c <"$1"; }

work=$(mktemp)
trap 'rm -f "$work"' EXIT
bad=0
while read -r file; do
	formatted "$file" >"$work"
	cmp -s "$work" "$file" && continue
	if [[ ${1:-} == --check ]]; then
		echo "$file" && bad=1
	else
		cat "$work" >"$file"
	fi
# The one that tools/hw-generate.py makes is as that makes it.
done < <(git ls-files '*.c' '*.h' ':!hw/sw/weir_regs.h')
exit $bad
