# make demo   a first look: MNIST with 300 labels, a report at the end
# make test   lint, types, import contracts and all tests
# make slow   the paper's first numbers, over several seeds (an hour on two cores)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check slow clean

demo: $(READY)
	$(BIN)/deepbass run mnist --preset quick

test: check
	$(BIN)/pytest -n 2 --dist worksteal

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

slow: $(READY)
	$(BIN)/python benchmarks/paper_numbers.py
	$(BIN)/python benchmarks/quick_preset.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): pyproject.toml constraints.txt hatch_build.py $(wildcard src/deepbass/learn/kernel/*pp)
	$(PYTHON) -c 'import sys; sys.exit("deepbass needs Python 3.11 or newer: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)
