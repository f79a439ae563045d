#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Follows docs/tutorial.md word by word in a copy of the repository: saves its files, runs its
# commands, makes its improvement, and checks what it claims. Numbers may drift, claims may not.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
built=${CARGO_TARGET_DIR:-$root/target}
work=$built/tutorial
# A target folder of its own: cargo takes two trees of the same layout for one. What is not ours is the same in both.
export CARGO_TARGET_DIR=$work/target
if [[ ! -e $work/target && -e $built/debug ]]; then
	for folder in deps build .fingerprint; do
		mkdir -p "$work/target/debug/$folder"
		find "$built/debug/$folder" -mindepth 1 -maxdepth 1 ! -name '*weir*' \
			\( -type d -o -name '*.rlib' -o -name '*.rmeta' -o -name '*.so' -o -name '*.d' \) \
			-exec cp -al -t "$work/target/debug/$folder" {} +
	done
fi
copy=$work/tree
rm -rf "$copy"
mkdir -p "$copy"
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$copy"
cd "$copy"
page=docs/tutorial.md

# `save FILE`: the code block that follows the words "Save this as `FILE`".
save() {
	mkdir -p "$(dirname "$1")"
	awk -v file="\`$1\`" '
		index($0, "Save this as " file) { found = 1 }
		found && /^```/ { if (inside) exit; inside = 1; next }
		inside { print }' "$page" >"$1"
	[[ -s $1 ]] || { echo "the tutorial has no text for $1" >&2; exit 1; }
}
# `misses`: deadline misses of the last topology in the comparison just made.
misses() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "deadline_misses") column = i } END { print $column }' out/sjf/compare.csv; }
# `says WORDS`: the page still has this command.
says() { grep -qF "$1" "$page" || { echo "the tutorial no longer says: $1" >&2; exit 1; }; }

save components/local/sjf.c
save components/local/shortest.weir
save components/local/sjf.wtest

says 'cargo runweir components sjf'
cargo runweir components sjf | grep -q 'how much the last run counts'
says 'cargo runweir check components/local/shortest.weir'
cargo runweir check components/local/shortest.weir | grep -q 'shortest: ok on smp-8'
says 'cargo runweir graph components/local/shortest.weir -o sjf.svg'
cargo runweir graph components/local/shortest.weir -o sjf.svg
grep -q '<svg' sjf.svg
says 'WTEST=local/sjf cargo test -q -p weir-tests --test wtest all_files_pass'
WTEST=local/sjf cargo test -q -p weir-tests --test wtest all_files_pass
says 'cargo test -q -p weir-tests --test law orders'
PROPTEST_CASES=${PROPTEST_CASES:-8} cargo test -q -p weir-tests --test law orders

compare='cargo runweir compare -t decentral -t components/local/shortest.weir -m smp-2 -w robot --out out/sjf'
says "$compare"
$compare
before=$(misses)
for file in compare.html shortest/trace.pftrace shortest/report.html; do
	[[ -s out/sjf/$file ]]
done

# The improvement: one line after the error check in sjf_update, one in the descriptor.
line=$(grep 'weir_preempt(&self->inst, out, c->task, t->guess_ns);' "$page")
awk -v line="$line" '
	{ print }
	/\.listens/ { print "\t       .publishes = WEIR_TOPIC_BIT(PREEMPT)," }
	/return err;/ && !done { print line; done = 1 }' components/local/sjf.c >sjf.new
mv sjf.new components/local/sjf.c
$compare
after=$(misses)
echo "missed deadlines: $before before, $after after"
((after * 10 < before))
cargo runweir run -t components/local/shortest.weir -m smp-2 -w robot --set sjf.weight=90% --quiet
