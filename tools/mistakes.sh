# SPDX-License-Identifier: MIT OR GPL-2.0-only
# shellcheck shell=bash
#
# For scripts that plant mistakes: the sources of the multikernel's library and of its tests are copied, and a sed script changes one of them, so
# what people run has no test's word in it.
#
#   source tools/mistakes.sh
#   plant TREE FILE SCRIPT    TREE is a copy of the sources in which SCRIPT has changed FILE; ends the script if it changes nothing there

plant() {
	local tree=$1 file=$2
	rm -rf "$tree"
	mkdir -p "$tree/runtimes" "$tree/tests/threads"
	cp -r runtimes/multikernel "$tree/runtimes"
	cp -r tests/multikernel tests/concurrency tests/gangs "$tree/tests"
	cp tests/threads/messages.c "$tree/tests/threads"
	sed -i "$3" "$tree/$file"
	if cmp -s "$file" "$tree/$file"; then
		echo "FAIL a mistake does not apply to $file: $3"
		exit 1
	fi
}
