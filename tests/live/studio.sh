#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The studio's live view of this kernel, as its page asks for it: the picture and frames of the scheduler in charge, a switch with its
# difference first, a parameter; and what it answers once the scheduler is gone.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

ip link set lo up || fail "no loopback"
socket=/run/runweir/live.sock
runweir studio decentral --port 4100 >/tmp/address 2>/tmp/studio.err &
studio=$!
within 100 test -s /tmp/address || fail "no address: $(cat /tmp/studio.err)"
token=$(sed 's/.*token=//' /tmp/address)
ask() { # PATH JSON
	busybox wget -q -O - --header "x-runweir-token: $token" --header "content-type: application/json" --post-data "$2" "http://127.0.0.1:4100$1"
}
look() { # SECONDS: what the page hears in that time
	timeout "$1" busybox wget -q -O /tmp/heard --header "x-runweir-token: $token" "http://127.0.0.1:4100/api/live?socket=$socket" || true
}
heard() { grep -q "$1" /tmp/heard || fail "no $1 in: $(head -c 2000 /tmp/heard)"; }

step "the picture of what is in charge, and frames of it"
attach_all "decentral fifo"
hackbench -g 1 -l 200 >/dev/null &
look 4
heard '^event: attached'
heard '"topology":"decentral"'
heard '"component":"round_robin"'
heard '^event: frame'
grep '^data: .*"lines":' /tmp/heard | grep -q '"t_ns":[1-9]' || fail "no time in a frame"
wait $!

step "a switch: its difference first, then the switch"
text='entry -> fifo -> cpus;\n'
ask /api/live/switch "{\"socket\":\"$socket\",\"name\":\"fifo\",\"text\":\"annotate affinity;\\n$text\",\"dry_run\":true}" >/tmp/dry || fail "no difference: $(cat /tmp/dry)"
grep -q round_robin /tmp/dry || fail "the difference does not name what goes: $(cat /tmp/dry)"
topology_is decentral || fail "to look switched"
ask /api/live/switch "{\"socket\":\"$socket\",\"name\":\"fifo\",\"text\":\"annotate affinity;\\n$text\",\"dry_run\":false}" >/tmp/done || fail "no switch: $(cat /tmp/done)"
topology_is fifo || fail "not in charge: $(cat /tmp/done)"
look 3
heard '"topology":"fifo"'

step "a parameter of the running scheduler"
runweir switch --quiet decentral || fail "no switch back"
ask /api/live/set "{\"socket\":\"$socket\",\"instances\":\"round_robin\",\"param\":\"slice\",\"value\":\"1ms\"}" >/tmp/set || fail "no parameter: $(cat /tmp/set)"
look 3
heard '"1ms"'

step "without a scheduler it says so"
detach
look 3
heard '^event: failed'
kill -INT $studio
wait $studio || fail "the studio ended with status $?"
