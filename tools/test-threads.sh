#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Runtimes in C. Flat plans: every topology of the catalogue, run, and damaged in many ways under AddressSanitizer. The thread
# library: both kinds of thread under several policies, then bound ones under ThreadSanitizer.
#
#   tools/test-threads.sh [seconds of each timed test, 0.2 by default]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-0.2}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/programs.sh
debug=$(realpath "${CARGO_TARGET_DIR:-target}")/debug
"$debug/weir-glue" plain . >"$work/unit.c"
flags=(-std=gnu11 -D_GNU_SOURCE -g -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unused-parameter -ftls-model=initial-exec -Icore/include
	-Icore/port/native -Icore/src -Iruntimes/threads/include)
compile() { "$debug/runweir" compile "$@" -q 2>/dev/null; }
# Kernels with much randomisation do not always leave room for a sanitizer's shadow memory.
plainly=()
setarch -R true 2>/dev/null && plainly=(setarch -R)

# --- plans ------------------------------------------------------------------------------------------

mkdir "$work/plans" "$work/policies"
nr=0
for file in topologies/*.weir; do
	for machine in smp-1 smp-4; do
		name=$(basename "$file" .weir)
		compile "$name" -m $machine -o "$work/plans/$name-$machine.plan" && nr=$((nr + 1))
	done
done
((nr > 100)) || { echo "FAIL only $nr plans were compiled" && exit 1; }
"$cc" "${flags[@]}" -O1 -fsanitize=address -o "$work/plan" "$work/unit.c" core/port/native/{port,host}.c \
	runtimes/multikernel/plan.c tests/threads/plan.c
"${plainly[@]}" "$work/plan" 60 "$work"/plans/*.plan
echo "ok   flat plans"

# --- threads ----------------------------------------------------------------------------------------

for name in decentral priority central linux worksteal edf; do
	compile $name -m smp-3 -o "$work/policies/$name.plan"
done
echo 'entry -> round_robin(slice = 1ms) -> cpus;' >"$work/rr1.weir"
compile "$work/rr1.weir" -m smp-1 -o "$work/policies/rr1.plan"
compile priority -m smp-1 -o "$work/policies/priority1.plan"
compile decentral -m smp-1024 -o "$work/policies/wide.plan"

OPT=1 CC="$cc" runtimes/threads/build.sh "$work/unit.c" "$work/lib"
"$cc" "${flags[@]}" -O2 -o "$work/threads" tests/threads/threads.c "$work/lib/libweir_threads.a" -lpthread
"$work/threads" "$work/policies" "$seconds"
# The same as a shared library, whose code lies elsewhere.
"$cc" "${flags[@]}" -O2 -o "$work/shared" tests/threads/threads.c -L"$work/lib" -lweir_threads -Wl,-rpath,"$work/lib" -lpthread
"$work/shared" "$work/policies" "$seconds" preemption swap
if nm -D --defined-only "$work/lib/libweir_threads.so" | awk '{ print $3 }' | grep -v '^weir_'; then
	echo "FAIL the library exports other names" && exit 1
fi

# An unmodified program, and programs that others wrote.
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/program" tests/threads/program.c -lpthread
preloaded() { # PLAN COMMAND...
	WEIR_THREADS_PLAN=$1 LD_PRELOAD=$work/lib/libweir_preload.so timeout 120 "${@:2}"
}
for name in decentral priority central; do
	compile $name -m "smp-$(nproc)" -o "$work/here-$name.plan"
	[[ $(preloaded "$work/here-$name.plan" "$work/program") == "program: done" ]]
done
seq 200000 | sort -R >"$work/numbers"
cmp <(preloaded "$work/here-decentral.plan" sort -n --parallel=4 "$work/numbers") <(seq 200000)
echo "ok   unmodified programs"

if echo 'int main(void) { return 0; }' | "$cc" -fsanitize=thread -x c -o "$work/try" - 2>/dev/null && "${plainly[@]}" "$work/try"; then
	# It does not model fences; what they order is also ordered by acquire and release.
	"$cc" "${flags[@]}" -O1 -fsanitize=thread -Wno-tsan -o "$work/tsan" "$work/unit.c" core/port/native/{port,host}.c \
		runtimes/multikernel/plan.c runtimes/threads/{driver,thread,sync,events,open,switch}.c tests/threads/threads.c -lpthread
	TSAN_OPTIONS=halt_on_error=1 "${plainly[@]}" "$work/tsan" "$work/policies" "$seconds"
	echo "ok   threads, ThreadSanitizer"
else
	echo "skip ThreadSanitizer: not installed, or it does not run here"
fi
