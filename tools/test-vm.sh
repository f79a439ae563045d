#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# `runweir vm` with real guests: status and output, 4 and 64 CPUs, a machine with NUMA and SMT,
# CPU hotplug, files, recordings, the diagnostics, and that nothing is left behind.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in qemu-system-x86_64 busybox; do
	PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "skipped: no $tool (tools/setup.sh installs it)"; exit 77; }
done
[[ $(uname -m) == x86_64 ]] || { echo "skipped: the virtual machine needs an x86-64 computer"; exit 77; }

root=$PWD
tools/programs.sh
runweir=$(realpath "${CARGO_TARGET_DIR:-target}/debug/runweir")
work=$(mktemp -d)
guests=
trap '[[ -z $guests ]] || kill "$guests" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "FAILED: $*" >&2
	[[ ! -s err ]] || sed 's/^/  /' err >&2
	exit 1
}
# `vm STATUS ARGUMENTS…`: its exit status must be STATUS; output in the files out and err.
vm() {
	local wanted=$1 status=0
	shift
	TMPDIR=$work "$runweir" vm --timeout 600s "$@" >out 2>err || status=$?
	[[ $status == "$wanted" ]] || fail "runweir vm $* ended with $status, not $wanted"
}
# `says FILE WORDS`: the file has them.
says() { grep -qF -- "$2" "$1" || fail "no \`$2\` in $1: $(cat "$1")"; }

# The first call may have to fetch a kernel: that needs the network.
status=0
"$runweir" vm --timeout 1s -- true >out 2>err || status=$?
if ((status)) && grep -qE "cannot (get Debian's package lists|download)" err; then
	echo "skipped: no kernel in the cache and none to be had: $(tail -3 err)"
	exit 77
fi
((status == 1)) || fail "a guest booted in less than a second: status $status"
says err "while its kernel was booting"

# Beside the others: it takes one core, and they take one.
(cd "$root" && cargo test --locked --quiet --workspace --test guest -- --ignored --test-threads 1) >guests.log 2>&1 &
guests=$!

# Debian's busybox knows no `ps -o time`: the list was empty in each report.
echo "the tasks of a report, by the guest's shell"
sed -n '/^tasks() {$/,/^}$/p' "$root/crates/weir-vm/src/guest/init.sh" >tasks.sh
echo tasks >>tasks.sh
PATH=$PATH:/usr/sbin busybox sh tasks.sh >out 2>err || fail "no list of tasks"
grep -qE '^ *[0-9]+ [RS] +[0-9]+ +[0-9]+\.[0-9]{2} busybox sh tasks.sh' out || fail "the list has not its own shell: $(cat out)"
[[ ! -s err ]] || fail "the list has complaints"

echo "status, output, hotplug, files, recordings"
cat >job <<'JOB'
#!/bin/sh
echo out; echo err >&2
cat "$1"
echo kept >"$RUNWEIR_RECORD/mine"
echo 0 >/sys/devices/system/cpu/cpu1/online && nproc
echo 1 >/sys/devices/system/cpu/cpu1/online && nproc
cat /sys/kernel/sched_ext/state
hackbench -g 1 -l 10 >/dev/null && stress-ng --cpu 2 --cpu-ops 2 --quiet && rt-app --help >/dev/null && echo "loads ok"
exit 7
JOB
chmod +x job
echo "it's data" >"a file"
vm 7 --with "a file" --record rec -- ./job "a file"
[[ $(<out) == $'out\nit\'s data\n3\n4\ndisabled\nloads ok' ]] || fail "output: $(<out)"
[[ $(<err) == err ]] || fail "stderr: $(<err)"
[[ $(<rec/mine) == kept ]] || fail "no recording"
says rec/dmesg.txt "Linux version"

echo "64 CPUs"
vm 0 --cpus 64 -- nproc
[[ $(<out) == 64 ]] || fail "nproc: $(<out)"

echo "a scheduler on a machine: 2 packages of 2 caches of 2 cores of 2 threads, 2 NUMA nodes"
cat >machine.toml <<'TOML'
name = "two-by-two"
cpus = [{ count = 16, smt = 2, cpus_per_llc = 4, cpus_per_package = 8, cpus_per_node = 8, llc_size = "16MiB" }]
TOML
cat >show <<'SHOW'
cd /sys/devices/system
for c in 0 5 9 15; do
	thr=$(cat cpu/cpu$c/topology/thread_siblings_list)
	pkg=$(cat cpu/cpu$c/topology/package_cpus_list)
	llc=$(cat cpu/cpu$c/cache/index3/shared_cpu_list)
	echo "$c: $thr $llc $pkg"
done
cat node/node*/cpulist node/node*/distance
cat /sys/kernel/sched_ext/state
SHOW
vm 0 --machine machine.toml --topology decentral --only --record live --with show -- sh show
expected='0: 0-1 0-3 0-7
5: 4-5 4-7 0-7
9: 8-9 8-11 8-15
15: 14-15 12-15 8-15
0-7
8-15
10 20
20 10
enabled'
[[ $(<out) == "$expected" ]] || fail "topology: $(<out)"
says err "attached decentral"
says err "written: live/"
for file in summary.json tasks.csv trace.pftrace dmesg.txt; do
	[[ -s live/$file ]] || fail "no recording $file: $(ls live)"
done

echo "the same seed gives the same bytes"
for run in 1 2; do
	vm 0 --icount=7 --cpus 2 -- sh -c 'hackbench -g 1 -l 5; cat /proc/uptime /proc/interrupts /proc/schedstat'
	mv out "out$run"
done
cmp out1 out2 || fail "two runs with --icount differ"

echo "wrong input"
vm 2
says err "there is nothing to run"
vm 2 --machine mesh-256 -- true
says err "has 256 CPUs"
vm 2 --kernel show -- true
says err "cannot be booted"
vm 2 --topology no-such -- true
says err "no topology called"
vm 2 --with no-such-file -- true
says err "neither a file nor a program"

echo "Ctrl-C leaves nothing"
TMPDIR=$work "$runweir" vm -- sleep 1000 >out 2>err &
pid=$!
for _ in {1..50}; do
	compgen -G 'runweir-vm-*/console' >/dev/null && break
	sleep 0.1
done
kill -INT $pid
status=0
wait $pid || status=$?
((status == 1)) || fail "ended with $status"
says err "the virtual machine was ended"
! compgen -G 'runweir-vm-*' >/dev/null || fail "left behind: $(echo runweir-vm-*)"
for proc in /proc/[0-9]*/cmdline; do
	! tr '\0' ' ' <"$proc" 2>/dev/null | grep -q "qemu-system.*$work" || fail "QEMU still runs"
done

echo "schedulers that behave and others"
wait "$guests" || { cat guests.log >&2; exit 1; }
