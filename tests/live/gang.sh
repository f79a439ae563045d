#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# An OpenMP program with spinning barriers beside CPU hogs: alone, under the kernel's own scheduler, under the user-level daemon, and as
# a gang. Rounds a second, how far apart members start their slots, and that nothing is sent per slot. Then the ways to join, phases,
# what is refused, and switches of topology and CPU while a gang runs.
#
# vm: --cpus 4 --turn 100us
. "$(dirname "$0")/lib.sh"

cpus=$(grep -c ^processor /proc/cpuinfo)
seconds=2 work=100
export OMP_NUM_THREADS=$cpus OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinite
# How many rounds a second the team makes, while so many hogs compute and COMMAND… runs it.
rounds_beside() {
	nr=$1
	shift
	./slots hogs $nr $((seconds + 3)) &
	others=$!
	usleep 200000
	"$@" ./team $seconds $work >/tmp/rounds || fail "the team: $?"
	kill $others 2>/dev/null
	pkill -f 'slots hogs' 2>/dev/null
	wait $others 2>/dev/null
	cat /tmp/rounds
}
plainly() { "$@"; }
# The daemon gangs the team and the hogs in turn.
beside_daemon() {
	"$@" &
	team=$!
	./slots daemon $team $others &
	daemon=$!
	wait $team
	status=$?
	kill $daemon
	wait $daemon 2>/dev/null
	return $status
}
as_gang() { runweir gang team --slot 20ms --period 40ms --stats -- "$@" 2>>/tmp/stats; }
gang_is() { runweir gang list | grep "^$1: " | grep -qF -- "$2"; }
no_gangs() { runweir gang list | grep -q "no gangs"; }
has_member() { runweir gang list --json | tr -d ' \n' | grep -q "\"name\":\"$1\".*\[$2,"; }
# The same with several gangs: `is_in GANG TID`.
is_in() { runweir gang list --json | tr -d ' \n' | sed 's/{"name"/\n&/g' | grep "^{\"name\":\"$1\"" | grep -q "\[$2,"; }
known() { runweir status --json --all | tr -d ' \n' | grep -q "\"pid\":$1,"; }
# `share PERCENT A B`: A is at least so much of B.
share() { [ $(($2 * 100)) -ge $(($3 * $1)) ]; }

step "alone, and beside hogs under the kernel's own scheduler"
alone=$(rounds_beside 0 plainly)
default=$(rounds_beside $cpus plainly)
step "under the daemon of user space"
daemon=$(rounds_beside $cpus beside_daemon)
echo "  rounds/s: alone $alone, default $default, daemon $daemon"

step "attach"
attach gang --only --watchdog 9s
runweir gang list | grep -q "no gangs" || fail "there are gangs"
step "best effort, then a gang"
best_effort=$(rounds_beside $cpus plainly)
gang=$(rounds_beside $cpus as_gang)
cat /tmp/stats
echo "  rounds/s: alone $alone, default $default, daemon $daemon, best effort $best_effort, gang $gang"
share 40 $gang $alone || fail "the gang has less than 80 % of its half: $gang of $alone"
share 200 $gang $best_effort || fail "the gang gains nothing: $gang, best effort $best_effort"
runweir gang list | grep -q "no gangs" || fail "the gang is still there"
settled
step "how far apart members start"
cat >/tmp/clock.manifest <<END
# Between its slots it waits, so each start is that of a slot.
outside wait
H 20 40 20 50
END
./slots hogs $cpus 4 &
runweir gang clock --manifest /tmp/clock.manifest -- sh -c "
	runweir gang list --json | grep -E 'messages|published' >/tmp/before
	./slots $cpus 2 10000 >/tmp/skew
	runweir gang list --json | grep -E 'messages|published' >/tmp/after" || fail "slots"
wait $!
./slots hogs $cpus 3 &
usleep 200000
echo "  starts; skew in us (p50, p99, worst); starts of a thread alone: gang $(cat /tmp/skew); best effort $(./slots $cpus 2 2000)"
wait $!
read -r starts p50 p99 worst alone </tmp/skew
# A turn of each emulated CPU is 100 us, and all are off the CPU for 20 ms before: the more CPUs there are, the longer each waits for its turn.
[ "$starts" -ge $((55 - 10 * cpus / 4)) ] && [ "$alone" -le $((3 * cpus * cpus / 16)) ] || fail "$starts starts of 50, $alone alone"
[ "${p50%.*}" -lt $((250 * cpus)) ] && [ "${p99%.*}" -lt $((1000 * cpus)) ] || fail "members start apart"
# Slots came and went meanwhile, and nothing was sent; what was sent is that the program's threads are members.
[ "$(sed -n 's/.*"messages": *//p' /tmp/before)" = "$(sed -n 's/.*"messages": *//p' /tmp/after)" ] || fail "messages"
settled

step "ways to join, phases, and refusals"
printf 'name named\nprogram slots\nthreads 2\nB 0\nH 5 40\n' >/tmp/named.manifest
printf 'name big\nH 36 40\n' >/tmp/big.manifest
printf 'name bad\nH 36 20\n' >/tmp/bad.manifest
refused 2 "bad.manifest:2:6" runweir gang bad --manifest /tmp/bad.manifest -- true
refused 2 "is the manifest of \`big\`" runweir gang other --manifest /tmp/big.manifest -- true
refused 2 "there is no gang" runweir gang nobody -- true
refused 2 "cannot be run" runweir gang one --slot 1ms --period 40ms -- ./not-there
runweir gang list | grep -q "no gangs" || fail "a gang without a program"
runweir gang named --manifest /tmp/named.manifest --phase 1 -- sleep 60 &
named=$!
within 100 gang_is named "5 ms in each 40.0 ms" || fail "$(runweir gang list)"
./slots 2 30 100000 >/dev/null &
by_name=$!
within 100 has_member named $by_name || fail "the program did not join by its name: $(runweir gang list --json)"
refused 2 "is not admitted" runweir gang big --manifest /tmp/big.manifest -- true
runweir gang big --manifest /tmp/big.manifest --cut -- sh -c 'runweir gang list' | grep -q "cut to" || fail "nothing was cut"
runweir phase named 0 --quiet || fail "phase"
gang_is named "best effort" || fail "$(runweir gang list)"
runweir phase named 1 || fail "phase"
refused 2 "no phase 2" runweir phase named 2
sleep 60 &
other=$!
within 100 known $other || fail "the scheduler does not know $other"
runweir gang join named --pid $other | grep -q named || fail "join"
has_member named $other || fail "the process did not join"

step "a CPU and the topology go and come meanwhile"
hotplug 0
usleep 300000
hotplug 1
runweir switch --quiet gang || fail "no switch"
usleep 200000
gang_is named "5 ms in each 40.0 ms" || fail "$(runweir gang list)"
kill $by_name $other $named
wait $named
[ $? = 143 ] || fail "the program's status is lost"
within 50 no_gangs || fail "the gang is still there: $(runweir gang list)"
settled

step "control groups join: by a call, and by a manifest"
root=/sys/fs/cgroup
mkdir -p $root/served/worker $root/other || fail "no control groups"
printf 'name called\nthreads 2\nB 0\nH 5 40\n' >/tmp/called.manifest
printf 'name grouped\ncgroup other\nthreads 2\nB 0\nH 5 40\n' >/tmp/grouped.manifest
# Processes that are there before, below the group that is named, and in the other one.
in_group='echo $$ >"$0"/cgroup.procs; exec ./slots 2 60 100000'
sh -c "$in_group" $root/served/worker >/dev/null &
one=$!
sh -c "$in_group" $root/other >/dev/null &
two=$!
runweir gang called --manifest /tmp/called.manifest --phase 1 -- sleep 60 &
called=$!
runweir gang grouped --manifest /tmp/grouped.manifest --phase 1 -- sleep 60 &
grouped=$!
within 100 gang_is called "5 ms in each 40.0 ms" && within 100 gang_is grouped "5 ms in each 40.0 ms" || fail "$(runweir gang list)"
refused 2 "there is no control group" runweir gang join called --cgroup no/such
refused 2 "there is no control group" runweir gang join called --cgroup served/../other
runweir gang join called --cgroup served | grep -q called || fail "join"
within 100 is_in called $one || fail "the group did not join: $(runweir gang list --json)"
within 100 is_in grouped $two || fail "the manifest's group did not join: $(runweir gang list --json)"
! is_in called $two && ! is_in grouped $one || fail "they joined both: $(runweir gang list --json)"
# One that comes into a group later joins, too; both of its threads have slots.
sh -c "$in_group" $root/served >/dev/null &
three=$!
within 100 is_in called $three || fail "a new process did not join: $(runweir gang list --json)"
gang_is called "bound elsewhere" && fail "$(runweir gang list)"
kill $one $two $three $called $grouped
wait $called $grouped
within 50 no_gangs || fail "the gangs are still there: $(runweir gang list)"
settled
clean
detach
