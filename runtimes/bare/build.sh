#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The bare kernel without cargo: build.sh UNIT.c OUT [PROGRAM.c...] writes OUT/kernel.elf, its variants (KERNELS below), the services and the
# programs of runtimes/bare/apps as OUT/NAME.image, from the unit that `weir-glue plain` makes. With `-` for UNIT.c it makes the named programs only,
# with a library that was built before; UNIT may also be that unit's object. RISCV is the compilers' prefix, riscv64-unknown-elf- by default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
unit=$1 out=$2
shift 2
prefix=${RISCV:-riscv64-unknown-elf-}
common=(-std=gnu11 -mcmodel=medany -mno-relax -msmall-data-limit=0 -ffreestanding -fno-strict-aliasing -fno-builtin
	-fno-strict-aliasing -ffunction-sections -fdata-sections -Wall -Wextra -Werror -Wno-unused-parameter
	-I"$here/include" -I"$root/core/include" -I"$root/core/port/bare" -I"$root/core/src" -I"$root/runtimes/multikernel")
# BARE_FLAGS: for the kernel's own files. -DBARE_EXACT: expiries to the instruction, for tests. BARE_KERNELS: which variants, all by default.
# The kernel uses no floating point, and programs do.
soft=(-march=rv64imac_zicsr -mabi=lp64)
hard=(-march=rv64imafdc_zicsr -mabi=lp64d)
libgcc() { # FLAGS: the variant's name has no extension
	"${prefix}gcc" "${@/_zicsr/}" -print-libgcc-file-name
}
kernel=("${common[@]}" "${soft[@]}" -O2)
read -ra flags <<<"${BARE_FLAGS:-}"
# A scheduler for each hart, or one for all; harts that take turns, or run in parallel.
declare -A variant=([kernel]='' [kernel-shared]=-DBARE_SHARED [kernel-parallel]=-DBARE_PARALLEL
	[kernel-shared-parallel]='-DBARE_SHARED -DBARE_PARALLEL')
read -ra kernels <<<"${BARE_KERNELS:-kernel kernel-shared kernel-parallel kernel-shared-parallel}"
user=("${common[@]}" "${hard[@]}" -O2 -fno-math-errno -fno-pie -fno-jump-tables -fno-tree-loop-distribute-patterns)
mkdir -p "$out/obj"
jobs=()
compile() { # NAME FILE FLAGS...
	"${prefix}gcc" "${@:3}" -c -o "$out/obj/$1.o" "$2" &
	jobs+=($!)
}
finish() {
	local status=0
	for job in "${jobs[@]}"; do wait "$job" || status=1; done
	jobs=()
	return $status
}
image() { # NAME OBJECT...
	# The host moves it: absolute addresses are left marked.
	"${prefix}ld" --emit-relocs --no-relax -T "$here/lib/image.ld" --gc-sections -o "$out/$1.image.tmp" \
		"$out"/obj/lib-*.o "${@:2}" "$(libgcc "${hard[@]}")"
	mv "$out/$1.image.tmp" "$out/$1.image"
}

if [[ $unit != - ]]; then
	if [[ $unit == *.o ]]; then
		cp "$unit" "$out/obj/unit.o"
	else
		compile unit "$unit" "${kernel[@]}"
	fi
	compile host "$root/core/port/native/host.c" "${kernel[@]}"
	compile plan "$root/runtimes/multikernel/plan.c" "${kernel[@]}"
	compile start "$here/kernel/start.S" "${kernel[@]}"
	for name in "${kernels[@]}"; do
		for file in "$here"/kernel/*.c; do
			compile "$name-$(basename "$file" .c)" "$file" "${kernel[@]}" ${variant[$name]} "${flags[@]}" -fno-tree-loop-distribute-patterns
		done
		finish
	done
	compile lib-entry "$here/lib/entry.S" "${user[@]}"
	for file in "$here"/lib/*.c; do
		compile "lib-$(basename "$file" .c)" "$file" "${user[@]}"
	done
	for name in monitor commit ordered planner controller manifest; do
		compile "m-$name" "$root/runtimes/multikernel/$name.c" "${user[@]}"
	done
	for file in "$here"/services/*.c "$here"/apps/*.c; do
		compile "app-$(basename "$file" .c)" "$file" "${user[@]}"
	done
	finish
	for name in "${kernels[@]}"; do
		objects=()
		for file in "$here"/kernel/*.c; do objects+=("$out/obj/$name-$(basename "$file" .c).o"); done
		"${prefix}ld" -T "$here/kernel/kernel.ld" --gc-sections -o "$out/$name.elf" "$out"/obj/{start,unit,host,plan}.o "${objects[@]}" "$(libgcc "${soft[@]}")"
	done
	image monitor "$out"/obj/app-monitor.o "$out"/obj/m-*.o
	image console "$out"/obj/app-console.o
	for file in "$here"/apps/*.c; do
		name=$(basename "$file" .c)
		image "$name" "$out/obj/app-$name.o"
	done
fi
for file in "$@"; do
	name=$(basename "$file" .c)
	compile "own-$name" "$file" "${user[@]}"
	finish
	image "$name" "$out/obj/own-$name.o"
done
