# The two commands of the README: `make compare` and `make test`. Both work from a fresh clone. The
# workflows in .github call targets of this file and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Our own builds: warnings of the compiler are errors.
INSTALL := $(BIN)/python -m pip install --quiet --config-settings=cmake.define.HYPERLOCAL_WERROR=ON
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src cpp -type f -not -name '*.pyc')

.PHONY: benchmarks compare fuzz test test-data test-lowest test-nightly test-free-threaded test-wheel sanitize \
  sanitize-threads stub docs lint format clean

compare: $(VENV)/.installed
	$(BIN)/hyperlocal compare

test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 -q

# The real benchmark sets, in the folder that HYPERLOCAL_DATA names.
test-data: $(VENV)/.installed-test
	$(BIN)/python -m pytest -q -m data tests

# The lowest versions that pyproject.toml allows of each package, on the lowest Python. What they
# need themselves is new and may warn of their age.
LOWEST := $(VENV)-lowest
test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct '.[test]'
	$(LOWEST)/bin/python -m pytest -n 2 -q tests -W ignore::DeprecationWarning -W ignore::FutureWarning

# The next scikit-learn, built from its repository or taken from where SKLEARN says.
NIGHTLY := $(VENV)-nightly
SKLEARN ?= git+https://github.com/scikit-learn/scikit-learn
test-nightly:
	$(PYTHON) -m venv $(NIGHTLY)
	$(NIGHTLY)/bin/python -m pip install --quiet '.[test]'
	$(NIGHTLY)/bin/python -m pip install --quiet --upgrade --pre '$(SKLEARN)'
	$(NIGHTLY)/bin/python -m pytest -n 2 -q tests

# Python without a global lock (PYTHON names one, such as python3.14t): what the library needs and
# the extras that have builds for it.
FREE := $(VENV)-free-threaded
test-free-threaded:
	$(PYTHON) -m venv $(FREE)
	$(FREE)/bin/python -m pip install --quiet --prefer-binary '.[plot,skops]' \
	  hypothesis pandas pytest pytest-xdist
	$(FREE)/bin/python -m pytest -n 2 -q $(FREE_TESTS)
FREE_TESTS = $(KERNEL_TESTS) tests/test_core_builds.py tests/estimators tests/solvers tests/gates tests/maps tests/neighbors \
  tests/model

# Source archive and wheel as they would be published. The wheel is installed where no compiler is
# found, and the tests that need nothing but what it contains are run on it.
WHEEL := $(VENV)-wheel
WHEEL_TESTS := tests/test_core.py tests/test_kept_models.py tests/estimators tests/solvers tests/export
test-wheel:
	rm -rf dist $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet build twine
	$(WHEEL)/bin/python -m build --outdir dist .
	$(WHEEL)/bin/python -m twine check --strict dist/*
	PATH=$(CURDIR)/$(WHEEL)/bin $(WHEEL)/bin/python -m pip install --quiet --only-binary :all: \
	  "$$(echo dist/*.whl)[test]"
	$(WHEEL)/bin/python -m pytest -n 2 -q $(WHEEL_TESTS)
	ls -l dist

# Measure again all that the README shows (hours; the machine should have nothing else to do: each
# result records how busy it was), and write it. `python -m benchmarks.freshness` says what is due.
benchmarks: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.freshness --run readme
	$(BIN)/python -m benchmarks reproduce main --out benchmarks/results/tables
	$(BIN)/python -m benchmarks.readme

# Tests under sanitizers: a build of its own of the portable module, with asserts, below build/.
# Python itself is not instrumented: the sanitizer is preloaded, and does not look for leaks. The
# kernels' tests and the fuzz of the bindings run under AddressSanitizer and UBSan, tests of what
# several threads share under ThreadSanitizer; BLAS, which is not instrumented either, has one.
SANITIZER := address,undefined
SANITIZED = build/sanitize-$(SANITIZER)
LIBRARIES := asan ubsan
FUZZ_CALLS := 10000
KERNEL_TESTS := tests/test_core.py tests/test_core_barrier.py tests/test_core_fuzz.py \
  tests/test_core_sizes.py tests/gates/test_codes.py tests/model/test_lifting.py \
  tests/model/test_scorer.py tests/solvers/test_parts.py tests/solvers/test_dual_epochs.py \
  tests/solvers/test_anchor_descent_epochs.py tests/solvers/test_sgd.py tests/solvers/test_trees.py \
  tests/solvers/test_latent.py tests/solvers/test_pegasos.py tests/solvers/test_kernel_pegasos.py \
  tests/solvers/test_small_svms.py tests/neighbors/test_cells.py tests/neighbors/test_search.py
THREAD_TESTS := tests/test_core_barrier.py tests/runtime/test_threads.py tests/solvers/test_parts.py \
  tests/solvers/test_team.py tests/solvers/test_sgd.py tests/solvers/test_dual.py \
  tests/solvers/test_anchor_descent.py tests/gates/test_codes.py tests/neighbors/test_search.py \
  tests/hostile/test_threads.py::test_threads_do_not_disturb_each_other

sanitize: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(SANITIZED) \
	  --config-settings=build-dir=$(SANITIZED)-objects \
	  --config-settings=cmake.define.HYPERLOCAL_WERROR=ON \
	  --config-settings=cmake.define.HYPERLOCAL_SANITIZE=$(SANITIZER) .
	PYTHONPATH=$(SANITIZED) $(BIN)/python -c "from importlib.util import find_spec; \
	  path = find_spec('hyperlocal').origin; assert '$(SANITIZED)' in path, path + ' hides the build'"
	LD_PRELOAD="$(foreach library,$(LIBRARIES),$$($(CXX) -print-file-name=lib$(library).so))" \
	  ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=halt_on_error=1 OPENBLAS_NUM_THREADS=1 \
	  HYPERLOCAL_FUZZ_CALLS=$(FUZZ_CALLS) HYPERLOCAL_CORE=baseline PYTHONPATH=$(SANITIZED) \
	  $(BIN)/python -m pytest -q -n 2 -p no:cacheprovider $(KERNEL_TESTS)

sanitize-threads:
	$(MAKE) sanitize SANITIZER=thread LIBRARIES=tsan KERNEL_TESTS="$(THREAD_TESTS)"

# The same build, and many more calls of the bindings than in `make test`.
fuzz:
	$(MAKE) sanitize KERNEL_TESTS=tests/test_core_fuzz.py FUZZ_CALLS=100000

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
	$(BIN)/clang-format -i cpp/*.hpp cpp/bindings/*.hpp cpp/bindings/*.cpp src/hyperlocal/export/*.h

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python $(SOURCES)
	@echo "installing hyperlocal into $(VENV) and compiling its core, once: about two minutes ..."
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
	rm -rf $(VENV) $(LOWEST) $(NIGHTLY) $(FREE) $(WHEEL) build dist docs/_build docs/api docs/gallery docs/results
