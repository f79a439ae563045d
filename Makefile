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

.PHONY: help setup build demo test test-rust test-live test-tools check fmt vm-setup bench docs install uninstall clean

help: ## this list
	@echo "Runweir: CPU schedulers made of components. Targets:"
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' $(MAKEFILE_LIST) | column -t -s '|'
	@echo "Start with: make demo"

setup: ## install what is missing to build and test (Debian; needs root or sudo only then)
	@tools/setup.sh

build: setup ## build the release program, target/release/runweir
	@test -x $(RUNWEIR) || echo "building runweir: three to ten minutes the first time, on two cores"
	$(CARGO) build $(LOCKED) --release --package runweir

demo: build ## two schedulers, one rt-app workload, one real machine's topology, side by side
	@tools/demo.sh $(RUNWEIR) $(OUT)/demo

test: setup ## the whole test suite (15 to 40 minutes on 2 cores)
	@tools/test.sh

test-rust: ## only the Rust tests, which need neither clang nor root
	$(CARGO) test $(LOCKED) --workspace

test-live: setup ## the live scheduler in virtual machines: topologies, switches, ends, limits (part of `test`)
	@tools/live-tests.sh

test-tools: setup ## only the tests of tools/test-*.sh: ports, sanitizers, walk-throughs
	@tools/test.sh tools

check: setup ## what must hold before a commit: format, lints, generated files
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	@tools/check.sh

fmt: build ## format the Rust code and the catalogue's topologies
	$(CARGO) fmt --all
	$(RUNWEIR) fmt topologies/*.weir

vm-setup: build ## fetch and check the kernel of the virtual machine, boot it once
	$(RUNWEIR) vm -- uname -sr

bench: setup ## the benchmarks: stages against a monolith, simulator speed
	@tools/bench.sh

docs: build ## regenerate the pages, man pages and pictures that are made from the program
	@tools/docs.sh $(RUNWEIR)

install: build ## install program, man pages and completions below PREFIX (default /usr/local)
	@tools/install.sh $(RUNWEIR) "$(DESTDIR)$(PREFIX)"

uninstall: ## remove what `make install` put below PREFIX
	rm -f "$(DESTDIR)$(PREFIX)/bin/runweir" "$(DESTDIR)$(PREFIX)"/share/man/man1/runweir*.1
	rm -f "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/runweir"
	rm -f "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_runweir"
	rm -f "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/runweir.fish"

clean: ## remove everything built
	$(CARGO) clean
	rm -rf $(OUT) build
