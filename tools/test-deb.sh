#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The Debian package (tools/deb.sh), installed into a clean root and tried there. RUNWEIR names another program than
# the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in dpkg-deb dpkg-shlibdeps; do
	command -v $tool >/dev/null || { echo "skipped: no $tool (apt-get install dpkg-dev)"; exit 77; }
done

[[ ${RUNWEIR:-} ]] || tools/programs.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
threads=${CARGO_TARGET_DIR:-target}/threads
[[ -x $threads/weir-doctor ]] || threads=
tools/deb.sh "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}" "$work" $threads
deb=$(echo "$work"/runweir_*.deb)
echo "size of the package: $(stat -c %s "$deb") bytes"

root=$work/root
tools/clean-root.sh "$root" gcc,libc6-dev "$deb" || exit
within() { tools/clean-root.sh --enter "$root" "$@"; }

within runweir --version
within runweir run -t decentral -m smp-2 -w hackbench:groups=1,fds=2,loops=5 --json >"$work/run.json"
grep -q '"jobs_completed"' "$work/run.json"
# The files of the catalogue are what the program holds.
within sh -c 'cd /usr/share/runweir && runweir check --quiet topologies/central.weir && runweir run -t topologies/priority.weir -m machines/desktop.xml -w workloads/video.json -d 100ms --quiet'
# A component of one's own, with the headers of the package alone and with those in the program.
mkdir -p "$root/tmp" && cp crates/weir-tests/native/loaded/newest_first.c "$root/tmp/"
within gcc -std=gnu11 -ffreestanding -fsyntax-only -Wall -Wextra -Werror -Wno-unused-parameter /tmp/newest_first.c
within sh -c 'cd /tmp && runweir component build newest_first.c && runweir component check newest_first.so'
for file in usr/share/man/man1/runweir.1.gz usr/share/bash-completion/completions/runweir usr/share/doc/runweir/copyright; do
	[[ -s $root/$file ]] || { echo "no $file in the package" && exit 1; }
done
for file in usr/lib/systemd/system/runweir.service etc/runweir/live.toml usr/share/doc/runweir/live.md; do
	[[ -s $root/$file ]] || { echo "no $file in the package" && exit 1; }
done
within runweir config check
echo 'topology = "fair"' >"$root/tmp/wrong.toml"
status=0
within runweir config check /tmp/wrong.toml 2>/dev/null || status=$?
((status == 2)) || { echo "a wrong configuration passes: $status" && exit 1; }
[[ ! -x $root/usr/lib/runweir/weir-doctor ]] || within runweir threads decentral -- /bin/true
within apt-get purge --yes runweir >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
left=$(find "$root/usr" "$root/etc" -path '*runweir*' -o -path "$root/usr/include/weir*")
[[ -z $left ]] || { echo "left behind: $left" && exit 1; }
echo "installed, tried and removed"
