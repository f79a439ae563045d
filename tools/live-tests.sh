#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The live scheduler in real kernels: every script of tests/live in a guest of its own, as many at a time as there are
# CPUs. `tools/live-tests.sh switches ends` runs only these. A line `# vm: …` in a script holds the options of its guest.
# WEIR_KEPT is a directory that keeps what passed: these scripts do not run again.
# RUNWEIR, PROBE and CHAIN name programs that are built already, KERNEL the file of another kernel than `runweir vm` fetches.
#
# The guests' clocks count instructions (`runweir vm --icount`): what happens in them depends neither on how fast this
# computer is nor on what else it does, and waiting takes no time.
#
# THREADS names another QEMU, of version 10 or later: its CPUs are threads, which run in parallel, by the wall clock. Bounds of time
# may then be missed where the computer is busy. Its firmware is looked for beside it.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in qemu-system-x86_64 busybox hackbench stress-ng rt-app chrt; do
	PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "skipped: no $tool (tools/setup.sh installs it)"; exit 77; }
done
[[ $(uname -m) == x86_64 ]] || { echo "skipped: the virtual machine needs an x86-64 computer"; exit 77; }
clang=$(command -v "${WEIR_CLANG:-clang-19}" || command -v clang) || { echo "skipped: no clang-19 (tools/setup.sh installs it)"; exit 77; }

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Guests measure waits beside the scheduler's own program, so they take the program that people get; `first` only looks at what loads.
built=debug
if [[ -z ${RUNWEIR:-} || -z ${PROBE:-} || -z ${CHAIN:-} ]]; then
	tools/programs.sh
	if [[ $* != first ]]; then
		built=release
		cargo build --locked --quiet --release --package runweir
	fi
fi
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
# Copies, for a build that goes on meanwhile must not change them.
cp "${RUNWEIR:-$target/$built/runweir}" "$work/runweir"
cp "${PROBE:-$target/debug/examples/probe}" "$work/probe"
cp "${CHAIN:-$target/debug/examples/chain}" "$work/chain"
strip "$work/runweir" "$work/probe" "$work/chain" 2>/dev/null || true
runweir=$work/runweir
kernel=(${KERNEL:+--kernel "$KERNEL"})

# The first call may have to fetch a kernel: that needs the network.
status=0
"$runweir" vm "${kernel[@]}" --icount --turn 1ms --timeout 600s -- true >"$work/out" 2>"$work/err" || status=$?
if ((status)) && grep -qE "cannot (get Debian's package lists|download)" "$work/err"; then
	echo "skipped: no kernel in the cache and none to be had: $(tail -3 "$work/err")"
	exit 77
fi
((status == 0)) || { cat "$work/err" >&2; exit 1; }

# The guest sees the scripts where they are here: the same paths, with what belongs to them.
mkdir -p "$work/tests"
cp -r tests/live "$work/tests/live"
cp -r topologies "$work/topologies"
"$clang" -target bpf -mcpu=v4 -O2 -g -c tests/live/rival.bpf.c -o "$work/tests/live/rival.bpf.o"
${CC:-cc} -O2 -static -pthread experiments/adaptation/pipeline.c -o "$work/tests/live/pipeline"
${CC:-cc} -O2 -static -pthread tests/live/waits.c -o "$work/tests/live/waits"
${CC:-cc} -O2 -static -pthread tests/live/slots.c -o "$work/tests/live/slots"
# The linker warns of dlopen() in the OpenMP library, which nothing here calls.
${CC:-cc} -O2 -static -fopenmp tests/live/team.c -o "$work/tests/live/team" 2>"$work/team.err" || { cat "$work/team.err" >&2; exit 1; }

# A component that is not ours, for the kernel and for simulations alone.
(cd "$work/tests/live" && "$runweir" component new own --kind order --quiet && "$runweir" component build own.c -o plain.so \
	&& "$runweir" component build --kernel own.c) 2>"$work/own" || { cat "$work/own" >&2; exit 1; }

if [[ -n ${THREADS:-} ]]; then
	share=$(dirname "$(dirname "$(realpath "$THREADS")")")/share
	mkdir "$work/threads"
	cat >"$work/threads/qemu-system-x86_64" <<-END
		#!/usr/bin/env bash
		exec $(realpath "$THREADS") -L $share/qemu -L $share/seabios "\${@/thread=single/thread=multi}"
	END
	chmod +x "$work/threads/qemu-system-x86_64"
	PATH=$work/threads:$PATH
fi

guest() { # NAME: run the script in its guest
	local name=$1 options status=0 began=$SECONDS TIMEFORMAT=%U
	if [[ ${WEIR_KEPT:-} && -e $WEIR_KEPT/live-$name.status ]]; then
		cp "$WEIR_KEPT/live-$name.status" "$work/$name.status"
		cp "$WEIR_KEPT/live-$name.log" "$work/$name.log"
		return
	fi
	options=$(sed -n 's/^# vm: //p' "tests/live/$name.sh")
	if [[ -n ${THREADS:-} ]]; then
		options=$(sed 's/--turn [^ ]*//' <<<"$options")
	else
		[[ $options == *--turn* ]] || options+=" --turn 1ms"
		options+=" --icount"
	fi
	[[ $options == *--timeout* ]] || options+=" --timeout 1500s"
	# shellcheck disable=SC2086 # the options are words
	{ time (cd "$work" && "$runweir" vm $options "${kernel[@]}" --accel tcg --quiet \
		--with tests/live --with topologies --with probe --with chain --with "$(command -v chrt)" --with "$(command -v nice)" \
		-- env "PROBE=$work/probe" "CHAIN=$work/chain" "THREADS=${THREADS:+1}" sh "tests/live/$name.sh" >"$work/$name.log" 2>&1 </dev/null); } 2>"$work/$name.time" || status=$?
	echo "$status $((SECONDS - began)) $(cut -d. -f1 "$work/$name.time")" >"$work/$name.status"
	[[ -z ${WEIR_KEPT:-} ]] || ((status)) || for kind in log status; do
		cp "$work/$name.$kind" "$WEIR_KEPT/live-$name.$kind"
	done
}

# The longest first.
names=("$@")
(($#)) || names=(waits deadlines catalogue limits requested fair semantics gang gang-8 gang-smt switches groups linux numa ends instruction-sets counters scenario cpus watchdog brief operator own two-cpus adaptation topics reshaping advise studio first one-cpu)
for script in tests/live/*.sh; do
	name=$(basename "$script" .sh)
	[[ $# -gt 0 || $name == lib || " ${names[*]} " == *" $name "* ]] || { echo "$script is in no list" >&2; exit 1; }
done
for name in "${names[@]}"; do
	while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
	guest "$name" &
	pids+=($!)
done
wait "${pids[@]}" || true
pids=()

failed=0
for name in "${names[@]}"; do
	read -r status seconds computing <"$work/$name.status"
	echo "== $name: $([[ $status == 0 ]] && echo passed || echo "FAILED ($status)") in $seconds s ($computing s of a processor)"
	sed 's/^/   /' "$work/$name.log"
	((status == 0)) || failed=1
done
# Each topology of the catalogue was in charge of some guest. `bilingual` is half in Rust: two-cpus.sh sees it refused.
if (($# == 0)); then
	for topology in topologies/*.weir; do
		topology=$(basename "$topology" .weir)
		[[ $topology == bilingual ]] || grep -q "^$topology: .* enqueues = " "$work"/*.log ||
			{ echo "no guest ran under $topology"; failed=1; }
	done
fi
exit $failed
