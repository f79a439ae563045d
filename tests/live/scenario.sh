#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A scenario on a running kernel: its steps and rules change topologies, instances and CPUs while threads run, all of a transaction
# or nothing, and what was done is reported.
#
# vm: --cpus 3
. "$(dirname "$0")/lib.sh"

cpus() { cat /sys/devices/system/cpu/online; }
online_are() { [ "$(cpus)" = "$1" ]; }
# `online CPUS [TENTHS]`: these are, now or within so many tenths of a second.
online() { within "${2:-0}" online_are "$1" || fail "CPUs $(cpus) are online, not $1"; }
# `in_charge NAME`: that topology is, except in the moments in which a transaction is tried that is taken back.
in_charge() { within 10 topology_is "$1" || fail "not $1 but $(runweir status | head -1) is in charge"; }

step "what makes no sense is refused before anything is loaded"
for wrong in 'do = "swap nowhere"|no topology' 'do = "cpu 9 offline"|there is no CPU 9' 'do = "load mine.so"|loaded from a file'; do
	printf 'topology = "decentral"\n[[at]]\ntime = "1s"\n%s\n' "${wrong%|*}" >/tmp/wrong.toml
	refused 2 "${wrong#*|}" runweir live --scenario /tmp/wrong.toml
done
printf '[[at]]\ntime = "1s"\ndo = "cpu 1 offline"\n' >/tmp/wrong.toml
refused 2 "no topology is named" runweir live --scenario /tmp/wrong.toml
sched_ext_is disabled || fail "attached all the same"

step "by time"
attach --scenario steering.toml --only --watchdog 9s --record /tmp/steered
# What a step has done is gone after the next one: this script looks in time, for it is above the tasks of the topology, of which
# there are few.
chrt -r -p 5 $$ || fail "chrt"
chrt -o 0 hackbench -g 1 -f 2 -l 10000000 >/tmp/hackbench 2>&1 &
messages=$!
reports "step 2 at"
in_charge global_rr
online 0-1
reports "step 3 at"
in_charge 'global_rr*'
reports "step 5 at"
online 0-2
reports "step 6 at"
says "no thread called \`nobody-is-it\` is there now"
online 0-2
kill $messages 2>/dev/null
wait $messages

step "by rule, and back: a message of user space, then how busy the CPUs are"
$PROBE notify POWER 1 || fail "no message"
reports "rule save at"
online 0,2
in_charge decentral
$PROBE notify POWER 0 || fail "no message"
reports "rule save, back at"
online 0-2
in_charge 'global_rr*'
chrt -o 0 stress-ng --cpu 3 --timeout 100 --quiet &
stress=$!
renice -n 7 -p $stress || fail "renice"
reports "rule busy at"
in_charge fifo
kill $stress
wait $stress
reports "rule busy, back at"
in_charge 'global_rr*'
settled

step "another hand at the helm: a whole topology follows all the same"
runweir switch --quiet decentral || fail "no switch"
in_charge decentral
$PROBE notify POWER 1 || fail "no message"
online 0,2 200
in_charge decentral
$PROBE notify POWER 0 || fail "no message"
online 0-2 200

step "what the kernel refuses is taken back, and tried again later"
deadlines
$PROBE notify POWER 1 || fail "no message"
reports "refused, and nothing changed: the kernel does not let CPU 1 go offline"
online 0-2
in_charge 'global_rr*'
no_deadlines
online 0,2 200
in_charge decentral
settled

step "the end: CPUs are as they were, and what was done is in the results"
detach
online 0-2
for part in '"cause":"step1"' '"kind":"topology"' '"kind":"instance"' '"kind":"none"' '"done":false' '"cause":"rulesave,back"'; do
	has "$part" </tmp/steered/summary.json || fail "no $part in summary.json"
done
grep -E "^(step|rule)" $log | sed 's/^/  /'

step "the recording says what woke a thread: another one, or an interrupt"
runweir import /tmp/steered --span 0..200ms --no-fidelity >/tmp/imported 2>&1 || fail "import: $(cat /tmp/imported)"
grep -E '^wake-ups: [1-9][0-9]* by threads .*, [1-9][0-9]* by interrupts' /tmp/imported || fail "no wakers: $(cat /tmp/imported)"

step "and priorities, also those that changed"
grep '^[0-9]*,[0-9]*,[0-9]*,stress-ng,.*,127,0$' /tmp/steered/threads.csv || fail "no nice 7: $(grep stress-ng /tmp/steered/threads.csv)"
runweir import /tmp/steered --fit --no-fidelity -o /tmp/fitted.toml >/tmp/imported 2>&1 || fail "import: $(cat /tmp/imported)"
said "nice = 7" /tmp/fitted.toml || fail "nice 7 is not in the workload"
! said "priorities are not in this recording" /tmp/imported || fail "priorities are said to be missing"
clean
