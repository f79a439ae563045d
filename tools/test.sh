#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The tests. A script ends with 0 (passed), 77 (skipped, saying why) or anything else (failed); its output is shown when it
# ends. The last line sums up.
#
#   tools/test.sh [quick]    the Rust tests and one script of every kind, in their short forms: `make test`
#   tools/test.sh all        everything in its long form (WEIR_LONG=1), run before a release: `make test-all`
#   tools/test.sh tools      only the scripts of `all`
#   tools/test.sh long NAME… only these, in their long form: `test-vm`, or `live-waits` for one of the guests of test-live
#   --record                 add commit, machine, time and result to tests/RECORD.md; of long forms, those of each script
#
# `all` keeps in target/tests what passed at this commit, if nothing is changed: the same command continues after an interruption or a
# failure. `rm -r target/tests` makes it start over.
set -euo pipefail
cd "$(dirname "$0")/.."

what=quick record= chosen=()
for word in "$@"; do
	case $word in
	quick | all | tools | long) what=$word ;;
	--record) record=tests/RECORD.md ;;
	*)
		if [[ $what == long && (-e tools/$word.sh || -e tests/live/${word#live-}.sh) ]]; then
			chosen+=("$word")
			continue
		fi
		[[ $what == long ]] && known="a script tools/test-NAME.sh or tests/live/NAME.sh (live-NAME)" || known="quick, all, tools, long or --record"
		echo "test: \`$word\` is not $known" >&2 && exit 2
		;;
	esac
done
[[ $what != long || ${#chosen[@]} != 0 ]] || { echo "test: \`long\` needs names of scripts, such as test-vm or live-waits" >&2 && exit 2; }
if [[ $what != quick ]]; then
	# Ten times as many random histories, task sets and reconfigurations; longer scripts.
	export WEIR_LONG=1 WEIR_CASES=${WEIR_CASES:-800} WEIR_FLUID_SETS=${WEIR_FLUID_SETS:-400} RESHAPES=${RESHAPES:-4000}
fi

# The long ones first; most use one core. `all` runs every script; a new one joins `quick` here if it is short.
quick=(test-guest test-threads test-concurrency test-messages test-bare test-strict test-hw test-ports test-cases test-gangs test-counts test-against-simso test-promises)
names=("${quick[@]}")
if [[ $what == long ]]; then
	names=("${chosen[@]}")
elif [[ $what != quick ]]; then
	names=(test-live test-vm test-strict test-concurrency)
	for script in tools/test-*.sh; do
		name=$(basename "$script" .sh)
		# The short form of `test-live` is among its guests.
		[[ " test-guest ${names[*]} " == *" $name "* ]] || names+=("$name")
	done
fi

passed=0 failed=0 skipped=0 notes=
began=$SECONDS
work=$(mktemp -d)
pids=()
# Where results of this commit are kept: WORD and log of what passed or was skipped, seconds and processor's seconds of each run.
kept=
# The record itself is no change.
unchanged() { git diff --quiet HEAD -- . ':!tests/RECORD.md' 2>/dev/null; }
if [[ $what != quick ]] && unchanged; then
	kept=${CARGO_TARGET_DIR:-$PWD/target}/tests/$(git rev-parse HEAD)
	mkdir -p "$kept"
	# Scripts of many parts keep theirs there, too.
	export WEIR_KEPT=$kept
fi
# The user and system time of all children of this shell, in s, into a file. Not in a pipe or `$()`: those ask a shell of their own.
computed() { # FILE
	times >"$1.times"
	sed -n '2s/[ms]/ /gp' "$1.times" | awk '{ print int($1 * 60 + $2 + $3 * 60 + $4) }' >"$1"
}
# The time so far, in s, and the children's.
spent() {
	computed "$work/computed"
	echo $((SECONDS - began)) "$(cat "$work/computed")" >"$work/spent"
}
end() {
	kill "${pids[@]}" 2>/dev/null || true
	spent
	[[ -z $kept ]] || cat "$work/spent" >>"$kept/times"
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The wings that failed tests belong to, as words of a note.
wings() {
	awk -v root="$PWD/" '
		NR == FNR { sub(root, "", $2); wing[$1] = $2 ~ /^hw\// ? "hw" : $2 ~ /^research\// ? "research" : "product"; next }
		$1 == "Running" { now = $NF; gsub(/[()]/, "", now); if (now !~ /^\//) now = root now }
		$1 == "Doc-tests" { now = "" }
		/^test result: FAILED/ { found[now in wing ? wing[now] : "product"] }
		END { for (w in found) printf " in %s", w }' "$work/made" "$work/rust"
}

# Run one, and show its output in one piece.
try() { # NAME
	local start=$SECONDS status=0 word
	if [[ $kept && -e $kept/$1.word ]]; then
		cp "$kept/$1.word" "$kept/$1.log" "$kept/$1.seconds" "$work"
		echo "== $1: $(cat "$work/$1.word") before"
		return
	fi
	if [[ $1 == live-* ]]; then
		tools/live-tests.sh "${1#live-}"
	else
		"tools/$1.sh"
	fi </dev/null >"$work/$1.log" 2>&1 || status=$?
	echo $((SECONDS - start)) >"$work/$1.seconds"
	# Of this script alone: each runs in a shell of its own.
	computed "$work/$1.computed"
	case $status in
	0) word=passed ;;
	77) word=skipped ;;
	*) word="FAILED (status $status)" ;;
	esac
	{
		flock 9
		echo "== $1"
		cat "$work/$1.log"
		echo "== $1: $word in $((SECONDS - start)) s, $(cat "$work/$1.computed") s of a processor"
	} 9>>"$work/lock"
	echo "${word%% *}" >"$work/$1.word"
	[[ -z $kept || $word == FAILED* ]] || cp "$work/$1.word" "$work/$1.log" "$work/$1.seconds" "$kept"
}

if [[ $what == long ]]; then
	tools/programs.sh
elif [[ $what != tools ]]; then
	# Compile first: two builds at a time would wait for each other.
	cargo test --locked --workspace --no-run --message-format=json 2>"$work/build" |
		jq -r 'select(.executable != null and .profile.test) | "\(.executable) \(.manifest_path)"' >"$work/made" || true
	tail -3 "$work/build"
	tools/programs.sh
	echo "test: the build took $((SECONDS - began)) s"
fi

# Beside the Rust tests, which use both cores only for a part of their time.
first=
if [[ $what == quick ]]; then
	first=${names[0]}
	try "$first" &
	pids+=($!)
fi
if [[ $what != tools && $what != long ]]; then
	start=$SECONDS broken=0
	if [[ $kept && -e $kept/rust ]]; then
		cp "$kept/rust" "$work/rust"
	else
		cargo test --locked --workspace --no-fail-fast >"$work/rust" 2>&1 || broken=1
		[[ -z $kept ]] || ((broken)) || cp "$work/rust" "$kept/rust"
	fi
	if ((broken)); then cat "$work/rust"; else grep -E '^ +(Running|Doc-tests)|^test result' "$work/rust" || true; fi
	before=$failed
	while read -r ok bad ignored; do
		passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + ignored))
	done < <(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; \([0-9]*\) ignored;.*/\1 \2 \3/p' "$work/rust")
	# A test program that did not build or was killed has no result line of its own.
	((broken == 0 || failed > before)) || failed=$((failed + 1))
	((broken == 0)) || notes+="Rust tests failed$(wings); "
	echo "test: the Rust tests took $((SECONDS - start)) s"
fi

for name in "${names[@]}"; do
	[[ $name != "$first" ]] || continue
	# One more than two cores can run: most of them wait now and then.
	while (($(jobs -rp | wc -l) >= 3)); do wait -n || true; done
	try "$name" &
	pids+=($!)
done
wait "${pids[@]}" || true
pids=()
for name in "${names[@]}"; do
	word=$(cat "$work/$name.word" 2>/dev/null || echo FAILED)
	case $word in
	passed) passed=$((passed + 1)) ;;
	skipped) skipped=$((skipped + 1)) notes+="$name skipped; " ;;
	*) failed=$((failed + 1)) notes+="$name failed; " ;;
	esac
done

spent
[[ -z $kept || ! -e $kept/times ]] || cat "$kept/times" >>"$work/spent"
read -r took processor < <(awk '{ took += $1; computed += $2 } END { print took, computed }' "$work/spent")
result="$passed passed, $failed failed, $skipped skipped"
echo "test: took $took s, $processor s of a processor"
if [[ $record ]]; then
	machine="$(nproc) × $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
	commit=$(git rev-parse --short HEAD)$(unchanged || echo " and changes")
	if [[ $what != long ]]; then
		sed -i "/^| date .* tests /,/^\$/ s#^\$#| $(date -u +%F) | $commit | $machine | $what | $took s | $processor s | $result${notes:+ (${notes%; })} |\n#" "$record"
	fi
	# The last run of each long form: a line a script, in order.
	if [[ $what != quick ]]; then
		for name in "${names[@]}"; do
			word=$(cat "$work/$name.word" 2>/dev/null || echo FAILED)
			sed -i "/^| $name |/d" "$record"
			echo "| $name | $(date -u +%F) | $commit | $machine | $(cat "$work/$name.seconds" 2>/dev/null || echo "?") s | $word |" >>"$record"
		done
		grep '^| \(test\|live\)-' "$record" | sort >"$work/rows"
		awk -v rows="$work/rows" '
			/^\| (test|live)-/ { next }
			{ print }
			/^\| script \|/ { table = 1 }
			table && /^\|---/ { while ((getline row < rows) > 0) print row; table = 0 }' "$record" >"$work/record"
		cp "$work/record" "$record"
	fi
	echo "test: recorded in $record"
fi
# What failed stands last, where one looks first: the names, and the end of what each of them said.
if ((failed)); then
	if ((${broken:-0})); then
		echo "test: of the Rust tests failed:"
		grep -E '^test .* FAILED$|^error: (test failed|could not compile)|signal: |panicked at' "$work/rust" | sort -u | head -20 || true
	fi
	for name in "${names[@]}"; do
		[[ $(cat "$work/$name.word" 2>/dev/null || echo FAILED) == FAILED ]] || continue
		echo "test: $name failed; the end of its output:"
		tail -15 "$work/$name.log" 2>/dev/null || echo "  (none)"
	done
fi
echo "$result"
((failed == 0 && passed > 0))
