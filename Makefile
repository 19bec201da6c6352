# `make` alone explains itself. Everything is installed into .venv; nothing outside this folder is changed.

PYTHON ?= python3
ARGS   ?=

VENV := .venv
BIN  := $(VENV)/bin
UV   := $(BIN)/uv pip install --python $(BIN)/python --quiet

# Files are not divided among workers: what is set up for one, such as the verdicts on a catalogue, is set up once.
# The tests wait for processes a third of their time: one worker more than there are processors keeps these busy.
# A skipped test is a failed one where nobody reads the output.
WORKERS := $(shell expr $$(nproc) + 1)
PYTEST := PYTHONPATH=tests/support $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
  $(if $(CI),-p no_silent_skips)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint typecheck bench eval-implement eval-repair eval-verdict docs recordings clean

help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo '  Options: PYTHON=python3.12 (which interpreter), ARGS="-k sandbox" (passed on to pytest and to the benchmarks)'

setup: $(VENV)/.installed-dev ## Install the package and its development tools into .venv

demo: $(VENV)/.installed ## Watch a prompt and a data file become tested code (no key, no account)
	@$(BIN)/python workflows/demo.py

test: $(VENV)/.installed-dev ## Run the tests
	@$(PYTEST) $(ARGS)

lint: $(VENV)/.installed-dev ## Check style and format with ruff
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

typecheck: $(VENV)/.installed-dev ## Check the types with mypy, strictly
	@$(BIN)/mypy

bench: $(VENV)/.installed-dev ## Measure against the peer, and the sandbox; the first run installs the peer into benchmarks/.peer
	@PYTHONPATH=tests/support $(BIN)/python -m benchmarks.run $(ARGS)

eval-implement: $(VENV)/.installed-dev ## Hold a cascade of models against the strongest alone, on HumanEval; recorded replies without ARGS
	@$(BIN)/python -m benchmarks.implement.run $(ARGS)

docs: $(VENV)/.installed-dev ## Build the documents into build/site, every link checked (takes Chromium for the pictures)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo 'Open build/site/index.html'

eval-repair: $(VENV)/.installed-dev ## Repair forty seeded bugs: which causes in how many calls; recorded replies without ARGS
	@$(BIN)/python -m benchmarks.repair.run $(ARGS)

eval-verdict: $(VENV)/.installed-dev ## Hold strength, verdicts and confidence against jobs whose right and wrong solutions are known
	@PYTHONPATH=tests/support $(BIN)/python -m benchmarks.verdict $(ARGS)

recordings: $(VENV)/.installed-dev ## Rewrite the recorded model replies of the demo and the tests
	@PYTHONPATH=. $(BIN)/python tests/support/record_weather.py
	@PYTHONPATH=. $(BIN)/python tests/support/record_implement.py
	@PYTHONPATH=. $(BIN)/python tests/support/record_repair.py

clean: ## Remove .venv, the benchmark's environments, the built documents and every cache of the tools
	@rm -rf $(VENV) benchmarks/.peer build/site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.installed: pyproject.toml | $(BIN)/uv
	@echo 'Installing the package into $(VENV); once, and again when pyproject.toml changes'
	@$(UV) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/uv
	@echo 'Installing the package and its development tools into $(VENV); once, and again when pyproject.toml changes'
	@$(UV) --editable . --group dev
	@touch $@ $(VENV)/.installed

# Debian leaves ensurepip out of its Python: a pip that is there already does the same job.
$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo '$(PYTHON) is missing or older than 3.10. Name another one: make PYTHON=python3.11 ...'; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(PYTHON) -m pip --version >/dev/null 2>&1 || { \
	  echo 'This Python can make no virtual environment. Install what is missing: apt-get install python3-venv'; exit 1; }
	@$(PYTHON) -m venv $(VENV) --clear --without-pip
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; \
	  then $(BIN)/python -m ensurepip >/dev/null && $(BIN)/python -m pip install --quiet uv; \
	  else $(PYTHON) -m pip --python $(BIN)/python install --quiet uv; fi
