#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# hybrid.sh FILE.json DIR: run rt-app under Linux's own scheduler on two large and two small CPUs, and leave what trace.sh
# records in DIR.
#
# On x86 Linux learns what a CPU can do from its clock's driver or from the firmware (HWP, CPPC), and QEMU has neither. On Arm
# it stands in the device tree, so this is an arm64 guest. Its CPUs are equally fast all the same: the capacity is what the
# kernel believes, and with `runtime`, which holds a CPU for a time, that is what counts. Fetches Debian's newest arm64 cloud
# kernel, busybox and rt-app into the cache of `runweir vm`; needs qemu-system-aarch64, fdtput (device-tree-compiler), busybox.
set -euo pipefail
file=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")"
for program in qemu-system-aarch64 fdtput busybox; do
	command -v $program >/dev/null || { echo "$0: no $program; install qemu-system-arm device-tree-compiler busybox" >&2; exit 2; }
done
cache=${XDG_CACHE_HOME:-$HOME/.cache}/runweir/arm64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Folders of its own: the computer's packages stay as they are.
apt() { # PROGRAM ARGUMENT...
	"$1" -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none -o APT::Sandbox::User=root \
		-o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt" \
		-o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null "${@:2}"
}
fetch() {
	local version
	mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/root"
	: >"$work/apt/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian unstable main" \
		>"$work/apt/sources.list"
	apt apt-get update
	version=$(apt apt-cache depends linux-image-cloud-arm64 | sed -n 's/.*Depends: linux-image-//p' | head -1)
	(cd "$work/apt" && apt apt-get download "linux-binary-$version" busybox-static rt-app libc6 libgcc-s1 libjson-c5)
	for package in "$work"/apt/*.deb; do dpkg-deb -x "$package" "$work/root"; done
	mkdir -p "$cache"
	rm -rf "$cache/root"
	mv "$work/root" "$cache/root"
}
[[ -d $cache/root ]] || fetch

mkdir -p "$work"/files/{bin,lib,proc,sys,dev,tmp}
cd "$work/files"
cp "$cache/root/usr/bin/"{busybox,rt-app} bin/
for name in sh cat mount poweroff uname; do ln -s busybox bin/$name; done
cp -L "$cache"/root/usr/lib/aarch64-linux-gnu/{libc.so.6,libm.so.6,libgcc_s.so.1,libjson-c.so.5,ld-linux-aarch64.so.1} lib/
cp "$OLDPWD/trace.sh" .
cp "$file" w.json
cat >init <<-'END'
	#!/bin/sh
	export PATH=/bin LD_LIBRARY_PATH=/lib RUNWEIR_RECORD=/tmp
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing
	mount -t tmpfs tmpfs /tmp
	sh trace.sh w.json >/tmp/log 2>&1
	ended=$?
	echo "capacity" $(cat /sys/devices/system/cpu/cpu*/cpu_capacity) >>/tmp/settings
	for f in log settings trace; do
		echo "== $f"
		cat /tmp/$f
	done
	echo "== ended $ended"
	poweroff -f
END
chmod +x init
find . | busybox cpio -o -H newc >"$work/files.cpio" 2>/dev/null
cd "$work"

machine=(-machine virt -nodefaults -cpu cortex-a72 -smp "4,sockets=1,clusters=1,cores=4,threads=1" -m 1024 -accel "tcg,thread=single" -seed 1)
qemu-system-aarch64 "${machine[@]/#virt/virt,dumpdtb=tree}" 2>/dev/null
for cpu in 0 1 2 3; do fdtput -t i tree /cpus/cpu@$cpu capacity-dmips-mhz $((cpu < 2 ? 1024 : 512)); done
# The kernel's words, clock and turns as `runweir vm --icount` has them.
timeout 900 qemu-system-aarch64 "${machine[@]}" -dtb tree -display none -no-reboot -serial file:console \
	-kernel "$(echo "$cache"/root/usr/lib/modules/*/vmlinuz)" -initrd files.cpio \
	-append "console=ttyAMA0 panic=-1 quiet nokaslr audit=0 init_on_alloc=0 rcupdate.rcu_expedited=1 cryptomgr.notests" \
	-icount shift=1,sleep=off -rtc base=2026-01-01,clock=vm \
	-netdev hubport,id=none,hubid=0 -object filter-buffer,id=turns,netdev=none,interval=5 2>qemu.log ||
	{ cat qemu.log >&2; exit 1; }
tr -d '\r' <console | awk -v out="$out" '/^== / { file = $2 == "ended" ? "" : out "/" $2; next } file { print >file }'
grep -q '^== ended 0' console || { tail -20 console >&2; exit 1; }
