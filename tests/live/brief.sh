# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The short one, which every change runs (tools/test-live.sh): one attachment, load, switches under load, a policy that was not
# asked for, figures, SIGKILL. All that it loads is what it needs. The watchdog is as patient as in catalogue.sh.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

step "attach with the components of four topologies"
attach decentral --only --with central --with edf --with edf-vd --watchdog 9s
settled
load 1
settled
clean

step "switches under load"
timeout 300 hackbench -g 1 -l 400 >/tmp/hackbench 2>&1 &
messages=$!
nr=0
while kill -0 $messages 2>/dev/null || [ $nr -lt 20 ]; do
	for t in central edf edf-vd decentral; do
		runweir switch --quiet $t || fail "no switch to $t"
		nr=$((nr + 1))
	done
	[ $nr -lt 400 ] || break
done
wait $messages || fail "hackbench: $(tail -3 /tmp/hackbench)"
echo "  $nr switches"
settled
clean

step "what was not asked for is refused, and nothing changes"
refused 2 "is not among those that" runweir switch worksteal
runweir status --json | grep -q '"topology": *"decentral"' || fail "another topology is in charge"
settled

step "killed under load"
timeout 300 hackbench -g 1 -l 100 >/tmp/hackbench 2>&1 &
messages=$!
kill -KILL $live
wait $live 2>/dev/null
back
wait $messages || fail "hackbench: $(tail -3 /tmp/hackbench)"
clean
