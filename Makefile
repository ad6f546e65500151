# Every target makes the virtual environment itself, from the pinned versions, when it is missing.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CASCADEBAI := $(BIN)/cascadebai
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
JOBS ?= -1

.PHONY: help install smoke reproduce test test-long test-all long baseline golden figures tables tour verify bench house check check-lowest check-newest format clean

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## Make the virtual environment.

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,dask]'
	touch $@

smoke: $(STAMP) ## Sweep, fit and plot a small study in seconds.
	$(CASCADEBAI) sweep configs/smoke.yaml --n-jobs $(JOBS)
	$(CASCADEBAI) fit results/smoke
	$(CASCADEBAI) plot results/smoke

reproduce: $(STAMP) ## Reproduce the paper and write results/report.html; FAST=1 for all of it at a reduced size.
	$(BIN)/python -m experiments.reproduce $(if $(filter-out 0,$(FAST)),--fast) --n-jobs $(JOBS)

test: $(STAMP) ## Run the tests but for the long and slow ones, in 3 minutes on two idle cores.
	$(PYTEST) -m "not slow and not long"

test-long: $(STAMP) ## Run the tests that take over 0.8 seconds each, as CI does after the others.
	$(PYTEST) -m "long and not slow"

test-all: $(STAMP) ## Run all tests, and print what those that are not slow cover.
	$(PYTEST) -m "not slow" --cov
	$(PYTEST) -m slow

long: $(STAMP) ## Find anew which tests take over 0.8 seconds of processor time, and list them in tests/long.txt.
	LONG=write $(PYTEST) -m "not slow"

baseline: $(STAMP) ## Draw the pictures anew that the tests compare with; look at them before committing.
	rm -f tests/figures/baseline/*.png
	$(BIN)/python -m pytest tests/figures/test_pictures.py::test_picture --mpl-generate-path=tests/figures/baseline

golden: $(STAMP) ## Write anew what the tests hold of all that a user sees; look at the difference before committing.
	GOLDEN=write $(PYTEST) tests/integration/test_golden.py

figures: $(STAMP) ## Draw the pictures of docs anew; look at them before committing.
	$(BIN)/python -m experiments.figures

tables: $(STAMP) ## Write the numbers and tables of the documents, and the JSON Schemas.
	$(BIN)/python -m experiments.write_tables

tour: $(STAMP) ## Make the notebook experiments/tour.ipynb anew, and run it; look at it before committing.
	$(BIN)/python -m experiments.tour

verify: $(STAMP) ## Compare this code with results/reference: bit for bit, and by statistics with TRIALS fresh trials a cell.
	$(CASCADEBAI) verify --n-jobs $(JOBS) $(if $(TRIALS),--trials $(TRIALS))

bench: $(STAMP) ## Measure the engines; JSON goes to results/benchmark.json; AGAINST=commit for its numbers beside these.
	$(BIN)/python experiments/benchmark.py --json results/benchmark.json $(if $(AGAINST),--against $(AGAINST))

house: $(STAMP) ## Print the weight of the package: modules, lines, names, imports; AT=commit for that of a commit.
	@$(BIN)/python experiments/house.py $(PACKAGE) $(if $(AT),--at $(AT))

check: $(STAMP) ## Lint and check the types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check-lowest: ## Try the lowest versions that pyproject.toml allows, in a virtual environment of their own.
	$(PYTHON) .ci/lowest.py --venv $(VENV)-lowest

check-newest: ## Try the newest versions that there are today, in a virtual environment of their own.
	$(PYTHON) .ci/lowest.py --newest --venv $(VENV)-newest

format: $(STAMP) ## Format the code.
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

clean: ## Remove the virtual environment and caches; results stay.
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
