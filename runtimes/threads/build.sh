#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The thread library without cargo: build.sh UNIT.c OUT [FLAGS...] writes OUT/libweir_threads.a and .so, libweir_preload.so for
# unmodified programs, libweir_gomp.so for those with OpenMP, weir-cpus and weir-doctor, from the unit that `weir-glue plain` makes. CC, LD, OBJCOPY and AR are honoured.
#
# One object with everything in it: what is not part of the interface becomes local, so that a program may link another copy of the
# core beside it, and the code gets a section of its own, by which the signal handler knows what it must not leave. OPT is the unit's
# level of optimisation, 3 if it is not set: tests take 1, which the compiler is through with sooner.
#
# No operations are recorded here, and all CPUs share memory: the unit has neither.
#
# -fno-plt: a procedure linkage table is neither in that section nor in libc, so a green thread would be preempted on the way from one to the other,
# where the library holds addresses that belong to the CPU it is on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
unit=$1 out=$2
shift 2
cc=${CC:-gcc} ld=${LD:-ld} objcopy=${OBJCOPY:-objcopy} ar=${AR:-ar}
flags=(-std=gnu11 -D_GNU_SOURCE -O2 -g1 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-plt -fno-reorder-functions -fno-reorder-blocks-and-partition
	-fno-strict-aliasing -Wall -Wextra -Werror -Wno-unused-parameter -I"$root/core/include" -I"$root/core/port/native" -I"$root/core/src"
	-I"$here/include" -DWEIR_OPLOG=0 -DWEIR_DOMAINS=0 "$@")
mkdir -p "$out"
objects=()
compile() { # FILE FLAGS...
	local o
	o=$out/$(basename "$1" .c).o
	"$cc" "${flags[@]}" "${@:2}" -c -o "$o" "$1"
	objects+=("$o")
}
compile "$unit" -O"${OPT:-3}" --param=max-inline-insns-auto=120 --param=inline-unit-growth=300
for file in "$root"/core/port/native/{port,host}.c "$root"/runtimes/multikernel/{plan,manifest,controller,planner}.c "$here"/{allot,driver,foreign,gang,trace,status,tasks,thread,sync,events,open,overflow,join,serve,switch,watch}.c; do
	compile "$file"
done
"$ld" -r -o "$out/weir_threads.o" "${objects[@]}"
"$objcopy" --rename-section .text=weir_text,alloc,load,readonly,code,contents --localize-hidden "$out/weir_threads.o"
rm -f "$out/libweir_threads.a" "${objects[@]}"
"$ar" rcs "$out/libweir_threads.a" "$out/weir_threads.o"
echo '{ global: weir_*; local: *; };' >"$out/exports"
"$cc" -shared -Wl,--version-script="$out/exports" -o "$out/libweir_threads.so" -Wl,-soname,libweir_threads.so "$out/weir_threads.o" "$@" -lpthread
# Cancellation unwinds through the wrapped calls (-fexceptions).
objects=()
for file in "$here"/shim*.c; do
	compile "$file" -fno-builtin -fexceptions
done
"$cc" -shared -o "$out/libweir_preload.so" -Wl,-soname,libweir_preload.so "${objects[@]}" "$out/weir_threads.o" "$@" -ldl -lpthread
rm -f "${objects[@]}"
"$cc" "${flags[@]}" -o "$out/weir-cpus" "$here/cpus.c" "$out/weir_threads.o" -lpthread
"$cc" "${flags[@]}" -o "$out/weir-doctor" "$here/doctor.c" "$here/switch.c" -lpthread
# The OpenMP library bears libgomp's name, so a program that has it loaded first does not look for the other; it finds the runtime if that is loaded.
objects=()
for file in "$here"/gomp/*.c; do
	compile "$file"
done
"$cc" -shared -Wl,--version-script="$here/gomp/gomp.map" -o "$out/libweir_gomp.so" -Wl,-soname,libgomp.so.1 "${objects[@]}" "$@" -lpthread
rm -f "$out/exports" "${objects[@]}"
