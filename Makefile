# SPDX-License-Identifier: MIT OR GPL-2.0-only
# `make` lists the targets. CARGO_TARGET_DIR is honoured; everything else is found by itself.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PREFIX ?= /usr/local
DESTDIR ?=
OUT ?= out

TARGET := $(or $(CARGO_TARGET_DIR),target)
RUNWEIR := $(TARGET)/release/runweir
# The lock file is the truth; a build that would change it is an error.
CARGO := cargo
LOCKED := --locked

.PHONY: help setup build demo test test-all test-rust test-live test-tools check fmt vm-setup bench docs threads bare deb install uninstall clean \
	hw-setup hw-test hw-cocotb hw-prove hw-area hw-activity hw-bitstream python test-python release

help: ## this list
	@echo "Runweir: CPU schedulers made of components. Targets:"
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' $(MAKEFILE_LIST) | column -t -s '|'
	@echo "Start with: make demo"

setup: ## install what is missing to build and test (Debian; elsewhere it names the packages; needs root or sudo only then)
	@tools/setup.sh

build: setup ## build the release programs, target/release/runweir and runweir-lab
	$(CARGO) build $(LOCKED) --release --package runweir --package runweir-lab

demo: ## two schedulers, one rt-app workload, one real machine's topology, side by side (needs cc and cargo only)
	@tools/setup.sh demo
	$(CARGO) build $(LOCKED) --profile demo --package runweir --no-default-features
	@tools/demo.sh $(TARGET)/demo/runweir $(OUT)/demo

test: setup ## tests of every kind in their short forms
	@tools/test.sh $(if $(RECORD),--record)

test-all: setup ## all tests in their long forms, before a release; RECORD=1 adds a line to tests/RECORD.md
	@tools/test.sh all $(if $(RECORD),--record)

test-rust: ## only the Rust tests, which need neither clang nor root
	$(CARGO) test $(LOCKED) --workspace

test-live: setup ## the live scheduler in virtual machines: topologies, switches, ends, limits (part of `test-all`)
	@tools/live-tests.sh

test-tools: setup ## only the long forms of tools/test-*.sh: guests, ports, sanitizers, walk-throughs
	@tools/test.sh tools

check: setup ## what must hold before a commit: format, lints, generated files
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	$(CARGO) clippy $(LOCKED) --package runweir --no-default-features -- -D warnings
	@tools/check.sh

fmt: build ## format the Rust and C code and the catalogue's topologies
	$(CARGO) fmt --all
	@tools/format-c.sh
	$(RUNWEIR) fmt topologies/*.weir

vm-setup: build ## fetch and check the kernel of the virtual machine, boot it once
	$(RUNWEIR) vm -- uname -sr

threads: ## the thread library, its preloaded form, weir-cpus and weir-doctor, into target/threads
	$(CARGO) build $(LOCKED) --package weir-glue
	@$(TARGET)/debug/weir-glue plain . > $(TARGET)/weir_unit.c
	@runtimes/threads/build.sh $(TARGET)/weir_unit.c $(TARGET)/threads
	@echo "built $(TARGET)/threads/libweir_threads.a, .so, libweir_preload.so, libweir_gomp.so, weir-cpus and weir-doctor"

bare: ## the bare kernel and its programs, into target/bare (needs gcc-riscv64-unknown-elf)
	$(CARGO) build $(LOCKED) --package weir-glue
	@$(TARGET)/debug/weir-glue plain . > $(TARGET)/weir_unit.c
	@runtimes/bare/build.sh $(TARGET)/weir_unit.c $(TARGET)/bare
	@echo "built $(TARGET)/bare; try: runweir bare priority --harts 4 -- hello"

python: ## the wheel of the Python package, into build/python (Python 3.11 or later; maturin from PyPI)
	@tools/python.sh build --release

test-python: ## the Python package in an environment of its own: tests, notebooks (part of `test-all`)
	@tools/python.sh test

bench: setup ## the benchmarks: stages against a monolith, simulator speed
	@tools/bench.sh

hw-setup: ## install what simulation, proofs and synthesis of the hardware need (Debian and PyPI, 450 MB)
	@tools/hw-setup.sh

hw-test: ## the RTL in lock step with its model and with the components (DECISIONS=20000 each)
	@tools/hw-test.sh $(DECISIONS)

hw-cocotb: ## cocotb benches: the engine behind each bus, the board's top, a LiteX SoC (DECISIONS=60 of each policy and size)
	@tools/hw-cocotb.sh $(DECISIONS)

hw-prove: ## prove the properties of the RTL, refuse its mutants (ARGS=--quick: seconds each, no mutants)
	@hw/formal/prove.sh $(ARGS)

hw-area: ## LUTs, flip-flops and MHz of the scheduling engine by tasks, on an ECP5 (ARGS: see hw/syn/area.sh)
	@hw/syn/area.sh $(ARGS)

hw-activity: ## how often LUTs and flip-flops of the scheduling engine switch, by tasks (ARGS: see hw/syn/activity.sh)
	@hw/syn/activity.sh $(ARGS)

hw-bitstream: ## a bitstream for the ULX3S board, into build/ulx3s; fails if it is slower than 25 MHz (ARGS: see hw/board/ulx3s/build.sh)
	@hw/board/ulx3s/build.sh $(ARGS)

MDBOOK := build/tools/bin/mdbook
$(MDBOOK):
	$(CARGO) install --quiet --locked mdbook --version 0.4.52 --no-default-features --features search --root build/tools

docs: build $(MDBOOK) ## regenerate what is made from the program, check all links, and build the book, build/book/index.html
	@tools/docs.sh $(RUNWEIR)
	@tools/decisions.py
	@tools/book.py build build/book $(MDBOOK)

deb: build threads ## build a Debian package below build/: program, service, pages, completions, catalogue, headers, thread library
	@tools/deb.sh $(RUNWEIR) build $(TARGET)/threads

release: ## the files of a release, from this commit, into build/release: program, packages, wheel, sources, checksums (RELEASING.md)
	@tools/release.sh

install: build threads ## install program, man pages and completions below PREFIX (default /usr/local)
	@tools/install.sh $(RUNWEIR) "$(DESTDIR)$(PREFIX)" $(TARGET)/threads

uninstall: ## remove what `make install` put below PREFIX
	@tools/install.sh --remove "$(DESTDIR)$(PREFIX)"

clean: ## remove everything built
	$(CARGO) clean
	rm -rf $(OUT) build
