#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/install.sh PROGRAM PREFIX [THREADS]: install the program without debug information, its man pages and completions, and the
# thread library from the folder THREADS.
set -euo pipefail

program=${1:?usage: install.sh PROGRAM PREFIX}
prefix=${2:?usage: install.sh PROGRAM PREFIX}
threads=${3:-}
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

"$program" man "$pages/man"
install -D -m 755 "$program" "$prefix/bin/runweir"
# The names of functions stay, for backtraces; what only a debugger reads goes.
strip --strip-debug "$prefix/bin/runweir" 2>/dev/null || true
for page in "$pages"/man/*.1; do
	install -D -m 644 "$page" "$prefix/share/man/man1/$(basename "$page")"
done
complete() { # SHELL FILE
	"$program" completions "$1" >"$pages/completion"
	install -D -m 644 "$pages/completion" "$prefix/share/$2"
}
complete bash bash-completion/completions/runweir
complete zsh zsh/site-functions/_runweir
complete fish fish/vendor_completions.d/runweir.fish
install -D -m 644 docs/grafana/runweir.json "$prefix/share/runweir/grafana/runweir.json"
if [[ -n $threads ]]; then
	install -D -m 644 "$threads/libweir_threads.a" "$prefix/lib/libweir_threads.a"
	install -D -m 755 "$threads/libweir_threads.so" "$prefix/lib/libweir_threads.so"
	install -D -m 755 "$threads/libweir_preload.so" "$prefix/lib/runweir/libweir_preload.so"
	install -D -m 755 "$threads/libweir_gomp.so" "$prefix/lib/runweir/libweir_gomp.so"
	install -D -m 755 "$threads/weir-doctor" "$prefix/lib/runweir/weir-doctor"
	install -D -m 755 "$threads/weir-cpus" "$prefix/lib/runweir/weir-cpus"
	install -D -m 644 runtimes/threads/include/weir/threads.h "$prefix/include/weir/threads.h"
fi
echo "installed $prefix/bin/runweir, man pages and completions"
