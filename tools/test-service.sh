#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The service as an operator has it: the Debian package in a virtual machine with systemd and a kernel with sched_ext. It is started, reloaded,
# switched on trial, killed, given a wrong configuration, upgraded and purged; at each step it is looked at who is in charge of the CPUs.
# RUNWEIR names another program than the debug build. Emulated: five to ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in dpkg-deb dpkg-shlibdeps cpio qemu-system-x86_64; do
	command -v $tool >/dev/null || { echo "skipped: no $tool (apt-get install dpkg-dev cpio qemu-system-x86)"; exit 77; }
done
[[ ${RUNWEIR:-} ]] || tools/programs.sh
program=$(realpath "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}")
cached() { find "${XDG_CACHE_HOME:-$HOME/.cache}/runweir/vm" -path '*/kernel-*' -name vmlinuz 2>/dev/null | head -1; }
# `vm` fetches a kernel with sched_ext, once.
[[ $(cached) ]] || "$program" vm -- true >/dev/null || { echo "skipped: no virtual machine here"; exit 77; }
kernel=$(cached)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/deb.sh "$program" "$work"
deb=$(echo "$work"/runweir_*.deb)
root=$work/root
tools/clean-root.sh "$root" systemd,systemd-sysv "$deb" || exit
cp "$deb" "$root/root/runweir.deb"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/usr/share/{doc,man,locale}/* "$root"/tmp/*
ln -sf /lib/systemd/systemd "$root/init"
# Emulated, the kernel checks slowly: only what the trial needs is loaded.
cat >"$root/etc/runweir/live.toml" <<'TOML'
topology = "decentral"
only = true
with = ["worksteal"]
watchdog = "25s"
TOML
cat >"$root/etc/systemd/system/trial.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/root/trial
ExecStopPost=/usr/bin/systemctl poweroff --force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
[Install]
WantedBy=default.target
UNIT
mkdir -p "$root/etc/systemd/system/default.target.wants" "$root/etc/systemd/system/runweir.service.d"
printf '[Service]\nTimeoutStartSec=infinity\nWatchdogSec=3min\n' >"$root/etc/systemd/system/runweir.service.d/emulated.conf"
ln -sf ../trial.service "$root/etc/systemd/system/default.target.wants/trial.service"
cat >"$root/root/trial" <<'TRIAL'
#!/bin/bash
say() { echo "trial: $*"; }
fail() { say "FAILED: $*"; journalctl -u runweir --no-pager -n 30; exit 1; }
until_is() { # WHAT SECONDS COMMAND: what the command prints is WHAT before so many seconds are over
	for _ in $(seq "$2"); do
		[[ $("${@:3}" 2>/dev/null) == "$1" ]] && return 0
		sleep 1
	done
	fail "expected $1 of ${*:3}, got $("${@:3}" 2>&1 | tail -3)"
}
state() { cat /sys/kernel/sched_ext/state; }
in_charge() { runweir status | sed -n 's/^topology  *\([a-z-]*\),.*/\1/p'; }
active() { systemctl is-active runweir; }

[[ -e /sys/kernel/sched_ext/state ]] || { say "no sched_ext in this kernel"; exit 1; }
[[ $(active) == inactive ]] || fail "installing it started it"
runweir config check || fail "the configuration"
systemctl start runweir || fail "start"
until_is enabled 20 state
[[ $(in_charge) == decentral ]] || fail "in charge: $(in_charge)"
say "started"

sed -i 's/^topology.*/topology = "worksteal"/' /etc/runweir/live.toml
pid=$(systemctl show -P MainPID runweir)
systemctl reload runweir || fail "reload"
[[ $(in_charge) == worksteal ]] || fail "after reload: $(in_charge)"
[[ $(systemctl show -P MainPID runweir) == "$pid" ]] || fail "reload made another process"
say "reloaded in place"

status=0
runweir switch decentral --confirm 3s </dev/null || status=$?
((status == 1)) || fail "an unconfirmed switch ends with $status"
[[ $(in_charge) == worksteal ]] || fail "an unconfirmed switch stays: $(in_charge)"
runweir switch decentral --confirm 300s </dev/null &
until_is decentral 120 in_charge
runweir switch --keep && wait $! || fail "keep"
[[ $(in_charge) == decentral ]] || fail "a confirmed switch went back: $(in_charge)"
say "switched on trial"

kill -KILL "$(systemctl show -P MainPID runweir)"
until_is disabled 20 state
say "killed: the default scheduler is in charge"
until_is active 600 active
until_is enabled 60 state
say "restarted by systemd"

dpkg --install /root/runweir.deb >/dev/null 2>&1 || fail "upgrade"
until_is active 600 active
[[ $(in_charge) == worksteal ]] || fail "after an upgrade: $(in_charge)"
say "upgraded, with the configuration as it was"

cp /etc/runweir/live.toml /root/good.toml
sed -i 's/^topology.*/topology = "fair"/' /etc/runweir/live.toml
systemctl reload runweir && fail "a wrong configuration is taken by reload"
[[ $(in_charge) == worksteal ]] || fail "a wrong configuration changed something: $(in_charge)"
systemctl restart runweir && fail "a wrong configuration starts"
until_is failed 30 active
until_is disabled 20 state
cp /root/good.toml /etc/runweir/live.toml
systemctl reset-failed runweir
systemctl start runweir || fail "start again"
say "a wrong configuration is refused, and the default scheduler runs"

journalctl -u runweir --no-pager -o cat | grep -q '^attached ' || fail "the journal does not have it"
dpkg --purge runweir >/dev/null 2>&1 || fail "purge"
until_is disabled 20 state
left=$(find /usr /etc /run -path '*runweir*' -not -path '/etc/systemd/system/*' 2>/dev/null | head)
[[ -z $left ]] || fail "left behind: $left"
say "purged"
say "all is well"
TRIAL
chmod +x "$root/root/trial"
(cd "$root" && find . -xdev | cpio --quiet -o -H newc | gzip -1) >"$work/root.cpio.gz"
# As `vm` does: KVM where it has found that it works. Else an emulated CPU whose clock counts instructions, so that no limit of time depends on
# how fast or busy this computer is, and waiting costs nothing.
accel=(-accel "tcg,thread=single" -cpu "max,vendor=GenuineIntel" -icount "shift=1,sleep=off" -rtc "base=2026-01-01,clock=vm")
grep -qsw kvm "${XDG_CACHE_HOME:-$HOME/.cache}/runweir/vm/accel" && accel=(-accel kvm -cpu host)
timeout "${LIMIT:-6000}" qemu-system-x86_64 -machine q35 "${accel[@]}" -m 3G -nographic -no-reboot -nic none -kernel "$kernel" \
	-initrd "$work/root.cpio.gz" -append "console=ttyS0 quiet panic=-1 systemd.show_status=false audit=0" </dev/null >"$work/console" 2>&1 || true
grep -a '^trial: ' "$work/console" || tail -40 "$work/console"
grep -aq '^trial: all is well' "$work/console" || { tail -60 "$work/console"; exit 1; }
