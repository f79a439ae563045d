#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A topology under which a task starves: the loader names the pipe and leaves, before the kernel's own watchdog does.
#
# vm: --cpus 3
. "$(dirname "$0")/lib.sh"

step "the last created is served first, and there are more that never wait than CPUs"
cat >/tmp/unjust.weir <<'WEIR'
annotate affinity, lamport;

entry -> newest :: lcfs -> cpus;
WEIR
attach /tmp/unjust.weir --only
stress-ng --cpu 4 --timeout 100 --quiet &
stress=$!
ended 1
says "waited 2"
says "newest"
says "default scheduler"
sed 's/^/  /' $log
kill $stress
wait $stress

step "wrong topologies change nothing"
attach_all decentral
for text in 'entry -> nothing -> cpus;' 'entry -> fifo;' 'entry -> fifo -> cpu 77;' 'entry -> -> cpus' ''; do
	echo "$text" >/tmp/wrong.weir
	runweir switch /tmp/wrong.weir >/tmp/refused 2>&1
	[ $? = 2 ] || fail "\`$text\` is not refused: $(cat /tmp/refused)"
done
[ "$($PROBE get swaps)" = 0 ] || fail "a wrong topology is in charge"
settled
detach
clean
