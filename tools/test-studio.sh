#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The studio in a browser: a newcomer's first minutes; edits, runs, two side by side, explanations, the five tours; with the keyboard alone
# and looked at by axe; two tabs and a studio that ends; 4,096 CPUs. A wrong token and a foreign origin are refused, and the page is what its
# sources make.
# RUNWEIR names another program than the debug build, CHROMIUM another browser, SHOTS a folder for screenshots.
set -euo pipefail
cd "$(dirname "$0")/.."

export CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
ui=crates/weir-studio/ui
[[ -x $CHROMIUM ]] || { echo "skipped: no $CHROMIUM (apt-get install chromium)"; exit 77; }
command -v node >/dev/null && [[ -d $ui/node_modules/playwright-core ]] || {
	echo "skipped: no playwright-core (npm ci in $ui)"
	exit 77
}
(cd "$ui" && node build.mjs --check && npx tsc --noEmit)
[[ ${RUNWEIR:-} ]] || tools/programs.sh
RUNWEIR=$(realpath "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}")
export RUNWEIR
work=$(mktemp -d)
"$RUNWEIR" studio decentral >"$work/address" 2>"$work/said" &
studio=$!
trap 'kill "$studio" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
	[[ -s $work/address ]] && break
	sleep 0.1
done
address=$(cat "$work/address")
[[ $address ]] || { cat "$work/said"; exit 1; }

answers() { # STATUS CURL-ARGUMENTS
	local got
	got=$(curl -s -o "$work/body" -w '%{http_code}' "${@:2}")
	[[ $got == "$1" ]] || { echo "expected $1, got $got: ${*:2}"; exit 1; }
}
root=${address%%/\?*}
answers 200 "$address"
answers 401 "$root/"
answers 401 "$root/api/hello?token=0123456789abcdef"
answers 403 -H 'Origin: http://evil.example' "$root/api/hello?${address#*\?}"
answers 421 -H 'Host: evil.example' "$address"

failed=0
for test in drive first access live tours trouble scale; do
	node "$ui/tests/$test.mjs" ${SHOTS:+"$SHOTS"} 2>"$work/said" || { failed=1; cat "$work/said"; }
done
exit $failed
