#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What must hold besides the format and lints of Rust: licence lines, licences of libraries, scripts without warnings, links and spelling of the
# pages, the format of C and of the catalogue, generated files up to date, and the lock file of the Python package. Prints every violation;
# changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

bad=0
complain() {
	echo "check: $*" >&2
	bad=1
}

# Every source file of ours says its licence in the first lines.
while IFS= read -r file; do
	head -3 "$file" | grep -q 'SPDX-License-Identifier' || complain "$file: no SPDX-License-Identifier line"
done < <(git ls-files '*.rs' '*.c' '*.h' '*.sh' '*.weir' Makefile ':!*/tests/generated/*')

# Integration tests of a crate are one program, which lists their files; and where a manifest leaves doc-tests out, there are none.
while IFS= read -r manifest; do
	crate=$(dirname "$manifest")
	if grep -q '^autotests = false' "$manifest"; then
		for file in "$crate"/tests/*.rs; do
			grep -q "^mod $(basename "$file" .rs);" "$crate"/tests/{all,laws}.rs 2>/dev/null || grep -qx "name = \"$(basename "$file" .rs)\"" "$manifest" ||
				complain "$file: no test program of $crate has it: add it to tests/all.rs"
		done
	fi
	# (Every second fence is the end of a block.)
	if grep -q '^doctest = false' "$manifest" && find "$crate"/src -name '*.rs' -exec awk '
		match($0, /^ *\/\/[\/!] *```/) && n++ % 2 == 0 && $0 ~ /```(rust|no_run|should_panic|compile_fail)?$/ { print FILENAME ":" FNR; found = 1 }
		END { exit !found }' {} + >&2; then
		complain "$manifest: \`doctest = false\`, but its comments have examples: take the line out"
	fi
done < <(git ls-files '*Cargo.toml')

# What ShellCheck warns of, with the exceptions in .shellcheckrc. CI has it; elsewhere this is only a remark.
if command -v shellcheck >/dev/null; then
	git ls-files '*.sh' .ci/run | xargs shellcheck -S warning -f gcc >&2 || complain "shellcheck has warnings"
else
	echo "check: no shellcheck here (apt-get install shellcheck): the scripts were not looked at" >&2
fi

# What is counted for pages.
tools/decisions.py --check || complain "docs/decisions/README.md is out of date: run tools/decisions.py"
tools/evidence.py --check || complain "experiments/README.md is out of date: run tools/evidence.py"
if tools/porting.sh | grep '^|' | grep -Fxvf docs/porting.md >&2; then complain "these rows of docs/porting.md are out of date: put in what tools/porting.sh prints"; fi
stale=$(tools/kernels.py --check 2>&1) || complain "$stale"

# Spelling, with the exceptions in .codespellrc. CI has it; elsewhere this is only a remark.
if command -v codespell >/dev/null; then
	misspelt=$(git ls-files '*.md' '*.c' '*.h' '*.sh' '*.sv' '*.weir' '*.wtest' '*.ts' | xargs codespell) || complain "spelling (codespell): $misspelt"
else
	echo "check: no codespell here (apt-get install codespell): spelling was not looked at" >&2
fi

# Registers, calls and legal parameters of the hardware have one source.
stale=$(tools/hw-generate.py --check) || complain "$stale"
tools/hw-figures.py --check || complain "docs/hardware-evidence.md is out of date: run tools/hw-figures.py"

# Licences of libraries.
unfit=$(tools/licences.py) || complain "licences: $unfit"

# The format of the C files.
unformatted=$(tools/format-c.sh --check) || complain "not formatted (tools/format-c.sh): $unformatted"

# The format of the catalogue's topologies, and the pages made from the program.
target=${CARGO_TARGET_DIR:-target}
tools/programs.sh
runweir=$target/debug/runweir
unformatted=$("$runweir" fmt --check topologies/*.weir) || complain "not formatted (make fmt): $unformatted"

tools/linux-steps.py --check || complain "docs/linux.md is out of date: run tools/linux-steps.py"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
tools/docs.sh "$runweir" "$fresh"
while IFS= read -r file; do
	git check-ignore -q "docs/$file" || cmp -s "$fresh/$file" "docs/$file" || complain "docs/$file is out of date: run \`make docs\`"
done < <(cd "$fresh" && find . -type f | sed 's|^\./||' | sort)

# Links and anchors of all pages, and the summary of the book.
tools/book.py check "$fresh" || complain "pages have broken links"

# The Python package is a workspace of its own: it has the program's version, and all crates of ours in its lock file.
[[ $(grep -m1 '^version' python/Cargo.toml) == "$(grep -m1 '^version' Cargo.toml)" ]] || complain "python/Cargo.toml and Cargo.toml have different versions"
cargo tree --quiet --locked --manifest-path python/Cargo.toml >/dev/null 2>"$fresh/lock" ||
	complain "python/Cargo.lock does not fit our crates (cargo update --workspace in python/): $(head -1 "$fresh/lock")"

if ((bad)); then exit 1; fi
echo "check: all well"
