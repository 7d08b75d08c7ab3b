# Every target makes the environment it needs: `make demo` works on a machine that has
# only Python (3.11 or later), pip, venv and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

export MPLBACKEND = Agg
# Where no bytecode may be written, every process compiles all sources again, and every worker of
# pytest rewrites all tests: 14 of the 20 CPU seconds in which it collects them.
export PYTHONDONTWRITEBYTECODE =

# What is imported compiles itself then: a third of what pip would compile.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: help demo demo-dask test test-all page-tools test-page test-digits test-random test-triples test-bench test-lowest \
	test-newest test-some test-torch doctest lint types format build release-check manifests test-wheel doc bench figures figures-tonight environments newest-environment clean
.NOTPARALLEL:

help:
	@echo "make demo    fair clusterings and classifiers beside plain ones, as tables and pictures"
	@echo "make demo-dask  the same of ten million people in files, by a cluster of two workers"
	@echo "make test    the tests without the slow ones, with the docstrings' examples"
	@echo "make test-all  the whole test suite, slow tests included"
	@echo "make test-digits  what test-newest leaves of quick tests that compute, and the guide"
	@echo "make test-page  interactive reports, driven in headless Chromium"
	@echo "make test-random  tests of random examples, on others in every run"
	@echo "make test-triples  fits that have all triples of settings, each again after a change"
	@echo "make test-bench  every benchmark at its smallest size, beside the packages that it compares with, their models, and ONNX"
	@echo "make test-lowest  the tests without the slow ones, with the lowest versions that pyproject.toml allows"
	@echo "make test-newest  a selection, with the newest other Python and the newest dependencies"
	@echo "make test-torch  the tests of skfair.torch, in an environment with PyTorch"
	@echo "make doctest every example of the documentation"
	@echo "make lint    style, formatting and types, checked"
	@echo "make types   the type hints, checked by mypy"
	@echo "make format  style and formatting, repaired"
	@echo "make build   sdist and wheel, in dist"
	@echo "make test-wheel  the wheel, installed outside the checkout, and tests that run against it"
	@echo "make release-check  changelog, version, citation and tag, then build, test-wheel and manifests"
	@echo "make manifests  a conda recipe and a bill of materials (SBOM), in build/manifests"
	@echo "make doc     the documentation, in doc/_build/html"
	@echo "make bench   the paper's tables beside ours"
	@echo "make figures NAMES=...  run benchmarks in full, and put their figures into the pages"
	@echo "make figures-tonight  the same of a seventh of the benchmarks, and what it changes"
	@echo "make clean   remove the environment and everything that was built"

demo: $(VENV)/.has-plot
	$(BIN)/python examples/demo.py

demo-dask: $(VENV)/.has-dask
	$(BIN)/python examples/demo_dask.py $(SAMPLES)

# One worker per core, each with one thread of its own: libraries that start threads in every
# worker would get in one another's way.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

test: $(VENV)/.has-test
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.has-test
	$(PYTEST) --hypothesis-profile=thorough
	NUMBA_DISABLE_JIT=1 $(PYTEST) --hypothesis-profile=thorough tests/kernels

# Tests that read sources and pages alone compute nothing.
TEXTS := examples $(patsubst %,test_%.py,changelog covering documented_names guide_pages layers layout \
	manifests mirror moving names newest project_files rate_clients release surface typing versions_added words)

# With the same kernels test-newest runs the SELECTION, if there is another Python.
test-digits: $(VENV)/.has-test
	$(PYTEST) -m "not slow" tests skfair $(wildcard doc/*.rst) $(addprefix --ignore=tests/, \
		$(TEXTS) $(if $(shell $(BIN)/python tests/newest.py),$(SELECTION)))

# Chromium is a program of the system. That of Debian is installed where none is found.
page-tools: $(VENV)/.has-test
	@$(BIN)/python -c 'import sys; from tests.browser.chromium import find_browser; sys.exit(not find_browser())' || \
		{ apt-get -qq update && apt-get -qq -y install chromium; } || { \
		echo "Chromium is needed (Debian: apt install chromium)." >&2; \
		exit 1; }

test-page: page-tools
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile \
		tests/browser/drive_interactive.py

test-random: $(VENV)/.has-test
	$(PYTEST) --hypothesis-profile=random -m hypothesis

# No name of a test: all rows take too long for the other targets.
test-triples: $(VENV)/.has-test
	$(PYTEST) tests/triples.py tests/regression_triples.py tests/front_triples.py

# The packages that benchmarks compare with bound the versions of others: an environment of its own.
BENCH := .venv-bench

test-bench: $(BENCH)/.installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BENCH)/bin/python -m pytest -n auto --dist worksteal \
		tests/benchmarks/test_benchmarks.py tests/classification/test_constrained_cv_any_model_columns.py \
		tests/postprocessing/test_base_loss.py tests/regression/test_rule_losses.py \
		tests/postprocessing/test_query_rankers.py tests/classification/test_classification_onnx.py \
		tests/test_export.py

# Old versions warn of one another, and know no callbacks: the tests that need these are skipped.
# LOWEST_TESTS names some files and folders of tests alone.
LOWEST := .venv-lowest
LOWEST_TESTS := tests

test-lowest: $(LOWEST)/.installed
	NUMBA_CACHE_DIR=$(LOWEST)/numba OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(LOWEST)/bin/python -W ignore::DeprecationWarning -m pytest -W ignore::DeprecationWarning \
		-p no:cacheprovider -n auto -m "not slow" $(LOWEST_TESTS)

# Of what depends on the versions of Python and of other packages, as much as takes two minutes.
SELECTION := test_common.py test_registries.py commands/test_audit_report.py bound constraints solvers \
	$(addprefix classification/test_,constrained_cv.py constrained_cv_classes.py classifiers_erm.py \
		classifiers_erm_mixed.py classifiers_partial_parity_input.py) \
	$(addprefix cluster/,kmeans/test_fair_kmeans.py kmeans/test_fair_kmeans_input.py \
		spectral/test_fair_spectral.py spectral/test_fair_spectral_input.py)
NEWEST := .venv-newest

test-newest: GOAL := test-some
newest-environment: GOAL := $(NEWEST)/.has-test

test-newest newest-environment: $(BIN)/python
	@newest=$$($(BIN)/python tests/newest.py); \
	if [ -z "$$newest" ]; then echo "No other Python that is supported was found."; exit; fi; \
	echo "$(GOAL) with $$($$newest -V), $$newest"; \
	if [ "$$($(NEWEST)/bin/python -V 2>&1)" != "$$($$newest -V)" ]; then rm -rf $(NEWEST); fi; \
	$(MAKE) --no-print-directory VENV=$(NEWEST) PYTHON=$$newest $(GOAL)

# PyTorch is large, hence an environment of its own; TORCH names another version or file.
TORCH_VENV := .venv-torch
TORCH ?= torch

test-torch: $(TORCH_VENV)/.installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(TORCH_VENV)/bin/python -m pytest -n auto --dist worksteal \
		tests/torch skfair/torch doc/networks.rst \
		"tests/test_first_examples.py::test_the_first_example_runs_in_a_fresh_process[networks]"

test-some: $(VENV)/.has-test
	$(PYTEST) -m "not slow" $(addprefix tests/,$(SELECTION))

doctest: $(VENV)/.has-test
	$(PYTEST) $(wildcard doc/*.rst) skfair tests/test_readme.py

lint: types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.has-test
	$(BIN)/mypy

format: $(VENV)/.has-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The wheel is made from the sdist, so that whatever the wheel shows holds for the sdist.
build: $(VENV)/.has-release
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

# The tests are copied out of the checkout: no source of the package lies beside them.
# What a person has to fill in is printed first, and fails at the end: the rest is checked before.
release-check: $(BIN)/python
	@$(BIN)/python tests/release.py || echo "The distribution is checked all the same."
	$(MAKE) --no-print-directory test-wheel manifests
	$(BIN)/python tests/release.py

# From the metadata of what is built; packaging comes with build.
manifests: build
	$(BIN)/python tests/manifests.py

test-wheel: build
	tests/wheel.sh $(PYTHON) dist/skfair_estimators-*-py3-none-any.whl

# All pages are written (-a): a search lists the entries of the index of written pages alone.
doc: $(VENV)/.has-doc
	# A page of a name that is gone would stay, and figures that an earlier state of skfair drew.
	rm -rf doc/api/generated doc/gallery doc/_build/html/api doc/_build/html/gallery
	$(BIN)/python -m sphinx -a -j auto -W --keep-going -b html doc doc/_build/html
	$(BIN)/python doc/widths.py
	$(BIN)/python doc/searches.py
	@echo "The documentation is in doc/_build/html/index.html"

figures: $(BENCH)/.installed
	$(BENCH)/bin/python doc/printed.py run $(NAMES)
	$(BENCH)/bin/python doc/printed.py write
	git diff --stat

figures-tonight: $(BENCH)/.installed
	$(MAKE) figures NAMES="$$($(BENCH)/bin/python doc/printed.py tonight)"
	git diff -- '*.rst' '*.md' '*.py'

bench: $(VENV)/.has-bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(BENCH) $(LOWEST) $(NEWEST) $(TORCH_VENV) build dist demo *.egg-info doc/_build doc/api/generated doc/gallery doc/metrics_table.rst doc/papers_table.rst doc/tasks_table.rst doc/changelog.rst doc/layout.svg
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Those of .ci/run beside $(VENV), one after the other.
environments: $(BENCH)/.installed $(LOWEST)/.installed newest-environment $(TORCH_VENV)/.installed

# $(VENV)/.has-NAME: the package with its extra NAME is installed in the environment.
# An empty file that is newer than pyproject.toml says so, hence a second run is fast.
$(VENV)/.has-%: pyproject.toml | $(BIN)/python
	@echo "Installing skfair[$*] into $(VENV) ..."
	@$(BIN)/python $(INSTALL) --editable ".[$*]" || { \
		echo "Could not install skfair[$*]: pip's message is above (is a package index reachable?)." >&2; \
		exit 1; }
	@touch $@

$(LOWEST)/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python $(INSTALL) uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable ".[test]"
	@touch $@

$(BENCH)/.installed: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(INSTALL) --editable ".[bench,test]"
	@touch $@

$(TORCH_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(TORCH_VENV)
	@pip="$(TORCH_VENV)/bin/python $(INSTALL)"; \
	$$pip "$(TORCH)" && $$pip --editable ".[torch,torch-peers,test]" || { \
		echo "PyTorch and what its tests need could not be installed, so skfair.torch was not tested." \
			"Connect to a package index, or pass the file of a wheel: make test-torch TORCH=torch.whl" >&2; \
		exit 1; }
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "skfair needs Python 3.11 or later, but '$(PYTHON)' is not one." \
			"Name another: make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); \
		echo "Could not create $(VENV): Python's venv module is needed" \
			"(Debian and Ubuntu: apt install python3-venv)." >&2; \
		exit 1; }
