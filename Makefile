# SPDX-License-Identifier: MIT
# The few commands that people type. The work is done by CMake presets and scripts/.
#   make serve [ARGS="DIR -p PORT"]   make build   make test   make bench [SUITE=core]
#   make bench-http [ARGS=--brief]   make profile   make format   make clean
JOBS ?= $(shell nproc)
SUITE ?=
serve_args = $(or $(ARGS),examples/site)
say = @printf 'make: %s\n'
quiet_configure = cmake --preset $(1) --log-level=WARNING >/dev/null

.PHONY: help build serve test bench bench-http profile format clean
.PHONY: setup-build setup-test setup-bench

help:
	@sed -n 's/^#  //p' Makefile

setup-build:
	@scripts/setup build

setup-test:
	@scripts/setup test

# A brief run is to see that everything works: it goes without the large peers.
setup-bench:
	@scripts/setup $(if $(filter 1,$(BRIEF)),bench,peers)

build: setup-build
	$(say) "building build/release/bin/heddle with Clang"
	@$(call quiet_configure,release)
	@cmake --build --preset release -j $(JOBS) --target heddle_cli

serve: build
	$(say) "running heddle serve $(serve_args); Ctrl-C stops"
	@build/release/bin/heddle serve $(serve_args)

test: setup-test
	@JOBS=$(JOBS) scripts/check release gcc

bench: setup-bench
	$(say) "measuring $(or $(SUITE),all suites); figures go to build/bench/figures.json"
	@$(call quiet_configure,release) -DHEDDLE_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target benches heddle_cli examples
	@scripts/bench $(SUITE)

# Heddle beside nginx, lighttpd, Apache, h2o, hyper, monoio, Beast and Go: some 20 minutes.
bench-http: setup-bench
	$(say) "measuring suite http; figures go to build/bench/figures.json, plots to build/bench/plots"
	@$(call quiet_configure,release)
	@cmake --build --preset release -j $(JOBS) --target heddle_cli example_echo
	@scripts/bench http --svg $(ARGS)

# What handlers `heddle serve` runs, for builds from now on: src/serve/serve.*.prof.
profile: setup-test
	@scripts/profile_serve $(ARGS)

format: setup-test
	$(say) "laying out C++ and C with clang-format"
	@git ls-files -co --exclude-standard '*.cc' '*.hh' '*.c' '*.h' | xargs -r clang-format-19 -i

clean:
	$(say) "removing build/"
	@rm -rf build
