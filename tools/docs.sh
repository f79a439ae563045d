#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/docs.sh PROGRAM [DIR]: write the pages and pictures that are made from the program, runweir-lab beside it, and the workspace
# into DIR (docs/). Those that a forge shows are committed, and `make check` fails when they are out of date. Pages that repeat what the program says
# of itself are for the book alone, and .gitignore names them.
set -euo pipefail

program=$(realpath "${1:?usage: docs.sh PROGRAM [DIR]}")
cd "$(dirname "$0")/.."
dir=${2:-docs}
mkdir -p "$dir/images"

"$program" graph decentral --machine smp-4 -o "$dir/images/decentral.svg"
"$program" graph accelerator -o "$dir/images/accelerator.svg" 2>/dev/null
# A switch under load, as it happens.
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
"$program" run --scenario rescue --quiet --out "$run/rescue" 2>/dev/null
"$program" gantt "$run/rescue" --quiet --span 80ms..160ms --play 10s --group compositor --group player --group sound --group mixer \
	--group click --group cc-large-1 --group cc-large-2 --group cc-large-3 -o "$dir/images/switch.svg"

# A picture for each idea.
drawn() { # NAME SPAN OPTION…: which task of a run ran when
	local name=$1 span=$2
	shift 2
	"$program" run --quiet --out "$run/$name" "$@" 2>/dev/null
	"$program" gantt "$run/$name" --quiet --span "$span" -o "$dir/images/$name.svg"
}
of_page() { # PAGE WORDS: the block of a page that has these words
	awk -v words="$2" '
		/^```/ { if (inside && index(block, words)) printf "%s", block; inside = !inside; block = ""; next }
		inside { block = block $0 "\n" }' "docs/$1.md"
}
cat >"$run/shares.toml" <<'TOML'
task = [
	{ name = "nice0", program = "run 60ms" },
	{ name = "nice5", nice = 5, program = "run 20ms" },
	{ name = "short", loop = 6, program = "run 500us; sleep 8ms" },
]
TOML
drawn shares 0..60ms -t linux -m smp-1 -w "$run/shares.toml" --duration 60ms
drawn anomaly 0..60ms -t rm -m smp-2 -w anomaly-longer --costs zero --duration 60ms
of_page explain '# inversion.toml:' >"$run/inversion.toml"
sed 's/"none"/"inherit"/' "$run/inversion.toml" >"$run/inheritance.toml"
drawn inversion 0..28ms -t priority -m smp-1 -w "$run/inversion.toml"
drawn inheritance 0..28ms -t priority -m smp-1 -w "$run/inheritance.toml"
of_page workload-files 'name = "perception"' >"$run/dag.toml"
drawn dag 0..12ms -t edf -m smp-2 -w "$run/dag.toml" --duration 50ms
drawn team 20ms..80ms -t linux -m smp-4 -w team:threads=4,work=1ms,spin=10s,hogs=4 --duration 100ms
drawn gang 20ms..80ms -t gang -m smp-4 -w team:threads=4,work=1ms,slot=10ms,period=20ms,hogs=4 --duration 100ms
drawn virtual 10ms..40ms -t decentral -m smp-4 -w virtual --duration 60ms
"$program" compare -t decentral -t multipipe -m smp-64 -w hackbench:groups=60,loops=10 --quiet --plot "$dir/images/entries.svg"
"$program" run multipipe --machine smp-16 --workload hackbench:groups=4,loops=5 --trace none --quiet --out "$run/calls" 2>/dev/null
"$program" report "$run/calls" --calls --least 1% --hide link --hide unlink -o "$dir/images/calls.svg" 2>/dev/null
of_page sweep '# edf-or-pd2.toml:' | sed 's/^seeds = 100/seeds = 10/' >"$run/edf-or-pd2.toml"
"$program" sweep "$run/edf-or-pd2.toml" --quiet --out "$run/sweep"
cp "$run/sweep/success.svg" "$dir/images/sweep.svg"
"$program" graph decentral --machine npu-board --with npu@entry -o "$dir/images/package.svg"
"$program" graph linux --machine smp-2 -o "$dir/images/linux.svg"
"$program" graph distributed --machine cluster-2x2 -o "$dir/images/distributed.svg"
"$program" graph hierarchical --machine dual-socket -o "$dir/images/hierarchical.svg"

"$program" docs "$dir"
tools/python-docs.py >"$dir/python.md"
"$(dirname "$program")/runweir-lab" docs "$dir"
tools/draw-crates.sh >"$dir/crates.md"
tools/layers.sh >"$dir/architecture.md"
