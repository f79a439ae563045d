# SPDX-License-Identifier: MIT OR GPL-2.0-only
# shellcheck shell=bash
#
# How the scripts of experiments begin: `source "$(dirname "$0")/../begin.sh"`. Finds the program ($runweir; RUNWEIR names it,
# default: target/release/runweir) and goes to the script's folder. `scratch` makes the folder $work, gone when the script ends.
set -euo pipefail
runweir=${RUNWEIR:-$(dirname "$0")/../../target/release/runweir}
[[ -x $runweir ]] || { echo "$0: no $runweir; run \`make build\`, or set RUNWEIR" >&2; exit 2; }
runweir=$(realpath "$runweir")
cd "$(dirname "$0")"

scratch() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
}
