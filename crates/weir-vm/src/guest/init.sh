#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# First program of the guest: mounts what programs expect, runs the job, sends results, powers off.
#
# /.runweir/job.sh sets: cwd, topology, only and record (options), wait_s (for the scheduler to attach),
# interactive, and the command as positional parameters. absent.sh takes CPUs away before anything else,
# hotplug.sh makes them come and go beside the command, if they are there.
# Ports to the host, by name: out and err (the command's output), log (the scheduler's messages), rec
# (recordings, an archive), ctl (what happens, a line each: ready, attached, live STATUS, exit STATUS). When the time is up, the host
# writes `report` to ctl; what there is to report comes as lines that begin with `| `, then `reported`.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=${TERM:-dumb} LANG=C.UTF-8
unset nokaslr
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmp /dev/shm
mount -t tmpfs run /run
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
hostname guest
ip link set lo up
chmod 1777 /tmp
ulimit -l unlimited 2>/dev/null
ulimit -n 65536 2>/dev/null

mkdir -p /run/weir /rec
for port in /sys/class/virtio-ports/*; do
	ln -s "/dev/${port##*/}" "/run/weir/$(cat "$port/name")"
done
exec 7<>/run/weir/ctl
say() { echo "$*" >&7; }

# From /proc: busybox's ps may have no column of CPU time. Threads of the kernel have no command line.
tasks() {
	echo "   PID S CPU     TIME COMMAND"
	for at in /proc/[0-9]*; do
		{ read -r stat <"$at/stat"; } 2>/dev/null || continue
		name=$(tr '\0' ' ' <"$at/cmdline" 2>/dev/null)
		comm=${stat#*(}
		# shellcheck disable=SC2086 # the fields after the name are words: state, …, CPU time of user and kernel in 1/100 s, …, CPU
		set -- ${stat##*) }
		case $1$name in S | I) continue ;; esac
		printf '%6d %s %3d %5d.%02d %s\n' "${at#/proc/}" "$1" "${37}" $(((${12} + ${13}) / 100)) $(((${12} + ${13}) % 100)) "${name:-[${comm%)*}]}"
	done
}
report() {
	echo "sched_ext: $(cat /sys/kernel/sched_ext/state 2>/dev/null) $(cat /sys/kernel/sched_ext/root/ops 2>/dev/null)"
	if [ -e /run/runweir/live.sock ]; then
		echo "the scheduler's status:"
		timeout 5 runweir status 2>&1 | head -40
	fi
	echo "tasks, but for threads of the kernel that sleep:"
	tasks | head -40
	echo "CPUs: $(cat /sys/devices/system/cpu/online) online, load $(cat /proc/loadavg)"
}
# Above all tasks of a topology, for it may be what keeps them from running.
listen() {
	while IFS= read -r word; do
		[ "$word" = report ] || continue
		report | while IFS= read -r line; do say "| $line"; done
		say "reported"
	done <&7
}
listen &
chrt -f -p 20 $! >/dev/null 2>&1

interactive= topology= only= record= wait_s=60 cwd=/
. /.runweir/job.sh
export RUNWEIR_RECORD=/rec
[ -e /.runweir/absent.sh ] && sh /.runweir/absent.sh 7>&-
say "ready"

mkfifo /run/out.pipe /run/err.pipe
cat /run/out.pipe >/run/weir/out &
out_cat=$!
cat /run/err.pipe >/run/weir/err &
err_cat=$!
exec 8>/run/out.pipe 9>/run/err.pipe

# What a process writes to the log port; a line that begins with `attached` is news for the host. Where recordings are the host
# says, for it is there that they will be.
relay() {
	exec 6>/run/weir/log 7>&- 8>&- 9>&-
	while IFS= read -r line; do
		case $line in "written: /rec/"*) continue ;; esac
		echo "$line" >&6
		case $line in attached*) : >/run/attached ;; esac
	done
	exec 6>&-
}

finish() { # STATUS: send everything and end
	exec 8>&- 9>&-
	# Background processes may hold the pipes; what came so far is what there is.
	(sleep 3; kill "$out_cat" "$err_cat") 2>/dev/null &
	wait "$out_cat" "$err_cat" 2>/dev/null
	dmesg -r >/rec/.dmesg 2>/dev/null
	cd /rec && find . -type f | sort | cpio -o -H newc 2>/dev/null >/run/weir/rec
	say "exit $1"
	poweroff -f
	sleep 60
}

live=
live_over() { # wait for the scheduler's end, known from its status
	wait "$live"
	live_status=$?
	live=
	# Its last words are on their way; a child of its that lives on must not hold us up.
	(sleep 3; kill "$relay") 2>/dev/null &
	wait "$relay" 2>/dev/null
	say "live $live_status"
}

if [ -n "$topology" ]; then
	mkfifo /run/log.pipe
	relay </run/log.pipe &
	relay=$!
	runweir live "$topology" $only ${load:+--load "$load"} $record 2>/run/log.pipe >/run/live.out 7>&- 8>&- 9>&- &
	live=$!
	waited=0
	until [ -e /run/attached ]; do
		if ! kill -0 "$live" 2>/dev/null; then
			live_over
			finish 0
		fi
		if [ "$waited" -ge $((wait_s * 10)) ]; then
			say "unattached"
			finish 0
		fi
		usleep 100000
		waited=$((waited + 1))
	done
	say "attached"
fi

[ -e /.runweir/hotplug.sh ] && sh /.runweir/hotplug.sh 7>&- 8>&- 9>&- &

mkdir -p "$cwd"
cd "$cwd" || cd /
if [ -n "$interactive" ]; then
	stty -F /dev/hvc0 $interactive 2>/dev/null
	TERM=$term setsid sh -c 'exec "$@" </dev/hvc0 >/dev/hvc0 2>&1' sh "$@" 7>&- 8>&- 9>&-
else
	"$@" </dev/null >&8 2>&9 7>&- 8>&- 9>&-
fi
status=$?

if [ -n "$live" ]; then
	if kill -0 "$live" 2>/dev/null; then
		say "stopping"
		kill -INT "$live"
		# Background jobs begin with SIGINT ignored; a program that leaves it so gets another chance.
		(sleep 5; kill -TERM "$live"; sleep 30; kill -KILL "$live") 2>/dev/null &
	fi
	live_over
	[ -s /run/live.out ] && cp /run/live.out /rec/live.txt
fi
finish "$status"
