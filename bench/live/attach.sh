# SPDX-License-Identifier: MIT OR GPL-2.0-only
# shellcheck shell=sh
#
# In the guest, sourced: attach TOPOLOGY…: all of them loaded, the first in charge; $live is the loader.
attach() {
	with=
	for t in "$@"; do with="$with --with $t"; done
	# shellcheck disable=SC2086 # the options are words
	runweir live "$1" --only $with --watchdog 9s 2>/tmp/live.log &
	live=$!
	until grep -q ^attached /tmp/live.log; do
		kill -0 $live || { cat /tmp/live.log >&2; exit 1; }
		usleep 50000
	done
}
