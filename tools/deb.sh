#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/deb.sh PROGRAM DIR [THREADS]: build DIR/runweir_VERSION_ARCHITECTURE.deb from a built program: the program without debug
# information, the service with its configuration, man pages and pages, completions, the catalogue as files to start from, the
# headers for components, and the thread library from the folder THREADS.
set -euo pipefail

program=$(realpath "${1:?usage: deb.sh PROGRAM DIR}")
mkdir -p "${2:?usage: deb.sh PROGRAM DIR}"
out=$(realpath "$2")
cd "$(dirname "$0")/.."

for tool in dpkg-deb dpkg-shlibdeps gzip; do
	command -v $tool >/dev/null || { echo "deb: no $tool: apt-get install dpkg-dev gzip" >&2 && exit 1; }
done
version=$("$program" -V | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/debian/runweir

tools/install.sh "$program" "$tree/usr" ${3:+"$(realpath "$3")"} >/dev/null
rm "$tree/usr/share/runweir/installed" # dpkg knows it
install -D -m 644 packaging/runweir.service "$tree/usr/lib/systemd/system/runweir.service"
install -D -m 644 packaging/live.toml "$tree/etc/runweir/live.toml"
gzip -9n "$tree"/usr/share/man/man1/*.1
for kind in topologies machines workloads scenarios packages; do
	for file in $(git ls-files $kind 2>/dev/null || find $kind -type f); do
		install -D -m 644 "$file" "$tree/usr/share/runweir/$file"
	done
done
for header in core/include/weir/*.h core/port/native/weir/port.h; do
	install -D -m 644 "$header" "$tree/usr/include/weir/$(basename "$header")"
done
doc=$tree/usr/share/doc/runweir
install -D -m 644 LICENSE "$doc/copyright"
cat LICENSES/MIT.txt >>"$doc/copyright"
echo "On Debian systems the GNU General Public License, version 2, is in /usr/share/common-licenses/GPL-2." >>"$doc/copyright"
gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
for page in docs/*.md SECURITY.md; do
	install -D -m 644 "$page" "$doc/$(basename "$page")"
done

# What the program is linked with, by the packages that hold it.
mkdir -p "$tree/DEBIAN"
printf 'Source: runweir\n\nPackage: runweir\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O debian/runweir/usr/bin/runweir 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
echo /etc/runweir/live.toml >"$tree/DEBIAN/conffiles"
# The service is not enabled by installing: a machine's scheduler changes when somebody says so.
script() { # NAME: a script of the package, from stdin
	{ printf '#!/bin/sh\nset -e\nreload() { if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi; }\n' && cat; } >"$tree/DEBIAN/$1"
	chmod 755 "$tree/DEBIAN/$1"
}
script postinst <<'SCRIPT'
reload
# After an upgrade the service goes on with the new program; the default scheduler runs in between.
if [ "$1" = configure ] && [ -n "$2" ] && [ -d /run/systemd/system ]; then systemctl try-restart runweir.service || true; fi
SCRIPT
script prerm <<'SCRIPT'
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now runweir.service >/dev/null 2>&1 || true
fi
SCRIPT
script postrm <<'SCRIPT'
reload
if [ "$1" = purge ]; then rmdir /etc/runweir 2>/dev/null || true; fi
SCRIPT
cat >"$tree/DEBIAN/control" <<CONTROL
Package: runweir
Version: $version
Architecture: $architecture
Maintainer: Runweir contributors <contributors@runweir.invalid>
Section: admin
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)
Depends: $depends
Recommends: gcc | clang, libc6-dev
Suggests: clang-19, qemu-system-x86, busybox-static, rt-tests, stress-ng, rt-app
Description: CPU schedulers made of components, simulated and live
 Runweir builds CPU schedulers out of components joined by pipes. A policy is
 written once and runs unchanged in a deterministic simulator with thousands of
 CPUs and in the running Linux kernel, through sched_ext.
CONTROL
dpkg-deb --root-owner-group --build -Zxz "$tree" "$out/runweir_${version}_$architecture.deb" >/dev/null
echo "built $out/runweir_${version}_$architecture.deb"
