# The two commands of the README: `make compare` and `make test`. Both work from a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Our own builds: warnings of the compiler are errors.
INSTALL := $(BIN)/python -m pip install --quiet --config-settings=cmake.define.HYPERLOCAL_WERROR=ON
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src cpp -type f -not -name '*.pyc')

.PHONY: compare test stub docs lint format clean

compare: $(VENV)/.installed
	$(BIN)/hyperlocal compare

test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 -q

stub: $(VENV)/.installed-test
	$(BIN)/python -m nanobind.stubgen -q -m hyperlocal._core_baseline -o src/hyperlocal/_core.pyi

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

lint: $(VENV)/.installed-dev
	$(BIN)/pre-commit run --all-files

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i cpp/*.hpp cpp/bindings/*.hpp cpp/bindings/*.cpp

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet '.[cli]'
	touch $@

$(VENV)/.installed-test: $(BIN)/python $(SOURCES)
	$(INSTALL) '.[test]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet '.[docs]'
	touch $@

$(VENV)/.installed-dev: $(BIN)/python $(SOURCES)
	$(INSTALL) '.[dev]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-test

clean:
	rm -rf $(VENV) build docs/_build docs/api docs/gallery docs/results
