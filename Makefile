# SPDX-License-Identifier: Apache-2.0
# The two commands of a newcomer are `make demo` and `make test`. Each installs first what is missing (scripts/setup.py).
# The work is done by CMake (CMakePresets.json) and by scripts/; this file only names it.
PYTHON ?= python3
JOBS ?= $(shell nproc)
SHELL := bash
env := . .deps/env.sh &&

.PHONY: help setup build demo test bench check tidy docs sanitize clean
.DEFAULT_GOAL := help

help:  ## This list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup:  ## Install what is missing: Debian packages by name, Python packages into .venv
	@$(PYTHON) scripts/setup.py

build: setup  ## Build everything into build/
	@$(env) python scripts/build.py release -j $(JOBS)

demo: build  ## Run examples/fused_gemm.py: a fused GEMM, checked and timed beside PyTorch
	@$(env) python examples/fused_gemm.py

test: build  ## Run every test (GoogleTest, also sanitized; lit; pytest) and every check; one summary line
	@$(env) python scripts/build.py sanitized -j $(JOBS)
	@$(env) python scripts/run_tests.py -j $(JOBS)

bench: build  ## Measure, beside the peers: a table, and build/bench/results.json
	@$(env) python benchmarks/run.py

check: setup  ## Format, lint, types, layering, sizes, names, messages, docs (clang-tidy: changed files)
	@$(env) python scripts/check.py --tidy -j $(JOBS)

tidy: build  ## Format all C++ and Python in place; clang-tidy over all C++ (long)
	@$(env) python scripts/check.py --fix --tidy --all -j $(JOBS)

docs: build  ## Generate the reference of the language, ops and passes into build/docs
	@$(env) python scripts/make_docs.py

sanitize: setup  ## All GoogleTests and lit tests under the address and undefined-behaviour sanitizers
	@$(env) python scripts/build.py asan -j $(JOBS)
	@$(env) python scripts/run_tests.py -j $(JOBS) --build build-asan --only ctest,lit

clean:  ## Remove what was built (.venv and .deps stay)
	rm -rf build build-asan build-sanitized
