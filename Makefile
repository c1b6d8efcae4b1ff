# make demo   a first look: MNIST with 300 labels, a report at the end
# make test   lint, types, import contracts and all tests
# make bench  how fast it is, side by side with plain PyTorch, Keras and baal (half an hour; leave the machine alone)
# make bench-web  how long people wait for the labelling page, fifty at a time (two minutes; leave the machine alone)
# make slow   hundreds of kills, and the paper's experiments in the quick tier, what is missing of them (over two hours)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready
SOURCES := pyproject.toml constraints.txt hatch_build.py $(wildcard src/deepbass/learn/kernel/*pp)
PYTHON_IS_NEW := $(PYTHON) -c 'import sys; sys.exit("deepbass needs Python 3.11 or newer: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'

.PHONY: demo test check bench bench-web slow clean

demo: $(READY)
	$(BIN)/deepbass run mnist --preset quick

test: check
	$(BIN)/pytest -n 2 --dist worksteal

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(BENCH_READY)
	cd benchmarks && ../$(BENCH)/bin/python -m speed

bench-web: $(READY)
	cd benchmarks && ../$(BIN)/python -m people.load

slow: $(READY)
	DEEPBASS_KILLS=300 $(BIN)/pytest tests/web/test_server_kill.py --timeout 1800
	$(BIN)/deepbass reproduce toy --tier full --workers 2 --out results/paper
	$(BIN)/deepbass reproduce all --workers 2 --out results/paper
	$(BIN)/python benchmarks/results_page.py

clean:
	rm -rf $(VENV) $(BENCH) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): $(SOURCES)
	$(PYTHON_IS_NEW)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

$(BENCH_READY): $(SOURCES)
	$(PYTHON_IS_NEW)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $(BENCH_READY)
