#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/walks.sh: the first hour of five people, each in a clean root without anything of ours: what they type, how long it takes until the
# first answer that is of use to them, and whether that is within their patience. A key is pressed 200 times a minute; what the computer
# takes is measured. Prints the rows of the table in tests/RECORD-newcomers.md; exit status 1 if a walk fails or takes too long.
#
# RUNWEIR is the program of the package (the debug build, so that times are upper bounds), WHEEL the wheel of the data scientist
# (build/python/runweir-*.whl; without it that walk is skipped). SUITE=trixie makes the roots of another release of Debian. SHOTS=FOLDER keeps
# what the terminal showed, at 80 and at 200 columns, as text and as SVG.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in dpkg-deb dpkg-shlibdeps ${SHOTS:+script}; do
	command -v $tool >/dev/null || { echo "skipped: no $tool (apt-get install dpkg-dev bsdutils)"; exit 77; }
done
[[ ${RUNWEIR:-} ]] || tools/programs.sh
program=$(realpath "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}")
wheels=(build/python/runweir-*.whl)
wheel=${WHEEL:-${wheels[0]}}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
threads=${CARGO_TARGET_DIR:-target}/threads
[[ -x $threads/weir-doctor ]] || threads=
tools/deb.sh "$program" "$work" $threads >/dev/null
deb=$(echo "$work"/runweir_*.deb)
# One clean root with what apt needs to know of the package's libraries; each walk gets a copy.
tools/clean-root.sh "$work/clean" libelf1,zlib1g,python3,python3-venv "" "${SUITE:-}" || exit

failed=0
begin() { # WHO MINUTES: a root of its own
	who=$1 limit=$2 keys=0 spent=0 root=$work/$1
	cp -a "$work/clean" "$root"
	mkdir -p "$root/root/walk"
	cp "$deb" "$root/root/walk/runweir.deb"
	: >"$work/$who.lines"
}
types() { # LINE [PATTERN]: a line at the prompt; what it prints has to match
	local begin=$EPOCHREALTIME status=0
	keys=$((keys + ${#1} + 1))
	printf '%s\n' "$1" >>"$work/$who.lines"
	tools/clean-root.sh --enter "$root" bash -c "cd /root/walk && $1" >"$work/said" 2>&1 </dev/null || status=$?
	spent=$(awk -v a="$begin" -v b="$EPOCHREALTIME" -v s="$spent" 'BEGIN { print s + b - a }')
	if ((status > 0)) || { [[ ${2:-} ]] && ! grep -qE "$2" "$work/said"; }; then
		echo "walks: $who: \`$1\` ended with $status and did not print ${2:-anything}:" >&2
		tail -15 "$work/said" >&2
		failed=1
	fi
}
arrived() { # WHAT THEY HAVE
	local minutes
	minutes=$(awk -v k="$keys" -v s="$spent" 'BEGIN { printf "%.1f", k / 200 + s / 60 }')
	printf '| %s | %s | %d | %.0f s | %s min, at most %s |\n' "$who" "$1" "$keys" "$spent" "$minutes" "$limit"
	awk -v m="$minutes" -v l="$limit" 'BEGIN { exit m > l }' || { echo "walks: $who takes $minutes minutes, more than $limit" >&2; failed=1; }
	shots
	rm -rf "$root"
}
# What a terminal of that width shows, as text with its colours, and drawn.
if [[ ${SHOTS:-} ]]; then
	mkdir -p "$SHOTS"
	python3 -m venv "$work/rich"
	"$work/rich/bin/pip" install --quiet --disable-pip-version-check rich==14.0.0
fi
shots() {
	[[ ${SHOTS:-} ]] || return 0
	for width in 80 200; do
		while IFS= read -r line; do
			[[ $line == runweir* ]] || continue
			printf '\n$ %s\n' "$line"
			printf 'stty cols %s rows 50; cd /root/walk; export TERM=xterm-256color; %s\n' "$width" "$line" >"$root/root/line"
			script -qec "tools/clean-root.sh --enter $root bash /root/line" /dev/null </dev/null | sed 's/\r$//'
		done <"$work/$who.lines" >"$SHOTS/$who-$width.txt"
		"$work/rich/bin/python" tools/terminal-picture.py $width "$SHOTS/$who-$width.txt" "$SHOTS/$who-$width.svg"
	done
}
install='dpkg --install ./runweir.deb'

echo '| who | has | keys | computer | together |'
echo '|---|---|---|---|---|'

begin student 3
types "$install"
types 'runweir tour' 'deadlines missed'
types 'runweir run -t decentral -m smp-8 -w hackbench:groups=10,loops=100' 'task switches'
arrived 'two schedulers compared, and a run of their own'

begin performance-engineer 5
cp crates/weir-trace/tests/recordings/hackbench.perf.data "$root/root/walk/web.data"
types "$install"
types 'runweir explain web.data --worst 3' 'Main cause'
types 'runweir import web.data -o web.toml' 'threads'
types 'runweir compare -t linux -t worksteal -m smp-4 -w web.toml' 'response p99|wake'
arrived 'why threads of a recording waited, and what another scheduler would do'

begin real-time-engineer 3
types "$install"
types "printf 'name,period (ms),wcet (us),deadline (ms)\ncamera,10,2500,8\nmotor,2,400,\nlog,100,9000,\n' > set.csv"
types 'runweir analyze --schedulability -w set.csv -m smp-1' 'schedulable'
types 'runweir run -t rm -m smp-1 -w set.csv -d 1s --out out' 'motor'
types 'runweir gantt out --span 0..40ms -o set.pdf' 'written'
arrived 'which policies meet the deadlines of a spreadsheet, and a figure'

begin data-scientist 3
if [[ -f $wheel ]]; then
	cp "$wheel" "$root/root/walk/"
	types 'python3 -m venv v && v/bin/pip install -q ./runweir-*.whl'
	types "v/bin/python -c 'import runweir; r = runweir.run(\"edf\", \"smp-4\", \"periodic\", duration=\"1s\"); print(r.totals, r.jobs.head(3))'" 'deadline_misses'
	arrived 'sums and a table of jobs in Python'
else
	echo "walks: the data scientist is left out: no wheel (make python)" >&2
fi

begin operator 5
types "$install"
types 'runweir config check' 'live.toml'
types 'runweir run -t worksteal -m host -w web -d 200ms' 'task switches'
types 'cat /usr/lib/systemd/system/runweir.service' 'ExecReload'
arrived 'a checked configuration and the policy on a model of this machine; the switch itself: tools/test-service.sh'

exit $failed
