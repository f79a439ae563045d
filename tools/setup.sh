#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/setup.sh [demo]: install what is missing to build and test Runweir; with `demo`, only look for a C compiler and Rust, and
# install nothing. Does nothing, quickly, where all is there. Packages come from Debian's (or Ubuntu's) own repositories, and
# only if a command is absent; on Fedora and Arch the command that installs them is printed.
set -euo pipefail
table=$(dirname "$0")/../crates/weir-text/src/packages.txt

missing=()
need() { # COMMAND...: are these there?
	for name in "$@"; do command -v "$name" >/dev/null 2>&1 || missing+=("$name"); done
}
need_file() { # FILE: is it there?
	[[ -e $1 ]] || missing+=("$(basename "$1")")
}
# The packages of what is missing, from column COLUMN of the table: 2 Debian, 3 Fedora, 4 Arch.
packages() {
	for name in "${missing[@]}"; do
		awk -v name="$name" -v column="$1" '$1 == name { print $column }' "$table"
	done | grep -vx -e - | sort -u | tr '\n' ' '
}
# What is missing and packaged nowhere on this system.
unpackaged() {
	for name in "${missing[@]}"; do
		awk -v name="$name" -v column="$1" '$1 == name && $column == "-" { print $1 }' "$table"
	done | tr '\n' ' '
}

need cc
if [[ ${1:-} != demo ]]; then
	need make
	need clang-19         # compiles core and components for the kernel's BPF target
	need clang-format-19  # `make check`
	need llvm-objdump-19  # looks into those objects
	need column jq        # experiments read summaries with them
	need valgrind         # counts the instructions of the core (tools/test-counts.sh)
	# For `runweir vm`: the emulator, what the guest is made of, and the loads that run in it.
	need qemu-system-x86_64 busybox hackbench stress-ng rt-app
	need pkg-config # finds the libraries of the kernel loader
	need_file /usr/include/libelf.h
	need_file /usr/include/zlib.h
	# Other systems' clang has no number in its name.
	if clang --version 2>/dev/null | grep -qE 'version (19|[2-9][0-9])'; then
		for i in "${!missing[@]}"; do
			case ${missing[i]} in clang-19 | clang-format-19 | llvm-objdump-19) unset "missing[i]" ;; esac
		done
	fi
fi

if ((${#missing[@]})); then
	like=$(sed -n 's/^ID\(_LIKE\)\?=//p' /etc/os-release 2>/dev/null | tr -d '"' | tr '\n' ' ')
	by_hand() { # COLUMN COMMAND: how the user installs them
		echo "setup: missing: ${missing[*]}" >&2
		echo "setup: as root: $2 $(packages "$1")" >&2
		[[ -z $(unpackaged "$1") ]] || echo "setup: without a package here (only some tests need them): $(unpackaged "$1")" >&2
		exit 1
	}
	case " $like " in
	*" fedora "*) by_hand 3 "dnf install" ;;
	*" arch "*) by_hand 4 "pacman -S" ;;
	esac
	if [[ ${1:-} == demo ]] || ! command -v apt-get >/dev/null 2>&1; then by_hand 2 "apt-get install"; fi
	read -ra names <<<"$(packages 2)"
	echo "setup: installing ${names[*]}" >&2
	sudo=()
	if ((EUID != 0)); then
		if ! command -v sudo >/dev/null 2>&1; then
			echo "setup: run as root: apt-get install ${names[*]}" >&2
			exit 1
		fi
		sudo=(sudo)
	fi
	install_packages() {
		"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends "${names[@]}" </dev/null >&2
	}
	# The package lists may be absent or old: then fetch them once and try again.
	install_packages || { "${sudo[@]}" apt-get update >&2 && install_packages; }
fi

if ! command -v cargo >/dev/null 2>&1; then
	echo "setup: Rust is missing; get it from https://rustup.rs (any stable from 1.95 on)" >&2
	exit 1
fi
[[ ${1:-} != demo ]] || exit 0

# rustfmt and clippy are needed by `make check` only, so their absence is no error here.
if command -v rustup >/dev/null 2>&1; then
	for component in rustfmt clippy; do
		cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 ||
			rustup component add "$component" >&2 ||
			echo "setup: could not add $component; \`make check\` needs it" >&2
	done
fi
