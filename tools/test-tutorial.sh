#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Follows docs/tutorial.md and docs/tutorial-improve.md word by word with the installed program and a C compiler, outside the
# repository: saves its files, runs its commands in their order, makes its improvement, and checks what it claims. Numbers may drift, claims may not.
# The commands for the kernel run where clang 19 and QEMU are. RUNWEIR names another program than the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ ${RUNWEIR:-} ]] || tools/programs.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/install.sh "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}" "$work/usr" >/dev/null
mkdir "$work/steps" "$work/home" "$work/folder"

# One file a step, in order: `N.save` has a file's name and text, `N.run` commands, `N.line` the line that is added.
awk -v to="$work/steps/" '
	function step(kind) { return sprintf("%s%03d.%s", to, ++n, kind) }
	/Save this as `/ { split($0, part, "`"); for (i in part) if (part[i] ~ /Save this as $/) name = part[i + 1] }
	/^```/ {
		if (inside) { inside = 0; next }
		inside = 1
		out = ""
		if (name) { out = step("save"); print name >out; name = "" }
		else if ($0 == "```sh") out = step("run")
		else if ($0 == "```c") out = step("line")
		next
	}
	inside && out { print >out }' docs/tutorial.md docs/tutorial-improve.md

clang=
for name in "${WEIR_CLANG:-clang-19}" clang-20 clang-21 clang-22; do
	[[ $clang ]] || clang=$(command -v "$name" || true)
done
qemu=$(command -v qemu-system-x86_64 || true)
# Kernels that were fetched before; what else is at home stays out.
cache=${XDG_CACHE_HOME:-$HOME/.cache}
# Without the tools of this repository: the compiler for Rust is not in the path, nor is the repository.
here() { env -i PATH="$work/usr/bin:/usr/bin:/bin:/usr/sbin" HOME="$work/home" XDG_CACHE_HOME="$cache" LANG=C.UTF-8 "$@"; }
die() { echo "test-tutorial: $*" >&2; exit 1; }
# `column TOPOLOGY NAME`: a figure of the comparison just made.
column() {
	awk -F, -v row="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		NR > 1 && index($0, row) { print $c }' out/compare.csv
}

cd "$work/folder"
nr=0 compared=0 skipped=
for step in "$work"/steps/*; do
	nr=$((nr + 1))
	case $step in
	*.save)
		name=$(head -1 "$step")
		tail -n +2 "$step" >"$name"
		echo "saved $name"
		[[ $name != shortest.weir ]] || {
			status=0
			here runweir check shortest.weir 2>"$work/err" || status=$?
			((status == 2)) && grep -q 'component build' "$work/err" || die "no word on sjf.c: $(cat "$work/err")"
		}
		;;
	*.line)
		awk -v line="$(cat "$step")" '
			/_step\(/ { step = 1 }
			step && /return 0;/ { print line; step = 0 }
			{ print }
			/\.listens/ { print "\t       .publishes = WEIR_TOPIC_BIT(PREEMPT)," }' sjf.c >sjf.new
		mv sjf.new sjf.c
		;;
	*.run)
		while read -r command <&3; do
			case $command in
			"mkdir sjf") mkdir sjf && continue ;;
			"cd sjf") cd sjf && continue ;;
			*--kernel*) [[ $clang ]] || { skipped+="no clang 19; " && break; } ;;
			*" vm "*) [[ $qemu ]] || { skipped+="no QEMU; " && continue; } ;;
			esac
			echo "\$ $command"
			# shellcheck disable=SC2086 # the page's commands are words without quotes
			here $command >"$work/out" || die "it fails: $(tail -5 "$work/out")"
			case $command in
			*" components sjf") grep -q 'how much the last run counts' "$work/out" || die "not the manual" ;;
			*" check "*) grep -q 'shortest: ok on smp-8' "$work/out" || die "check says something else" ;;
			*" graph "*) grep -q '<svg' sjf.svg || die "no drawing" ;;
			*" vm "*) grep -q 'sjf' "$work/out" || die "sjf is not in charge: $(cat "$work/out")" ;;
			*" compare "*)
				compared=$((compared + 1))
				missed[compared]=$(column shortest deadline_misses)
				for file in out/compare.html out/shortest/trace.pftrace out/shortest/report.html; do
					[[ -s $file ]] || die "no $file"
				done
				;;
			esac
		done 3<"$step"
		;;
	esac
done
((nr > 10 && compared == 2)) || die "the page has $nr steps and $compared comparisons"
echo "missed deadlines: ${missed[1]} before the improvement, ${missed[2]} after"
((missed[2] * 10 < missed[1])) || die "the improvement is none"
here runweir --load sjf.so run shortest.weir -m smp-2 -w robot --set sjf.weight=90% --quiet
[[ -z $skipped ]] || echo "left out: ${skipped%; }"
