#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A property that the core does not know comes to a running scheduler: no component has TENANT, then a switch brings it along, programs
# publish it, threads go to their tenant's CPU, and the component that remembers it is asked. Nothing is restarted. Topics that
# say what tasks do are not for programs.
#
# vm: --cpus 2
. "$(dirname "$0")/lib.sh"

cpu_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f37; }
on_cpu() { [ "$(cpu_of "$1")" = "$2" ]; }

attach decentral --only --with topics.weir --watchdog 9s
sh -c 'while :; do :; done' &
a=$!
sh -c 'while :; do :; done' &
b=$!
step "nobody has the topic"
refused 2 'no component of `decentral` has the topic TENANT' runweir publish TENANT task=$a tenant=1
refused 2 'no component of `decentral` has' runweir request TENANT $a
refused 2 "there is no topic" runweir publish TENNANT task=$a tenant=1

step "a switch brings it along"
runweir switch topics.weir || fail "switch"
runweir publish TENANT task=$a tenant=1 | grep -q "2 instances listen" || fail "publish"
runweir publish TENANT task=$b tenant=1 --quiet || fail "publish"
[ "$(runweir request TENANT $a)" = "TENANT of thread $a: tenant 1" ] || fail "request: $(runweir request TENANT $a)"
runweir request TENANT $b --json | grep -q '"tenant": 1' || fail "json"
within 30 on_cpu $a 1 && within 30 on_cpu $b 1 || fail "tenant 1 has CPU 1: $(cpu_of $a), $(cpu_of $b)"
sleep 1
on_cpu $a 1 && on_cpu $b 1 || fail "tenant 1 stays on CPU 1"
runweir publish TENANT task=$b tenant=0 --quiet || fail "publish"
within 30 on_cpu $b 0 || fail "everybody else has CPU 0"

step "questions"
n=$(runweir request STATUS what=NR_SCHEDULABLE | cut -d' ' -f2)
[ "$n" -ge 0 ] && [ "$(runweir request STATUS what=NR_ONLINE)" = "STATUS: 2" ] || fail "STATUS"
runweir request AFFINITY $a | grep -Eq 'all CPUs|CPUs 0-1' || fail "$(runweir request AFFINITY $a)"
taskset -p 2 $a >/dev/null
[ "$(runweir request AFFINITY $a)" = "AFFINITY of thread $a: CPUs 1" ] || fail "$(runweir request AFFINITY $a)"

step "what programs may not say"
for topic in DISPATCH BLOCK EXIT TICK; do
	refused 2 "only from the runtime" runweir publish $topic task=$a
done
refused 2 'no field `landlord`' runweir publish TENANT task=$a landlord=1
refused 2 "is not a task" runweir publish TENANT task=999999 tenant=1

step "the topic goes with its components"
runweir switch decentral || fail "switch back"
refused 2 'no component of `decentral` has the topic TENANT' runweir publish TENANT task=$a tenant=1
kill $a $b
settled
detach
clean
