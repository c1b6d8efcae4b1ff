# make demo   a first look: MNIST with 300 labels, a report at the end
# make demo-photos, make demo-texts  the same with photographs (CIFAR-10) and with short messages (SMS spam)
# make test   lint, types, import contracts and all tests
# make docs   the documentation site, into build/site: open build/site/index.html
# make check-js  the types of the page's JavaScript, with npm; part of make test where npm is
# make test-lowest  the tests without a browser, with the lowest versions that pyproject.toml promises to work with
# make test PYTHON=python3.13 VENV=.venv-3.13  all tests with another Python
# make package-test  wheel and sdist in empty environments, with and without a C++ compiler (ten minutes)
# make bench  how fast it is, side by side with plain PyTorch, Keras and baal (half an hour; leave the machine alone)
# make bench-large FOLDER=...  one iteration over 60,000, 1 and 10 million samples on disk (8 GB in that folder; an hour)
# make bench-web  how long people wait for the labelling page, fifty at a time (two minutes; leave the machine alone)
# make bench-photos  how long a person who labels 10,000 photographs waits for questions and for the model (five minutes)
# make bench-items  how long a labelling project of a million items takes to make and to open, and an answer to save
# make bench-ray  a cluster on this machine: two workers against one, slowed networks, the model of the cost (half an hour)
# make compare  the default against plain methods on the data sets of docs/compare.md (hours; goes on where it was stopped)
# make slow   20,000 damaged files, 20,000 malformed requests, hundreds of kills, a cluster of Ray, the tests that are marked
#             slow, and what is missing of the paper's experiments in the quick tier (over two hours)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := .venv-lowest
LOWEST_READY := $(LOWEST)/.ready
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready
SOURCES := pyproject.toml constraints.txt hatch_build.py src/deepbass/__init__.py $(wildcard src/deepbass/learn/kernel/*pp)
PYTHON_IS_NEW := $(PYTHON) -c 'import sys; sys.exit("deepbass needs Python 3.11 or newer: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'

.PHONY: demo demo-photos demo-texts docs test test-lowest package-test check check-js bench bench-large bench-web bench-photos bench-items bench-ray compare slow clean

demo: $(READY)
	$(BIN)/deepbass run mnist

demo-photos: $(READY)
	$(BIN)/deepbass run cifar-10 --pool 3000

demo-texts: $(READY)
	$(BIN)/deepbass run sms-spam

docs: $(READY)
	$(BIN)/zensical build --strict

test: check
	$(BIN)/pytest -n 2 --dist worksteal

test-lowest: $(LOWEST_READY)
	$(LOWEST)/bin/pytest -n 2 --dist worksteal --ignore tests/browser

package-test: $(READY)
	$(BIN)/python tests/package/try_package.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@if command -v npm > /dev/null; then \
		$(MAKE) --no-print-directory check-js; \
	else case "$$CI" in \
		'' | 0 | false) echo "The types of the page's JavaScript were NOT checked: there is no npm on this machine.";; \
		*) echo "The types of the page's JavaScript cannot be checked: install npm." >&2; exit 1;; \
	esac; fi

check-js: node_modules/.ready
	npx --no-install tsc -p tsconfig.json

bench: $(BENCH_READY)
	cd benchmarks && ../$(BENCH)/bin/python -m speed

bench-large: $(READY)
	cd benchmarks && ../$(BIN)/python -m speed.large_iteration "$(abspath $(FOLDER))" --again
	cd benchmarks && ../$(BIN)/python -m speed.large_page

bench-web: $(READY)
	cd benchmarks && ../$(BIN)/python -m people.load

bench-photos: $(READY)
	cd benchmarks && ../$(BIN)/python -m people.photos

bench-items: $(READY)
	cd benchmarks && ../$(BIN)/python -m people.million && ../$(BIN)/python -m scale_page

bench-ray: $(READY)
	cd benchmarks && ../$(BIN)/python -m cluster && ../$(BIN)/python -m scale_page

compare: $(READY)
	$(BIN)/python experiments/compare_all.py

slow: $(READY)
	DEEPBASS_MUTANTS=20000 $(BIN)/pytest tests/laws/test_mutants.py --timeout 3600
	DEEPBASS_MALFORMED=20000 $(BIN)/pytest tests/web/test_malformed.py --timeout 3600
	DEEPBASS_KILLS=300 $(BIN)/pytest tests/web/test_server_kill.py tests/store/test_crashes.py tests/label/test_journal_kill.py --timeout 3600
	DEEPBASS_SEEDS=10 $(BIN)/pytest tests/laws/test_kill.py tests/laws/test_trainer_kill.py --timeout 3600
	DEEPBASS_SLOW=1 $(BIN)/pytest tests/cluster tests/test_estimator.py --timeout 3600
	DEEPBASS_SLOW=1 $(BIN)/pytest -m slow --ignore tests/cluster --timeout 3600
	$(BIN)/deepbass reproduce toy --tier full --workers 2 --out results/paper
	$(BIN)/deepbass reproduce all --workers 2 --out results/paper
	$(BIN)/python experiments/results_page.py

clean:
	rm -rf $(VENV) $(LOWEST) $(BENCH) build/site .cache node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): $(SOURCES)
	$(PYTHON_IS_NEW)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

node_modules/.ready: package.json package-lock.json
	npm ci --silent
	touch $@

$(LOWEST_READY): $(SOURCES) constraints-lowest.txt
	$(PYTHON_IS_NEW)
	$(PYTHON) -m venv $(LOWEST)
	awk -F== 'NR == FNR { print; lowest[$$1]; next } !($$1 in lowest)' constraints-lowest.txt constraints.txt > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable '.[test]'
	touch $(LOWEST_READY)

$(BENCH_READY): $(SOURCES)
	$(PYTHON_IS_NEW)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $(BENCH_READY)
