# The two commands of the README and the few that a contributor types.

BUILD := build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
SERVE_FLAGS ?=
QUIRE := $(BUILD)/release/quire

.PHONY: venv help chat serve build model test test-slow check check-all bench format install clean deps-build deps-test deps-check deps-bench

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

chat: build model ## build, get the default model and ask it a question
	$(QUIRE) chat -p "What is the capital of France?"

serve: build model ## build, get the default model and serve it at http://127.0.0.1:8000
	$(QUIRE) serve $(SERVE_FLAGS)

build: deps-build ## the release binary, build/release/quire
	@cmake --preset release $(CMAKE_QUIET)
	@cmake --build --preset release -j $(JOBS)

model: ## get the default model into ~/.cache/quire/models
	@tools/get_model.sh

test: deps-test model venv ## build the dev preset and run its tests
	@cmake --preset dev $(CMAKE_QUIET)
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset dev -j $(JOBS)

venv: ## the Python packages of the client tests, into build/venv
	@tools/make_venv.sh $(BUILD)/venv tests/e2e/server/requirements.txt

test-slow: test ## the long tests too: full batch invariance, property tests, stress
	@ctest --test-dir $(BUILD)/dev -L slow -j 1 --output-on-failure

check: deps-check ## format, layers, headers, tidy, asan, tsan
	@tools/check.sh

check-all: deps-check ## those and fuzzing, the clang and arm64 builds
	@tools/check.sh all

bench: deps-bench build model ## the benchmark programs, against the limits of this machine
	@tools/bench.sh

format: ## format every source in place
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

install: build ## install under $(DESTDIR)$(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)/release --prefix $(PREFIX) --strip

clean: ## remove build/
	rm -rf $(BUILD)

deps-build deps-test deps-check deps-bench:
	@tools/deps.sh $(@:deps-%=%)

CMAKE_QUIET := --log-level=WARNING
