#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Install what is missing to build and test Runweir. Does nothing, quickly, where all is there.
# Packages come from Debian's (or Ubuntu's) own repositories, and only if a command is absent.
set -euo pipefail

packages=()
need() { # COMMAND PACKAGE: the package brings the command
	command -v "$1" >/dev/null 2>&1 || packages+=("$2")
}

need_file() { # FILE PACKAGE: the package brings the file
	[[ -e $1 ]] || packages+=("$2")
}

need cc build-essential
need make build-essential
need clang-19 clang-19       # compiles core and components for the kernel's BPF target
need clang-format-19 clang-format-19 # `make check`
need llvm-objdump-19 llvm-19 # looks into those objects
need column bsdextrautils
need jq jq # experiments read summaries with it
need valgrind valgrind # counts the instructions of the core (tools/test-counts.sh)
# For `runweir vm`: the emulator, what the guest is made of, and the loads that run in it.
need qemu-system-x86_64 qemu-system-x86
need busybox busybox-static
need hackbench rt-tests
need stress-ng stress-ng
need rt-app rt-app
need pkg-config pkg-config # finds the libraries of the kernel loader
need_file /usr/include/libelf.h libelf-dev
need_file /usr/include/zlib.h zlib1g-dev

if ((${#packages[@]})); then
	echo "setup: installing ${packages[*]}" >&2
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "setup: no apt-get here; install the equivalents of: ${packages[*]}" >&2
		exit 1
	fi
	sudo=()
	if ((EUID != 0)); then
		if ! command -v sudo >/dev/null 2>&1; then
			echo "setup: run as root: apt-get install ${packages[*]}" >&2
			exit 1
		fi
		sudo=(sudo)
	fi
	install_packages() {
		"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends "${packages[@]}" </dev/null >&2
	}
	# The package lists may be absent or old: then fetch them once and try again.
	install_packages || { "${sudo[@]}" apt-get update >&2 && install_packages; }
fi

if ! command -v cargo >/dev/null 2>&1; then
	echo "setup: Rust is missing; get it from https://rustup.rs (any stable from 1.95 on)" >&2
	exit 1
fi

# rustfmt and clippy are needed by `make check` only, so their absence is no error here.
if command -v rustup >/dev/null 2>&1; then
	for component in rustfmt clippy; do
		cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 ||
			rustup component add "$component" >&2 ||
			echo "setup: could not add $component; \`make check\` needs it" >&2
	done
fi
