#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# In the guest: guest.sh LOAD… runs each load once, so that files and programs are in memory, and then records it three times by the kernel's
# own tracing into $RUNWEIR_RECORD/LOAD-N.txt. Beside it lie the files to compile (*.i) and the compiler's parts.
here=$(cd "${0%/*}" && pwd)
cd "$here" || exit 1

# Messages between forty tasks.
hackbench_load() { hackbench -g 1 -l 60; }

# As many compilations at a time as there are CPUs, and one more.
compile_load() {
	for file in *.i; do
		while [ "$(jobs -p | wc -l)" -gt "$(nproc)" ]; do usleep 2000; done
		gcc -O1 -w -c -o "/tmp/$file.o" "$file" &
	done
	wait
}

# A server that forks for each request, and three clients that pause between requests.
web_load() {
	busybox httpd -f -p 127.0.0.1:8080 -h "$here" &
	server=$!
	usleep 50000
	for client in 1 2 3; do
		(for _ in $(seq 25); do
			busybox wget -q -O /dev/null http://127.0.0.1:8080/guest.sh || echo "no answer" >&2
			usleep $((client * 7000))
		done) &
		clients="$clients $!"
	done
	# shellcheck disable=SC2086 # the numbers are words
	wait $clients
	kill $server
}

if [ "$1" = --load ]; then
	"$2"_load
	exit
fi
for load in "$@"; do
	sh "$here/guest.sh" --load "$load" >/tmp/out 2>&1 || { cat /tmp/out; exit 1; }
	for n in 1 2 3; do
		runweir record --with ftrace --buffer 8 -o "$RUNWEIR_RECORD/$load-$n.txt" -- sh "$here/guest.sh" --load "$load" >/tmp/out 2>&1 ||
			{ cat /tmp/out; exit 1; }
		tail -1 /tmp/out
	done
done
