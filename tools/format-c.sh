#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/format-c.sh [--check]: lay the C files out as .clang-format says, or name those that are not and fail.
set -euo pipefail
cd "$(dirname "$0")/.."

# One version, since they differ in details.
format=clang-format-19
command -v "$format" >/dev/null || { echo "format-c: $format is not installed: make setup" >&2 && exit 1; }

# Not yet formatted: the core, its ports and the runtimes, and components that are being changed together with them.
later='^(core/(src|port|include/weir/[a-z]+\.h)|runtimes|tests|crates|bench|experiments)'
later+='|^core/(kit/(rq_load|timerqueue)\.c|include/weir/kit/(rq_load|timerqueue)\.h)'
later+='|^components/(annotate/(affinity|bandwidth|cbs|fair|group_weight|sporadic)|distribute/(fair_balancer|partition))\.c'

mapfile -t files < <(git ls-files '*.c' '*.h' | grep -vE "$later")
if [[ ${1:-} != --check ]]; then
	"$format" -i "${files[@]}"
	exit
fi
bad=0
for file in "${files[@]}"; do
	"$format" "$file" | cmp -s - "$file" || { echo "$file" && bad=1; }
done
exit $bad
