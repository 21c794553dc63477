# Every target sets itself up in .venv; the second run is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-portable coverage test-long test-faults test-kernels test-without-kernels test-oracle test-rl test-browser explorer-pictures bench-quick bench fuzz paper lint format clean release-check docs test-docs

help: ## what can be made here
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-14s %s\n", $$1, $$2}'

KERNELS := $(wildcard dp_cmdp/_src/cmdp/solvers/kernels/*.[ch])

$(STAMP): pyproject.toml constraints.txt hatch_build.py $(KERNELS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP) ## the main job: a private, certainly safe policy, played and drawn
	$(BIN)/python examples/hazard_grid.py --out out/demo --compare

test: $(STAMP) ## the tests
	$(BIN)/python -m pytest -n 2 -q

test-portable: $(STAMP) ## the tests under settings that differ from machine to machine, and a table (hours; goes on where it was stopped)
	$(BIN)/python .ci/portable.py

coverage: $(STAMP) ## the tests, with the share of lines they run; fails below the floor in pyproject.toml
	$(BIN)/python -m pytest -n 2 -q --cov --cov-report=term:skip-covered

test-long: $(STAMP) ## the tests that take minutes, and new examples for the property tests
	$(BIN)/python -m pytest -n 2 -q -m long
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -n 2 -q tests/base tests/data tests/kernel tests/accounting tests/checking

test-faults: $(STAMP) ## faults where promises are kept: each must be caught by a test
	$(BIN)/python -m tests.faults.run

test-kernels: $(STAMP) ## the compiled solver's tests with sanitizers; then gcc and clang, -O1 to -O3, with and without FMA
	CFLAGS="-g -O1 -fsanitize=address,undefined" $(BIN)/python dp_cmdp/_src/cmdp/solvers/kernels/build.py
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
		$(BIN)/python -m pytest -q -s tests/cmdp/test_kernels.py tests/cmdp/test_solvers.py; status=$$?; \
		$(BIN)/python dp_cmdp/_src/cmdp/solvers/kernels/build.py; exit $$status
	$(BIN)/python -m pytest -q -m compilers tests/cmdp

test-without-kernels: $(STAMP) ## the CMDP tests that must hold without the compiled kernels
	DP_CMDP_WITHOUT_KERNELS=1 $(BIN)/python -m pytest -n 2 -q -m "not kernels and not long and not oracle" tests/cmdp tests/release tests/kernel

test-oracle: $(STAMP) ## the tests against optional peer libraries
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[oracle]'
	$(BIN)/python -m pytest -q -m oracle

# MASA asks for TensorFlow, JAX and an older Pillow, which its learners need and its environments do not
test-rl: $(STAMP) ## the tests with libraries of learners (downloads torch)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[rl]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps masa-safe-rl==0.3.6
	$(BIN)/python -m pytest -q -m rl

test-browser: $(STAMP) ## the explorer in Debian's Chromium, which it installs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[browser]'
	command -v chromium >/dev/null || (apt-get update && apt-get install --yes chromium)
	$(BIN)/python -m pytest -q -m browser

explorer-pictures: $(STAMP) ## the pictures of docs/explorer.md, drawn anew in Chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[browser]'
	command -v chromium >/dev/null || (apt-get update && apt-get install --yes chromium)
	$(BIN)/python -m tests.browser.pictures docs

docs: $(STAMP) ## this documentation as pages to read in a browser: out/docs/index.html
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --jobs auto --doctree-dir out/doctrees --quiet docs out/docs
	@echo out/docs/index.html

test-docs: $(STAMP) ## every code block of README and docs, from an installed wheel in an empty folder
	rm -rf out/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir out/wheel .
	$(BIN)/python -m venv out/wheel/venv
	out/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$$(echo out/wheel/*.whl)[all]"
	out/wheel/venv/bin/python -P -c 'import dp_cmdp; print(dp_cmdp.__file__)'
	PAGES_PYTHON=out/wheel/venv/bin/python $(BIN)/python -m pytest -q tests/docs/test_pages.py

bench-quick: $(STAMP) ## a sample of every family of models against peer libraries, in five minutes
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[peers]'
	@$(BIN)/python benchmarks/run.py --quick

bench: $(STAMP) ## the benchmarks in full, up to a million states (hours; goes on where it was stopped)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[peers]'
	@$(BIN)/python benchmarks/run.py

fuzz: $(STAMP) ## 50,000 random CMDPs against exact rationals and HiGHS (hours; goes on where it was stopped)
	@$(BIN)/python -m benchmarks.fuzz --problems 50000

paper: $(STAMP) ## the tables and figures of the paper and our studies, from few draws
	$(BIN)/python -m paper all --quick

lint: $(STAMP) ## ruff (lint and format), import-linter, numpydoc and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python .ci/docstrings.py
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

release-check: $(STAMP) ## build, install and try as a user would, on every Python here; a quarter of an hour or more
	$(BIN)/python .ci/release_check.py

clean: ## remove the environment and what was written
	rm -rf $(VENV) out .pytest_cache .ruff_cache .hypothesis
