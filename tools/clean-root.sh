#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/clean-root.sh ROOT PACKAGES [DEB] [SUITE]: a root file system as a new computer has it, in the folder ROOT: the distribution
# that this one is, or SUITE, as small as apt allows, with PACKAGES (names with commas; may be empty) and the package DEB installed.
# Exit status 77 where no such root can be made, 1 where the package does not install.
#
# tools/clean-root.sh --enter ROOT COMMAND…: run a command in it, in a mount namespace of its own.
set -euo pipefail

if [[ ${1:-} == --enter ]]; then
	root=${2:?usage: clean-root.sh --enter ROOT COMMAND…}
	# Nothing stays mounted below a folder that is removed later.
	# shellcheck disable=SC2016
	exec unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount -t sysfs sysfs "$0/sys" && mount --bind /dev "$0/dev" &&
		exec env -i PATH=/root/.local/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root chroot "$0" "$@"' "$root" "${@:3}"
fi
root=${1:?usage: clean-root.sh ROOT PACKAGES [DEB] [SUITE]}
packages=${2-}
deb=${3:-}
suite=${4:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}

for tool in mmdebstrap unshare; do
	command -v $tool >/dev/null || { echo "skipped: no $tool (apt-get install mmdebstrap)"; exit 77; }
done
((EUID == 0)) || { echo "skipped: a clean root is made and entered by root only"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Installed while the root is made, for then apt has its lists and the network there.
hook=()
if [[ $deb ]]; then
	cat >"$work/install" <<HOOK
touch "$work/made"
cp "$(realpath "$deb")" "\$1/tmp/runweir.deb"
chroot "\$1" apt-get install --yes --no-install-recommends /tmp/runweir.deb
HOOK
	chmod +x "$work/install"
	hook=(--customize-hook="$work/install")
fi
if ! mmdebstrap --quiet --variant=apt ${packages:+--include="$packages"} "${hook[@]}" "$suite" "$root" >"$work/log" 2>&1; then
	[[ ! -e $work/made ]] || { tail -20 "$work/log"; exit 1; }
	echo "skipped: no clean root can be made here: $(tail -3 "$work/log")"
	exit 77
fi
