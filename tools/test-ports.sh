#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# One C source, every target: core and all components as one unit, through each port and compiler that
# is here. A warning fails, and so does a symbol that neither the unit nor a runtime defines.
# The short form leaves out what other tests compile too: the strict port (test-strict), clang's native code, the live scheduler's own object.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

pass() { passed=$((passed + 1)) && echo "ok   $1"; }
fail() { failed=$((failed + 1)) && echo "FAIL $1" && head -40 "$work/log"; }

tools/programs.sh
glue=${CARGO_TARGET_DIR:-target}/debug/weir-glue
"$glue" plain . >"$work/plain.c"
"$glue" bpf . >"$work/bpf.c"

# The newest clang that knows BPF, from 19 on.
bpf_clang=
for name in clang clang-{19..25}; do
	version=$("$name" -dumpversion 2>/dev/null | cut -d. -f1) || continue
	if ((${version:-0} >= 19)) && [[ $("$name" -print-targets) == *' bpf '* ]]; then
		bpf_clang=$name
	fi
done
tool() { # llvm tool of the same installation
	command -v "${bpf_clang/clang/$1}" || command -v "$1"
}

warnings=(-Wall -Wextra -Werror -Wno-unused-parameter)

# --- native and strict: as crates/weir-core/build.rs compiles them --------------------------------

compilers=(gcc)
ports=(native)
[[ ${WEIR_LONG:-} ]] && ports+=(strict)
[[ ${WEIR_LONG:-} && -n $bpf_clang ]] && compilers+=("$bpf_clang")
for cc in "${compilers[@]}"; do
	if ! command -v "$cc" >/dev/null; then
		echo "skip $cc: not installed"
		continue
	fi
	for port in "${ports[@]}"; do
		include=(-std=gnu11 -Icore/include -I"core/port/$port" -Icore/src)
		if "$cc" -O2 -ffreestanding "${warnings[@]}" "${include[@]}" -c -o "$work/unit.o" "$work/plain.c" \
			>"$work/log" 2>&1; then
			pass "$port, $cc: unit"
		else
			fail "$port, $cc: unit"
			continue
		fi
		# A compiler may call memcpy and the like even for freestanding code.
		nm -u "$work/unit.o" | awk '{ print $2 }' |
			grep -vE '^(weir_rt_.*|weir_port_.*|weir_strict_.*|mem(cpy|set|move|cmp)|_GLOBAL_OFFSET_TABLE_|__tls_get_addr)$' \
				>"$work/log" || true
		if [[ -s $work/log ]]; then fail "$port, $cc: symbols that no runtime provides"; else
			pass "$port, $cc: needs a runtime and nothing else"
		fi
		# The kit stands on what a component may include, and knows nothing of the core's own header.
		if (for file in core/kit/*.c; do
			"$cc" -fsyntax-only -ffreestanding "${warnings[@]}" -Wno-unused-function -std=gnu11 -Icore/include \
				-Icore/port/$port "$file" || exit 1
		done) >"$work/log" 2>&1; then
			pass "$port, $cc: the kit needs the component interface and nothing else"
		else
			fail "$port, $cc: the kit needs more than the component interface"
		fi
		# The least runtime is enough for a whole program.
		echo 'extern const unsigned weir_nr_descriptors; int main(void) { return !weir_nr_descriptors; }' >"$work/main.c"
		if "$cc" -O2 "${warnings[@]}" "${include[@]}" -o "$work/zero" "$work/main.c" "$work/unit.o" \
			core/port/native/{port,host}.c runtimes/zero/zero.c >"$work/log" 2>&1 && "$work/zero"; then
			pass "$port, $cc: runs with the zero runtime"
		else
			fail "$port, $cc: does not run with the zero runtime"
		fi
	done
done

# --- BPF --------------------------------------------------------------------------------------------

if [[ -z $bpf_clang ]]; then
	echo "skip bpf: no clang 19 or newer with the BPF target"
else
	if "$bpf_clang" -target bpf -mcpu=v4 -mllvm -disable-ldsx -O2 -g -std=gnu11 -ffreestanding -fvisibility=hidden -fno-builtin -fno-jump-tables \
		"${warnings[@]}" -Wno-unused-function -Wno-duplicate-decl-specifier \
		-Icore/include -Icore/port/bpf -Icore/src -c -o "$work/bpf.o" "$work/bpf.c" >"$work/log" 2>&1 &&
		[[ ! -s $work/log ]]; then
		pass "bpf, $bpf_clang: unit"
		"$(tool llvm-readelf)" -s "$work/bpf.o" | awk '$7 == "UND" && $8 != "" { print $8 }' |
			grep -v '^weir_rt_' >"$work/log" || true
		if [[ -s $work/log ]]; then fail "bpf: symbols that no runtime provides"; else
			pass "bpf: needs a runtime and nothing else"
		fi
		if [[ $("$(tool llvm-readelf)" -S "$work/bpf.o") == *' .BTF '* ]]; then pass "bpf: describes its types"; else
			fail "bpf: no BTF"
		fi
		if "$(tool llvm-objdump)" -dr "$work/bpf.o" | awk -f tools/bpf-stack.awk >"$work/chains"; then
			pass "bpf: no recursion"
			# A measure: programs start at some of these functions, what the verifier adds for loops is not in it,
			# and newer kernels give long chains a stack of their own. tools/live-tests.sh shows whether it loads.
			most() { sed -n "s/^$1 //p" "$work/chains" | sort -rn | sed -n 1p; }
			echo "     bytes of stack, of 512:               $(most bytes)"
			echo "     frames, of 8 in kernels before 7.2:   $(most frames)"
		else
			cp "$work/chains" "$work/log"
			fail "bpf: recursion"
		fi
		# The live scheduler is made of these very files and of no other version of any (DESIGN D1).
		mkdir "$work/live"
		cp "$work/bpf.c" "$work/live/weir_unit.c"
		live=(-fsyntax-only)
		[[ ! ${WEIR_LONG:-} ]] || live=(-c -o "$work/live/weir.bpf.o")
		if "$bpf_clang" -target bpf -mcpu=v4 -mllvm -disable-ldsx -O2 -g -std=gnu11 -ffreestanding -fvisibility=hidden -fno-builtin \
			-fno-jump-tables "${warnings[@]}" -Wno-unused-function -Wno-duplicate-decl-specifier -Icore/include \
			-Icore/port/bpf -Icore/src -Iruntimes/linux -I"$work/live" -MD -MF "$work/live/files" \
			"${live[@]}" runtimes/linux/weir.bpf.c >"$work/log" 2>&1; then
			pass "bpf, $bpf_clang: live scheduler"
		else
			fail "bpf, $bpf_clang: live scheduler"
		fi
		tr -s ' \\' '\n' <"$work/live/files" | sed "s|^$PWD/||" | grep -E '\.c$' | grep -v "^$work/" |
			grep -v '^runtimes/linux/weir.bpf.c$' | sort >"$work/used"
		ls core/src/*.c core/kit/*.c components/*/*.c | sort >"$work/there"
		if diff "$work/there" "$work/used" >"$work/log"; then
			pass "bpf: the live scheduler holds every file of core and components as it is"
		else
			fail "bpf: the live scheduler is made of other files than core and components"
		fi
	else
		fail "bpf, $bpf_clang: unit"
	fi
fi

echo "$passed passed, $failed failed"
((failed == 0))
