#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Our topologies, the kernel's own scheduler, the least sched_ext scheduler and, if there is one, a peer, in one guest.
#
#   bench/live/run.sh [ROUNDS [SCHEDULER...]]
#
# RUNWEIR names the program (default: target/release/runweir), BPFLAND the peer's:
# BPF_CLANG=clang-19 cargo install scx_bpfland --version 1.1.4. Prints CSV (guest.sh says which). ICOUNT=1, the default, counts
# instructions instead of time: total work, the same in equal runs; ICOUNT=0 is the emulator's clock. CPUS is the guest's number of CPUs (default: 4).
# With LOADS, which names some of guest.sh's loads, callbacks are not measured.
set -euo pipefail
cd "$(dirname "$0")/../.."
runweir=$(realpath "${RUNWEIR:-target/release/runweir}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build --locked --quiet --release --package weir-bench-live
cp "${CARGO_TARGET_DIR:-target}/release/weir-bench-live" bench/live/guest.sh "$work/"
clang-19 -target bpf -mcpu=v4 -O2 -g -std=gnu11 -ffreestanding -fno-builtin -Wall -Wno-unused-function \
	-I core/include -I core/port/bpf -I runtimes/linux -c bench/live/fifo.bpf.c -o "$work/fifo.bpf.o"
# What is compiled: a file of ours, without its includes.
compiler=$(cc -print-prog-name=cc1)
cc -E -std=gnu11 -I core/include -I core/port/native -I core/src core/src/order.c -o "$work/unit.i"
strip -o "$work/cc1" "$compiler"
schedulers=(default fifo decentral worksteal global_rr linux)
with=(--with "$work/weir-bench-live" --with "$work/guest.sh" --with "$work/fifo.bpf.o" --with "$work/unit.i" --with "$work/cc1")
if [[ -n ${BPFLAND:-} ]]; then
	strip -o "$work/scx_bpfland" "$BPFLAND"
	with+=(--with "$work/scx_bpfland")
	schedulers+=(bpfland)
fi
(($# < 2)) || schedulers=("${@:2}")
icount=(--icount)
[[ ${ICOUNT:-1} == 0 ]] && icount=()
# What a callback costs is measured on one CPU: a turn of another emulated CPU would count for the callback that it interrupts.
[[ ${1:-3} == 0 || ${LOADS:-} ]] || "$0" 0 "${schedulers[@]}"
cpus=${CPUS:-4}
[[ ${1:-3} == 0 ]] && cpus=1
"$runweir" vm --quiet "${icount[@]}" --cpus $cpus --timeout 1800s "${with[@]}" -- \
	env LOADS="${LOADS:-hackbench pingpong wakeup switch compile}" sh "$work/guest.sh" "${1:-3}" "${schedulers[@]}"
