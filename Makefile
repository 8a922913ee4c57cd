# SPDX-License-Identifier: MIT
# The few commands that people type. The work is done by CMake presets and scripts/.
#   make serve [ARGS="DIR -p PORT"]   make build   make dist   make format   make clean
#   make test [ALL=1]: all tests with Clang, then with GCC those of rooms that changed (ALL=1: all)
#   make hunt [MINUTES=60] [ARGS="--json ROW..."]: generated tests, for as long as you say
#   make bench [SUITE=fiber]   make bench-http [ARGS=--brief]   make profile
#   make papers [BRIEF=1] [ARGS="--compare OLD"]: what the five papers measured, in docs/papers/
JOBS ?= $(shell nproc)
SUITE ?=
MINUTES ?= 10
serve_args = $(or $(ARGS),examples/site)
say = @printf 'make: %s\n'
quiet_configure = cmake --preset $(1) --log-level=WARNING >/dev/null

.PHONY: help build serve dist test hunt bench bench-http papers profile format clean
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

# Not optimized as a whole, which takes minutes: that is `make dist`.
build: setup-build
	$(say) "building build/serve/bin/heddle with Clang, without profiles (make dist uses them)"
	@$(call quiet_configure,serve)
	@cmake --build --preset serve -j $(JOBS) --target heddle_cli

serve: build
	$(say) "running heddle serve $(serve_args); Ctrl-C stops"
	@build/serve/bin/heddle serve $(serve_args)

# What is released and measured: laid out by profiles, handlers merged, linked as a whole.
dist: setup-build
	$(say) "building programs and libraries in build/dist, optimized by their profiles"
	@$(call quiet_configure,dist)
	@cmake --build --preset dist -j $(JOBS) --target heddle_cli heddle_tame_program heddle_libraries
	$(say) "built; cmake --install build/dist --prefix /usr/local installs them"

test: setup-test
	$(say) "testing with Clang, then with GCC $(if $(ALL),everything,the rooms changed since .ci/base)"
	@JOBS=$(JOBS) scripts/check release
	@JOBS=$(JOBS) scripts/check gcc $(if $(ALL),,--since base)

hunt: setup-test
	$(say) "running the generated tests of tests/hunt.toml for about $(MINUTES) minutes"
	@scripts/hunt --minutes $(MINUTES) $(ARGS)

# What is released is measured; a brief run only shows that all works, and takes the tests' build.
bench_preset = $(if $(filter 1,$(BRIEF)),release,dist)
bench: setup-bench
	$(say) "measuring $(or $(SUITE),all suites) of build/$(bench_preset); see build/bench/figures.json"
	@$(call quiet_configure,$(bench_preset)) -DHEDDLE_BENCH=ON
	@cmake --build --preset $(bench_preset) -j $(JOBS) --target benches heddle_cli examples
	@HEDDLE_BENCH_PRESET=$(bench_preset) scripts/bench $(SUITE)

# What the five papers measured, measured here: writes docs/papers/. A brief run takes 8 minutes.
papers: setup-bench
	$(say) "measuring the papers' figures with build/$(bench_preset); pages go to docs/papers/"
	@$(call quiet_configure,$(bench_preset)) -DHEDDLE_BENCH=ON
	@cmake --build --preset $(bench_preset) -j $(JOBS) --target benches heddle_cli examples
	@HEDDLE_BENCH_PRESET=$(bench_preset) scripts/papers $(ARGS)

# Heddle beside nginx, lighttpd, Apache, h2o, hyper, monoio, Beast and Go: some 20 minutes.
bench-http: setup-bench
	$(say) "measuring suite http; figures go to build/bench/figures.json"
	@$(call quiet_configure,dist)
	@cmake --build --preset dist -j $(JOBS) --target heddle_cli example_echo
	@scripts/bench http $(ARGS)

# What handlers `heddle serve` runs, for `make dist` from now on: src/serve/serve.*.prof.
profile: setup-test
	@scripts/profile_serve $(ARGS)

format: setup-test
	$(say) "laying out C++ and C with clang-format"
	@git ls-files -co --exclude-standard '*.cc' '*.hh' '*.c' '*.h' | xargs -r clang-format-19 -i

clean:
	$(say) "removing build/"
	@rm -rf build
