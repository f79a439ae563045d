#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/install.sh PROGRAM PREFIX: install the program without debug information, its man pages and completions.
set -euo pipefail

program=${1:?usage: install.sh PROGRAM PREFIX}
prefix=${2:?usage: install.sh PROGRAM PREFIX}
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
echo "installed $prefix/bin/runweir, man pages and completions"
