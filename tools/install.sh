#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/install.sh PROGRAM PREFIX [THREADS]: install the program without debug information, its man pages and completions, the
# research wing's program if it was built beside it, and the thread library from the folder THREADS. tools/install.sh --remove PREFIX: remove what was installed, and folders that are
# empty then.
set -euo pipefail

if [[ ${1:-} == --remove ]]; then
	prefix=${2:?usage: install.sh --remove PREFIX}
	list=$prefix/share/runweir/installed
	[[ -f $list ]] || { echo "uninstall: nothing of ours below $prefix: $list is not there" >&2; exit 1; }
	while IFS= read -r file; do
		rm -f "$prefix/$file"
		(cd "$prefix" && rmdir -p --ignore-fail-on-non-empty "$(dirname "$file")" 2>/dev/null) || true
	done < <(cat "$list" && echo share/runweir/installed)
	echo "removed runweir below $prefix"
	exit
fi

program=${1:?usage: install.sh PROGRAM PREFIX}
prefix=${2:?usage: install.sh PROGRAM PREFIX}
threads=${3:-}
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

installed=()
put() { # MODE FILE PLACE: install a file at a place below the prefix
	install -D -m "$1" "$2" "$prefix/$3"
	installed+=("$3")
}

lab=$(dirname "$program")/runweir-lab
for one in "$program" "$lab"; do
	[[ -x $one ]] || continue
	"$one" man "$pages/man"
	put 755 "$one" "bin/$(basename "$one")"
	# The names of functions stay, for backtraces; what only a debugger reads goes.
	strip --strip-debug "$prefix/bin/$(basename "$one")" 2>/dev/null || true
done
for page in "$pages"/man/*.1; do
	put 644 "$page" "share/man/man1/$(basename "$page")"
done
complete() { # SHELL FILE
	"$program" completions "$1" >"$pages/completion"
	put 644 "$pages/completion" "share/$2"
}
complete bash bash-completion/completions/runweir
complete zsh zsh/site-functions/_runweir
complete fish fish/vendor_completions.d/runweir.fish
put 644 docs/grafana/runweir.json share/runweir/grafana/runweir.json
# RTL with its lists of files, drivers, and the LiteX module.
for file in hw/weir.core hw/Bender.yml hw/rtl/weir.f hw/rtl/*.sv hw/sw/*.h hw/sw/freertos/*.[ch] hw/sw/linux/* hw/sw/dts/*.yaml hw/board/litex/*.* hw/board/zynq/package.tcl hw/sw/zephyr/*.* hw/sw/zephyr/Kconfig hw/sw/zephyr/*/*.yml hw/sw/zephyr/dts/bindings/*.yaml; do
	put 644 "$file" "share/runweir/rtl/${file#hw/}"
done
if [[ -n $threads ]]; then
	put 644 "$threads/libweir_threads.a" lib/libweir_threads.a
	put 755 "$threads/libweir_threads.so" lib/libweir_threads.so
	put 755 "$threads/libweir_preload.so" lib/runweir/libweir_preload.so
	put 755 "$threads/libweir_gomp.so" lib/runweir/libweir_gomp.so
	put 755 "$threads/weir-doctor" lib/runweir/weir-doctor
	put 755 "$threads/weir-cpus" lib/runweir/weir-cpus
	put 644 runtimes/threads/include/weir/threads.h include/weir/threads.h
fi
mkdir -p "$prefix/share/runweir"
printf '%s\n' "${installed[@]}" >"$prefix/share/runweir/installed"
echo "installed $prefix/bin/runweir, man pages and completions"
