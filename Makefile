# Two commands matter: `make demo` builds everything in .venv, runs the study with few replications and writes its
# report; `make test` passes every test and lint. Everything else is a step of these two.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
CRATE := target/crate
AXE := target/axe
STUDY := studies/quic-dumbbell
# With fewer than six replications no paired test can tell a difference from chance.
DEMO_REPLICATIONS ?= 6
# How long each fuzz target runs.
FUZZ_SECONDS ?= 20
DEMO_OUT := results/demo
DEMO_PATHS := results/demo-paths
FIXTURE := tests/data/paths
DEMO_AS := --level as --pfx2as $(FIXTURE)/cities.pfx2as
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Property tests draw the same cases each time; PROPTEST_RNG_SEED=... draws others.
export PROPTEST_RNG_SEED ?= 1
# Tests that this machine cannot run are noted here and counted at the end (tests/rust/skips.rs).
export HALTERE_SKIPS ?= $(CURDIR)/target/skips
# Tests of kernels as nodes run the program that `make build` has built.
export HALTERE_NODE ?= $(CURDIR)/python/haltere/haltere-node
STEP := tools/step
CHARTS := python/haltere/explorer/charts.js

# The first Python that is new enough; PYTHON=... overrides it.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
CORE_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml' -o -name '*.json' 2>/dev/null) Cargo.toml Cargo.lock pyproject.toml python/haltere/plugins/include/haltere.rs

# The worker programs of the stacks that read the clock themselves, one for each; if they have been built, the package uses them.
# quiche needs libclang.
WORKER := python/haltere/haltere-worker
WORKER_SOURCES := $(shell find crates/worker crates/net crates/stacks/src/worker -name '*.rs' -o -name '*.toml' -o -name '*.lock' 2>/dev/null)
CORE_FEATURES := $(if $(wildcard $(WORKER)-*),--features worker)
# A libclang without clang, such as PyPI's, lacks the compiler's headers; those of gcc work as well.
WORKER_CARGO = cd crates/worker && CARGO_TARGET_DIR='$(CURDIR)/target/worker-$*' \
	BINDGEN_EXTRA_CLANG_ARGS="$${BINDGEN_EXTRA_CLANG_ARGS-$${LIBCLANG_PATH:+-I$$(cc -print-file-name=include)}}" cargo

# The program inside kernels that are nodes of the simulator. It needs nothing of the host's C library, so that it runs wherever the
# wheel is installed.
NODE := $(if $(filter Linux,$(shell uname -s)),python/haltere/haltere-node)
NODE_SOURCES := $(shell find crates/kernel/src crates/net/src crates/transport/src -name '*.rs' 2>/dev/null) Cargo.lock
NODE_TARGET := $(shell uname -m)-unknown-linux-gnu

.PHONY: crate axe playground playground-if-possible pages studies bench-paths docs fuzz gallery wheel fresh-wheel fixture-paths help demo demo-paths test checks build kernel test-rust test-python lint-rust lint-python clean need-tools need-rust-lints

help:
	@echo 'make demo   build in .venv, run $(STUDY) with $(DEMO_REPLICATIONS) replications, write the report'
	@echo 'make demo-paths  build, and go from real traceroutes of two periods to their comparison'
	@echo 'make test   Rust and Python tests, lints and type checks'
	@echo 'make build  only build: afterwards $(BIN)/haltere --help'
	@echo 'make docs   the documentation as a site in target/site; warnings and links that lead nowhere are errors'
	@echo 'make pages  write the numbers of all pages anew from what the studies keep, and note which are stale'
	@echo 'make studies  run the campaigns that the shipped studies keep, at full size (an hour), and write the pages'
	@echo 'make gallery  run the shipped studies with few replications, so that make docs shows their reports'
	@echo 'make wheel  a wheel for every Linux since 2018 in dist (manylinux_2_28, linked by zig)'
	@echo 'make fresh-wheel  the same from nothing, installed from nothing and used (some ten minutes; before a release)'
	@echo 'make playground  the page in which the simulator runs, target/playground/playground.html (a target of rustup)'
	@echo 'make crate  get the validator of RO-Crates that tests of archives use'
	@echo 'make axe    get what judges the accessibility of pages in tests (npm, and chromium for the tests)'
	@echo 'make kernel build the user-mode Linux of fidelity linux, unless there is one'
	@echo 'make worker-quiche build the worker program of quic@quiche/… (cmake, a C++ compiler, libclang), and the package to use it'
	@echo 'make worker-tquic  the same for quic@tquic/… and mpquic@tquic/… (cmake, a C++ compiler)'
	@echo 'make test-worker-quiche, make test-worker-tquic  tests and lints of a worker program and of what uses it'
	@echo 'make bench-paths  measure how fast files of traceroutes and lakes are read (1 GB of disk, some minutes)'
	@echo 'make fuzz   run every fuzz target for FUZZ_SECONDS seconds (a C++ compiler)'
	@echo 'make clean  remove .venv, target, results/demo and results/demo-paths'

demo: build
	@$(STEP) 'run the study' $(BIN)/haltere run $(STUDY) --replications $(DEMO_REPLICATIONS) --out $(DEMO_OUT)
	@$(STEP) 'write its report' $(BIN)/haltere report $(DEMO_OUT)

demo-paths: build
	$(BIN)/haltere paths ingest $(FIXTURE)/2006 --source ark --out $(DEMO_PATHS)/2006
	$(BIN)/haltere paths ingest $(FIXTURE)/2011 --source ark --out $(DEMO_PATHS)/2011
	$(BIN)/haltere run internet-paths --out $(DEMO_PATHS)/internet-paths
	$(BIN)/haltere report $(DEMO_PATHS)/internet-paths
	$(BIN)/haltere paths topology $(DEMO_PATHS)/2006 --against $(DEMO_PATHS)/2011 --out $(DEMO_PATHS)/links.csv
	$(BIN)/haltere paths compare $(DEMO_PATHS)/2006 $(DEMO_PATHS)/2011 $(DEMO_AS) --study internet-paths \
		--traces 500 --resample half --sources 5 --destinations 100 --out $(DEMO_PATHS)/ases
	$(BIN)/haltere paths changed $(DEMO_PATHS)/2006 $(DEMO_PATHS)/2011 $(DEMO_AS) --destination prefix \
		--out $(DEMO_PATHS)/ases/pairs.csv
	$(BIN)/haltere paths routes $(DEMO_PATHS)/2011 $(DEMO_AS) --k 3 --out $(DEMO_PATHS)/ases/routes.csv

test:
	@$(STEP) --begin
	@$(MAKE) checks || { $(STEP) --summary; echo 'make test: FAILED'; exit 1; }
	@$(STEP) --summary
	@echo 'make test: all passed'

checks: lint-rust playground-if-possible test-rust lint-python test-python docs

build: $(VENV)/core.stamp $(CHARTS) $(NODE)

playground: build
	@$(STEP) 'build the module of the playground' tools/playground
	@$(BIN)/python -m haltere.playground target/playground/playground.wasm target/playground/playground.html
	@echo 'playground: target/playground/playground.html'

# Where the compiler has no such target, tests of the playground are skipped.
playground-if-possible: build
	@$(STEP) 'build the module of the playground, if possible' tools/playground --if-possible

crate: $(CRATE)/stamp

axe: $(AXE)/stamp

kernel: build
	$(BIN)/haltere kernel build --if-missing

python/haltere/haltere-node: $(NODE_SOURCES) | need-tools
	@$(STEP) 'build the program inside kernels' env RUSTFLAGS='-C target-feature=+crt-static' CARGO_TARGET_DIR='$(CURDIR)/target/node' \
		cargo build --release --locked --quiet -p haltere-kernel --bin haltere-node --target $(NODE_TARGET)
	@install -m 755 target/node/$(NODE_TARGET)/release/haltere-node $@

worker-%: $(WORKER)-%
	@$(MAKE) build

.PRECIOUS: $(WORKER)-%
$(WORKER)-%: $(WORKER_SOURCES) | need-tools
	@echo 'building the worker program of $* (BoringSSL takes some minutes)'
	@$(WORKER_CARGO) build --release --locked --quiet --features $* || { echo 'a worker program needs cmake and a C++ compiler, that of' \
		'quiche libclang too (Debian: cmake g++ libclang-dev; or pip install libclang and LIBCLANG_PATH=.../clang/native)' >&2; exit 1; }
	@install -m 755 target/worker-$*/release/haltere-worker $@
	@rm -f $(VENV)/core.stamp

test-worker-%: $(WORKER)-% need-rust-lints
	$(WORKER_CARGO) fmt --check
	$(WORKER_CARGO) clippy --release --locked --all-targets --features $* --quiet -- -D warnings
	$(WORKER_CARGO) test --release --locked --features $* --quiet
	cargo clippy --locked -p haltere-stacks -p haltere-sim --features haltere-sim/worker --all-targets --quiet -- -D warnings
	HALTERE_WORKER_$(shell echo $* | tr a-z A-Z)='$(CURDIR)/$<' cargo test --locked -p haltere-stacks -p haltere-sim --features haltere-sim/worker --quiet --lib --test all worker_$*

need-tools:
	@command -v cargo >/dev/null || { echo 'haltere needs Rust 1.90 or newer (cargo is not on the PATH): install it from rustup.rs' >&2; exit 1; }
	@command -v cc >/dev/null || { echo 'haltere needs a C compiler for linking (cc is not on the PATH): install gcc or clang' >&2; exit 1; }
	@[ -n '$(PYTHON)' ] || { echo 'haltere needs Python 3.11 or newer (no python3 on the PATH is): install it or say make PYTHON=/path/to/python3' >&2; exit 1; }

need-rust-lints: need-tools
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || \
		{ echo 'make test needs rustfmt and clippy: rustup component add rustfmt clippy' >&2; exit 1; }

$(VENV)/bin/python: | need-tools
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo 'Python cannot make virtual environments: install its venv module (Debian: python3-venv)' >&2; exit 1; }

$(VENV)/run.stamp: requirements/run.txt | $(VENV)/bin/python
	@$(STEP) 'install $<' $(BIN)/pip install --quiet --no-compile --require-hashes -r requirements/run.txt
	@touch $@

$(VENV)/test.stamp: requirements/test.txt $(VENV)/run.stamp
	@$(STEP) 'install $<' $(BIN)/pip install --quiet --no-compile --require-hashes -r requirements/test.txt
	@touch $@

# The validator of RO-Crates wants an older rich than haltere, so that it has an environment of its own.
$(CRATE)/stamp: requirements/crate.txt | need-tools
	@$(PYTHON) -m venv $(CRATE)
	@$(STEP) 'install $<' $(CRATE)/bin/pip install --quiet --no-compile --require-hashes -r $<
	@touch $@

$(AXE)/stamp: requirements/axe/package-lock.json
	@command -v npm >/dev/null || { echo 'make axe needs npm: install Node.js' >&2; exit 1; }
	@mkdir -p $(AXE)
	@cp requirements/axe/package.json requirements/axe/package-lock.json $(AXE)
	@$(STEP) 'install $<' npm ci --silent --no-audit --no-fund --prefix $(AXE)
	@touch $@

$(VENV)/docs.stamp: requirements/docs.txt $(VENV)/run.stamp
	@$(STEP) 'install $<' $(BIN)/pip install --quiet --require-hashes -r requirements/docs.txt
	@touch $@

# The wheel has the script and not the 84 MB of vl-convert, which bundles it.
$(CHARTS): tools/charts.py $(VENV)/run.stamp
	@$(STEP) 'write the explorer'"'"'s charting library' $(BIN)/python $< $(@D)

$(VENV)/core.stamp: $(CORE_SOURCES) $(VENV)/run.stamp | need-tools
	@$(STEP) 'build the simulator' env VIRTUAL_ENV='$(CURDIR)/$(VENV)' PIP_QUIET=1 \
		$(BIN)/maturin develop --release --locked --quiet $(CORE_FEATURES)
	@touch $@

# Minutes of work; the figures belong in benches/README.md.
bench-paths: build
	$(BIN)/python benches/paths.py

# Real scamper traces two small Internets in virtual time: tests/data/paths/README.md.
fixture-paths: $(VENV)/test.stamp kernel
	PYTHONPATH=tools $(BIN)/python -m internet.make

lint-rust: need-rust-lints
	@$(STEP) rustfmt cargo fmt --all --check
	@$(STEP) 'lock files' bash -euo pipefail -c 'for one in fuzz crates/worker; do \
		cargo update --workspace --locked --quiet --manifest-path "$$one/Cargo.toml"; done'
	@$(STEP) clippy cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

test-rust: need-tools $(NODE)
	@$(STEP) 'build the Rust tests' cargo test --locked --workspace --quiet --no-run
	@$(STEP) 'Rust tests' cargo test --locked --workspace --quiet

fuzz: need-tools
	@$(STEP) 'fuzz' tools/fuzz $(FUZZ_SECONDS)

lint-python: $(VENV)/test.stamp build
	@$(STEP) 'ruff check' $(BIN)/ruff check python tools tests studies benches benches/instructions
	@$(STEP) 'ruff format' $(BIN)/ruff format --check python tools tests studies docs benches benches/instructions
	@$(STEP) mypy $(BIN)/mypy
	@$(STEP) lint-imports $(BIN)/lint-imports --no-logo --no-cache
	@$(STEP) words $(BIN)/python tools/words.py

test-python: $(VENV)/test.stamp $(CRATE)/stamp build
	@$(STEP) pytest $(BIN)/python -m pytest --numprocesses auto --dist loadscope -m 'not alone' --durations=25
	@$(STEP) 'pytest, one test at a time' $(BIN)/python -m pytest -m alone

docs: $(VENV)/docs.stamp build
	@$(STEP) 'build the site' env PYTHONPATH=tools $(BIN)/python -m pages.make target/site

pages: build
	@$(BIN)/haltere pages README.md docs studies --canary

studies: build
	@$(BIN)/python tools/studies.py $(STUDIES) --minutes $(or $(MINUTES),60) $(addprefix --fidelity ,$(FIDELITY))

gallery: build
	@$(STEP) 'run the shipped studies' env PYTHONPATH=tools $(BIN)/python -m pages.gallery

# Zig's linker takes an old glibc's symbols: the wheel installs wherever its dependencies' wheels do (manylinux_2_28).
wheel: $(VENV)/run.stamp $(CHARTS) $(NODE) | need-tools
	@$(STEP) 'install requirements/wheel.txt' $(BIN)/pip install --quiet --require-hashes -r requirements/wheel.txt
	@$(STEP) 'build the wheel' env VIRTUAL_ENV='$(CURDIR)/$(VENV)' PATH="$(CURDIR)/$(BIN):$$PATH" \
		maturin build --profile wheel --locked --quiet --zig --target $(shell uname -m)-unknown-linux-gnu --compatibility manylinux_2_28 --out dist
	@ls dist/*.whl

# As a release is made: nothing compiled before is used, and the wheel is tried in an environment that has nothing else.
fresh-wheel: $(VENV)/test.stamp
	rm -rf target/fresh-wheel dist
	@CARGO_TARGET_DIR='$(CURDIR)/target/fresh-wheel' $(MAKE) wheel
	@$(BIN)/python -m venv --clear target/fresh-wheel/bare
	@$(STEP) 'install the wheel alone, in at most 120 MB, and compare' bash -euo pipefail -c 'cd target/fresh-wheel && \
		before="$$(du -sm bare | cut -f 1)" && bare/bin/pip install --quiet ../../dist/*.whl && \
		[ "$$(( $$(du -sm bare | cut -f 1) - before ))" -le 120 ] && bare/bin/haltere compare tcp/cubic quic/cubic --size 50kB' >/dev/null
	@$(BIN)/python -m venv --clear target/fresh-wheel/venv
	@$(STEP) 'install the wheel from nothing' target/fresh-wheel/venv/bin/pip install --quiet "$$(echo dist/*.whl)[all]"
	@$(STEP) 'use it' bash -euo pipefail -c 'cd target/fresh-wheel && venv/bin/haltere new own && venv/bin/haltere run own && \
		venv/bin/haltere report results/own && venv/bin/haltere explore results/own && venv/bin/haltere run quic-dumbbell --replications 1' >/dev/null
	@$(STEP) 'the tests of wheels' env HALTERE_WHEEL="$$(ls dist/*.whl)" $(BIN)/python -m pytest -q tests/python/test_wheel.py

clean:
	rm -rf $(VENV) target $(CHARTS) $(NODE) $(WORKER) $(DEMO_OUT) $(DEMO_PATHS)
